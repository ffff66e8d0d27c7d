#include "src/graph/graph.h"
#include "src/graph/shapes.h"

namespace capstan {

void tidy(Graph& graph) {
  detach_shapes(graph);
  fold_constants(graph);
  merge_duplicates(graph);
  remove_dead(graph);
  mark_last_reads(graph);
}

}  // namespace capstan
