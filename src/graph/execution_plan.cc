// What the passes over a plan share.
#include "src/graph/execution_plan.h"

#include <utility>

namespace capstan {

std::span<const Graph::Value> ExecutionPlan::inputs_of(const Step& step) const {
  return std::span(step_inputs).subspan(at(step.first_input), at(step.inputs));
}
std::span<const Graph::Value> ExecutionPlan::outputs_of(const Step& step) const {
  return std::span(step_outputs).subspan(at(step.first_output), at(step.outputs));
}

void ExecutionPlan::append(Step step, std::span<const Graph::Value> inputs, std::span<const Graph::Value> outputs) {
  step.first_input = index(step_inputs.size());
  step.inputs = index(inputs.size());
  step.first_output = index(step_outputs.size());
  step.outputs = index(outputs.size());
  step_inputs.insert(step_inputs.end(), inputs.begin(), inputs.end());
  for (const Graph::Value output : outputs) {
    values[at(output)].output = index(step_outputs.size());
    step_outputs.push_back(output);
  }
  steps.push_back(std::move(step));
}

// Without the steps that have become part of others. The operands of a step lie side by side: those of its kernel, then
// those of its loop, its sums and its prologue.
void ExecutionPlan::join_steps(const std::vector<bool>& is_taken) {
  const std::vector<Step> before = std::exchange(steps, {});
  step_inputs.clear();
  step_outputs.clear();
  for (std::size_t s = 0; s < before.size(); ++s) {
    if (is_taken[s]) continue;
    const Step& step = before[s];
    std::vector<Graph::Value> inputs, outputs;
    const auto add = [](std::vector<Graph::Value>& all, std::span<const Graph::Value> more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    if (step.group >= 0) {
      add(inputs, groups[at(step.group)].inputs());
      add(outputs, groups[at(step.group)].outputs());
    } else {
      add(inputs, step.node->inputs);
      add(outputs, step.node->outputs);
    }
    if (step.epilogue >= 0) {
      add(inputs, groups[at(step.epilogue)].inputs());
      add(outputs, groups[at(step.epilogue)].outputs());
    }
    if (step.sums != nullptr) {
      add(inputs, step.sums->inputs);
      add(outputs, step.sums->outputs);
    }
    if (step.prologue >= 0) add(inputs, groups[at(step.prologue)].inputs());
    append(step, inputs, outputs);
  }
}

std::vector<std::size_t> nodes_of(const ExecutionPlan& plan, const ExecutionPlan::Step& step) {
  std::vector<std::size_t> all;
  const auto add = [&](std::span<const Graph::Node> nodes) {
    for (const Graph::Node& node : nodes) all.push_back(at(&node - plan.graph.nodes.data()));
  };
  const auto add_group = [&](std::int32_t group) {
    if (group >= 0) add(plan.groups[at(group)].nodes());
  };
  add_group(step.prologue);
  if (step.group < 0) add(std::span(step.node, 1));
  add_group(step.group);
  add_group(step.epilogue);
  if (step.sums != nullptr) add(std::span(step.sums, 1));
  return all;
}

}  // namespace capstan
