#include <iterator>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

void remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.values.size());
  const auto need = [&](Graph::Value value) { needed[static_cast<std::size_t>(value)] = true; };
  graph.for_each_result(need);
  std::vector<Graph::Node> kept;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Graph::Node& node = graph.nodes[i];
    bool used = node.has_effect();
    for (const Graph::Value output : node.outputs) used |= needed[static_cast<std::size_t>(output)];
    if (!used) continue;
    for (const Graph::Value input : node.inputs) need(input);
    kept.push_back(std::move(node));
  }
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace capstan
