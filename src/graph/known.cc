#include "src/graph/known.h"

#include <algorithm>
#include <utility>

#include "src/core/context.h"

namespace capstan {

namespace {

using Value = Graph::Value;

}  // namespace

bool reads_any(const Graph::Node& node, const std::vector<bool>& marked) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value input) { return marked[at(input)]; });
}

bool is_held(const Graph& graph, const Graph::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](Value output) { return graph.values[at(output)].known.has_value(); });
}

void bind_known(Graph& graph, const std::vector<bool>& open) {
  std::vector<bool> follows(graph.values.size());  // from an open capture
  std::vector<Value> arguments;
  std::size_t captures = 0;
  for (const Value argument : graph.arguments) {
    Graph::ValueInfo& info = graph.values[at(argument)];
    const bool is_known = info.known.has_value();
    const bool is_open = is_known && captures < open.size() && open[captures];
    if (is_known) ++captures;
    if (is_known && !is_open) {
      info.constant = std::move(info.known);
      continue;
    }
    info.known = {};
    follows[at(argument)] = is_open;
    arguments.push_back(argument);
  }
  graph.arguments = std::move(arguments);
  std::vector<Graph::Node> nodes;
  nodes.reserve(graph.nodes.size());
  bool any_computed = false;
  for (Graph::Node& node : graph.nodes) {
    if (!node.is_known) {
      nodes.push_back(std::move(node));
      continue;
    }
    const bool is_open = reads_any(node, follows);
    const bool goes = !is_open && is_held(graph, node);
    for (const Value output : node.outputs) {
      Graph::ValueInfo& info = graph.values[at(output)];
      if (goes) info.constant = std::move(info.known);
      info.known = {};
      follows[at(output)] = is_open;
    }
    if (goes) continue;
    // What was not kept has to be computed, if an open node reads it.
    any_computed = any_computed || !is_open;
    node.is_known = false;
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  if (any_computed) remove_dead(graph);
}

std::vector<bool> nodes_to_skip(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto is_known_node = [](const Graph::Node& node) { return node.is_known; };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_known_node)) return {};
  std::vector<bool> matters(graph.values.size());
  for (std::size_t i = 0; i < graph.arguments.size(); ++i) {
    if (!graph.values[at(graph.arguments[i])].known.has_value()) continue;
    matters[at(graph.arguments[i])] = is_known(inputs[i].block());
  }
  std::vector<bool> skipped(graph.nodes.size());
  bool all_held = true;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Graph::Node& node = graph.nodes[n];
    if (!node.is_known) continue;
    const bool runs = reads_any(node, matters);
    skipped[n] = !runs;
    for (const Value output : node.outputs) matters[at(output)] = runs;
    all_held = all_held && is_held(graph, node);
  }
  if (all_held) return skipped;
  // What was not kept has to be computed where a node that runs reads it.
  std::vector<bool> needed(graph.values.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Graph::Node& node = graph.nodes[n];
    if (!node.is_known) continue;
    if (skipped[n]) {
      skipped[n] = std::none_of(node.outputs.begin(), node.outputs.end(), [&](Value output) {
        return needed[at(output)] && !graph.values[at(output)].known.has_value();
      });
    }
    if (skipped[n]) continue;
    for (const Value input : node.inputs) needed[at(input)] = true;
  }
  return skipped;
}

}  // namespace capstan
