#include <vector>

#include "src/graph/graph.h"

namespace capstan {

void mark_last_reads(Graph& graph) {
  constexpr std::size_t kBits = 64;  // inputs beyond these are given up when the run ends
  // Whether a value is needed after the node that the loop has come to, backwards. Constants always are.
  std::vector<bool> needed(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) needed[i] = graph.values[i].constant.has_value();
  const auto need = [&](Graph::Value value) { needed[static_cast<std::size_t>(value)] = true; };
  graph.for_each_result(need);
  for (std::size_t k = graph.nodes.size(); k-- > 0;) {
    Graph::Node& node = graph.nodes[k];
    node.last_reads = node.unread_outputs = 0;
    for (std::size_t i = 0; i < node.outputs.size() && i < kBits; ++i) {
      if (!needed[static_cast<std::size_t>(node.outputs[i])]) node.unread_outputs |= std::uint64_t{1} << i;
    }
    for (std::size_t i = node.inputs.size(); i-- > 0;) {
      const auto input = static_cast<std::size_t>(node.inputs[i]);
      if (!needed[input] && i < kBits) node.last_reads |= std::uint64_t{1} << i;
      needed[input] = true;
    }
  }
}

}  // namespace capstan
