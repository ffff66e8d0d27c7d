#include "src/graph/graph.h"

namespace capstan {

void compile(Graph& graph) {
  merge_duplicates(graph);
  remove_dead(graph);
  mark_last_reads(graph);
}

}  // namespace capstan
