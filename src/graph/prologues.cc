// Loops that make what a kernel reads, part by part, so that it is never held as a whole.
//
// A loop with one result that only kernels with the flag kReadsRows read, as their first operand, is run by those
// kernels (src/core/execution.h): a normalised image exists only row by row, in front of a maximum. Every reader runs
// the loop for itself, if that is cheap: the gradient of the maximum computes the image again rather than reading it. A
// loop must not read more in whole images than it writes then, or more would be kept for the later reader.
#include <algorithm>

#include "src/graph/execution_plan.h"

namespace capstan {

namespace {

using Value = Graph::Value;
using Step = ExecutionPlan::Step;

// Instructions for an element that a further reader may spend.
constexpr std::size_t kCheap = 24;

bool can_run(const ExecutionPlan& plan, const Step& reader, const Step& loop) {
  if (reader.group >= 0 || !has_flag(*reader.node->op, kReadsRows) || reader.node->rerun != loop.node->rerun) {
    return false;
  }
  const Value result = plan.outputs_of(loop)[0];
  const std::span<const Value> inputs = plan.inputs_of(reader);
  return inputs[0] == result && std::count(inputs.begin(), inputs.end(), result) == 1;
}

bool reads_one_image(const ExecutionPlan& plan, const FusedGroup& loop) {
  const auto size = [&](Value value) { return plan.graph.values[at(value)].shape.size(); };
  const std::vector<Value>& inputs = loop.inputs();
  return std::count_if(inputs.begin(), inputs.end(),
                       [&](Value input) { return size(input) == size(loop.outputs()[0]); }) <= 1;
}

}  // namespace

void attach_prologues(ExecutionPlan& plan) {
  constexpr std::size_t kNobody = ~std::size_t{0};  // reads a result of the graph
  std::vector<std::vector<std::size_t>> readers(plan.graph.values.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    for (const Value input : plan.inputs_of(plan.steps[s])) {
      if (readers[at(input)].empty() || readers[at(input)].back() != s) readers[at(input)].push_back(s);
    }
  }
  plan.graph.for_each_result([&](Value value) { readers[at(value)].push_back(kNobody); });

  std::vector<bool> is_taken(plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& loop = plan.steps[s];
    if (loop.group < 0 || loop.outputs != 1) continue;
    const Value result = plan.outputs_of(loop)[0];
    const Graph::ValueInfo& info = plan.graph.values[at(result)];
    const FusedGroup& group = plan.groups[at(loop.group)];
    if (info.dtype != DType::kFloat32 && info.dtype != DType::kFloat64) continue;
    if (info.shape.rank() == 0 || !group.can_precede(info.shape[-1])) continue;
    const std::vector<std::size_t>& all = readers[at(result)];
    const bool all_run_it = std::all_of(all.begin(), all.end(), [&](std::size_t reader) {
      return reader != kNobody && can_run(plan, plan.steps[reader], loop);
    });
    if (!all_run_it || (all.size() > 1 && (group.cost() > kCheap || !reads_one_image(plan, group)))) continue;
    for (const std::size_t reader : all) plan.steps[reader].prologue = loop.group;
    plan.values[at(result)].place = ExecutionPlan::Place::kPassing;
    is_taken[s] = true;
  }
  plan.join_steps(is_taken);
}

}  // namespace capstan
