#include "src/graph/graph.h"

namespace capstan {

void tidy(Graph& graph) {
  merge_duplicates(graph);
  remove_dead(graph);
  mark_last_reads(graph);
}

}  // namespace capstan
