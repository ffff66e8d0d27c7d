// A step of an optimizer may write where its variable lies only if nothing after it can fail. What a function computes
// after the step, such as the mean of its loss, is after it without waiting for it, so the step goes to the end.
#include <algorithm>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

void updates_last(Graph& graph) {
  std::vector<bool> is_read(graph.values.size());  // by a node that stays, or as a result
  const auto read = [&](Graph::Value value) { is_read[static_cast<std::size_t>(value)] = true; };
  for (const Graph::Value result : graph.results) {
    if (result != Graph::kNone) read(result);
  }
  std::vector<bool> goes(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Graph::Node& node = graph.nodes[i];
    goes[i] = has_flag(*node.op, kUpdatesInPlace) && !node.has_effect() &&
              std::none_of(node.outputs.begin(), node.outputs.end(),
                           [&](Graph::Value value) { return is_read[static_cast<std::size_t>(value)]; });
    if (!goes[i]) std::for_each(node.inputs.begin(), node.inputs.end(), read);
  }
  std::vector<Graph::Node> nodes;
  for (const bool last : {false, true}) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (goes[i] == last) nodes.push_back(std::move(graph.nodes[i]));
    }
  }
  graph.nodes = std::move(nodes);
}

}  // namespace capstan
