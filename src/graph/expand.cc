#include "src/core/apply.h"
#include "src/graph/graph.h"
#include "src/graph/tracer.h"
#include "src/ops/expansion.h"

namespace capstan {

namespace {

using Value = Graph::Value;

std::size_t at(Value value) { return static_cast<std::size_t>(value); }

Graph trace_expansion(const Graph& graph, const Graph::Node& node, Expand expand) {
  GraphTracer tracer(std::string(node.op->name), false);
  std::vector<Tensor> inputs;
  for (const Value input : node.inputs) {
    inputs.push_back(tracer.add_argument(graph.values[at(input)].dtype, graph.values[at(input)].shape));
  }
  std::vector<Tensor> outputs;
  expand(inputs, node.attributes, outputs);
  return tracer.finish(outputs);
}

// Appends the nodes of `part`, with the values of the node that it stands for.
void splice(Graph& graph, const Graph::Node& node, Graph part, std::vector<Graph::Node>& nodes) {
  std::vector<Value> as(part.values.size(), Graph::kNone);
  for (std::size_t i = 0; i < part.arguments.size(); ++i) as[at(part.arguments[i])] = node.inputs[i];
  for (std::size_t i = 0; i < part.results.size(); ++i) as[at(part.results[i])] = node.outputs[i];
  for (std::size_t v = 0; v < part.values.size(); ++v) {
    const Graph::ValueInfo& info = part.values[v];
    if (as[v] == Graph::kNone) {
      as[v] = graph.add_value(info.dtype, info.shape, info.constant);
    } else if (info.constant.has_value()) {
      graph.values[at(as[v])].constant = info.constant;
    }
  }
  for (Graph::Node& inner : part.nodes) {
    for (Value& input : inner.inputs) input = as[at(input)];
    for (Value& output : inner.outputs) output = as[at(output)];
    nodes.push_back(std::move(inner));
  }
}

}  // namespace

void expand(Graph& graph) {
  std::vector<Graph::Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (Graph::Node& node : graph.nodes) {
    const Expand how = expansion_of(*node.op);
    const DType dtype = node.inputs.empty() ? DType::kBool : graph.values[at(node.inputs[0])].dtype;
    if (how == nullptr || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) {
      nodes.push_back(std::move(node));
    } else {
      splice(graph, node, trace_expansion(graph, node, how), nodes);
    }
  }
  graph.nodes = std::move(nodes);
}

}  // namespace capstan
