#include "src/core/apply.h"
#include "src/graph/graph.h"

namespace capstan {

void detach_shapes(Graph& graph) {
  for (Graph::Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reads_shape_only(node, i)) continue;
      const Graph::ValueInfo& info = graph.values[static_cast<std::size_t>(node.inputs[i])];
      if (info.constant.has_value()) continue;
      const Tensor like = shape_only(symbolic(info.dtype, info.shape));
      node.inputs[i] = graph.add_value(like.dtype(), like.shape(), like);
    }
  }
}

}  // namespace capstan
