// From a compiled graph to a list of steps.
#include "src/graph/execution_plan.h"
#include "src/graph/shapes.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;

void add_step(ExecutionPlan& plan, const Graph::Node& node) {
  Step step;
  step.node = &node;
  step.is_loop = node.op->kernel == nullptr;
  step.makes_outputs = has_flag(*node.op, kReturnsViews);
  if (node.renew) step.renewed = plan.renewed++;
  plan.append(std::move(step), node.inputs, node.outputs);
}

void add_group(ExecutionPlan& plan, std::span<const Graph::Node> nodes, const std::vector<bool>& leaves) {
  Step step;
  step.node = nodes.data();
  step.group = index(plan.groups.size());
  plan.groups.emplace_back(plan.graph, nodes, leaves);
  plan.append(std::move(step), plan.groups.back().inputs(), plan.groups.back().outputs());
}

// What kernels have from infer. Only now, when the nodes are those that will run.
void keep_geometry(Graph& graph) {
  NodeInference inference(graph);
  for (Graph::Node& node : graph.nodes) {
    if (node.op->kernel == nullptr) continue;
    const OutputSpecs specs = inference.infer(node);
    node.geometry.assign(specs.geometry().begin(), specs.geometry().end());
  }
}

}  // namespace

void linearize(ExecutionPlan& plan) {
  // Values that somebody outside of the group that makes them reads.
  std::vector<std::int32_t> maker(plan.graph.values.size(), Graph::kNone);
  std::vector<bool> leaves(plan.graph.values.size());
  for (const Graph::Node& node : plan.graph.nodes) {
    for (const Graph::Value output : node.outputs) maker[at(output)] = node.group;
  }
  for (const Graph::Node& node : plan.graph.nodes) {
    for (const Graph::Value input : node.inputs) {
      if (node.group == Graph::kNone || maker[at(input)] != node.group) leaves[at(input)] = true;
    }
  }
  plan.graph.for_each_result([&](Graph::Value value) { leaves[at(value)] = true; });

  keep_geometry(plan.graph);
  plan.values.resize(plan.graph.values.size());
  for (std::size_t i = 0; i < plan.graph.nodes.size();) {
    const std::size_t end = plan.graph.end_of_unit(i);
    const Graph::Node& node = plan.graph.nodes[i];
    if (node.group == Graph::kNone) {
      add_step(plan, node);
    } else {
      add_group(plan, std::span(plan.graph.nodes).subspan(i, end - i), leaves);
    }
    i = end;
  }
}

}  // namespace capstan
