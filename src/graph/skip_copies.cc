#include <numeric>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

void skip_copies(Graph& graph) {
  const auto at = [](Graph::Value value) { return static_cast<std::size_t>(value); };
  std::vector<Graph::Value> instead(graph.values.size());
  std::iota(instead.begin(), instead.end(), 0);
  const auto replace = [&](Graph::Value& value) {
    if (value != Graph::kNone) value = instead[at(value)];
  };
  for (Graph::Node& node : graph.nodes) {
    for (Graph::Value& input : node.inputs) replace(input);
    if (!has_flag(*node.op, kReshapes)) continue;
    const Graph::Value from = node.inputs[0];
    const Graph::Value to = node.outputs[0];
    if (graph.values[at(from)].shape == graph.values[at(to)].shape) instead[at(to)] = from;
  }
  for (Graph::Value& result : graph.results) replace(result);
  for (Graph::Captured& captured : graph.captured) {
    replace(captured.written);
    if (captured.written == captured.value) captured.written = Graph::kNone;
  }
}

}  // namespace capstan
