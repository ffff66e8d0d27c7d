// Where each value of a plan lies: in the arena, in a tensor of its own, in a variable, or in another value.
#include <algorithm>

#include "src/core/op_for_programs.h"
#include "src/graph/execution_plan.h"
#include "src/graph/layouts.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;
using Place = ExecutionPlan::Place;
using ValueState = ExecutionPlan::ValueState;

// A variable may be updated where it lies if the step that computes its new value is the last to read the old one, and
// reads each element before it writes it, and if nothing after it can fail: a run that fails changes nothing.
bool can_be_in_place(const ExecutionPlan& plan, std::size_t i) {
  const Graph::Captured& captured = plan.graph.captured[i];
  if (captured.written == Graph::kNone) return false;
  const ValueState& state = plan.values[at(captured.written)];
  if (state.place != Place::kOutput) return false;
  for (const Graph::Value result : plan.graph.results) {
    if (result == captured.written || result == captured.value) return false;
  }
  for (const Graph::Captured& other : plan.graph.captured) {
    if (&other != &captured && (other.written == captured.written || other.written == captured.value)) return false;
  }
  std::size_t maker = 0;
  while (state.output >= plan.steps[maker].first_output + plan.steps[maker].outputs) ++maker;
  const Step& step = plan.steps[maker];
  if (plan.last_read[at(captured.value)] > maker) return false;
  for (std::size_t s = maker; s < plan.steps.size(); ++s) {
    if (plan.steps[s].group >= 0) continue;
    const OpDef& op = *plan.steps[s].node->op;
    if (plan.steps[s].is_loop ? for_programs(op).refuses_elements : !for_programs(op).never_fails) return false;
  }
  for (const Step& other : plan.steps) {
    const std::span<const Graph::Value> inputs = plan.inputs_of(other);
    const bool reads = is_among(inputs, captured.value);
    if (reads && other.makes_outputs) return false;
  }
  const auto output = at(state.output - step.first_output);
  const std::span<const Graph::Value> inputs = plan.inputs_of(step);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == captured.value && !may_overwrite(plan, step, k, output)) return false;
  }
  return true;
}

}  // namespace

void find_places(ExecutionPlan& plan) {
  // What leaves the run, or what such a thing is a view of.
  std::vector<bool> leaves(plan.graph.values.size());
  plan.graph.for_each_result([&](Graph::Value value) { leaves[at(value)] = true; });
  plan.last_read.assign(plan.graph.values.size(), 0);
  plan.graph.for_each_result([&](Graph::Value value) { plan.last_read[at(value)] = plan.steps.size(); });
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    const Step& step = plan.steps[s];
    std::size_t last = s;
    bool leaving = false;
    for (const Graph::Value output : plan.outputs_of(step)) {
      plan.last_read[at(output)] = std::max(plan.last_read[at(output)], s);
      if (!step.makes_outputs) continue;
      last = std::max(last, plan.last_read[at(output)]);
      leaving = leaving || leaves[at(output)];
    }
    for (const Graph::Value input : plan.inputs_of(step)) {
      plan.last_read[at(input)] = std::max(plan.last_read[at(input)], last);
      if (leaving) leaves[at(input)] = true;
    }
  }

  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    if (plan.graph.values[v].constant.has_value()) plan.values[v].place = Place::kConstant;
  }
  for (std::size_t i = 0; i < plan.graph.input_count(); ++i) {
    ValueState& state = plan.values[at(plan.graph.input(i))];
    state.place = Place::kInput;
    state.variable = index(i);
  }
  for (Step& step : plan.steps) {
    for (const Graph::Value output : plan.outputs_of(step)) {
      plan.values[at(output)].place = step.makes_outputs   ? Place::kMade
                                      : leaves[at(output)] ? Place::kOutput
                                                           : Place::kArena;
    }
    const std::optional<std::int64_t> distance = distance_of_view(plan, step);
    if (!distance || leaves[at(plan.outputs_of(step)[0])]) continue;
    ValueState& view = plan.values[at(plan.outputs_of(step)[0])];
    const ValueState& base = plan.values[at(plan.inputs_of(step)[0])];
    const bool is_part = base.place == Place::kView;
    step.is_layout = true;
    view.place = base.place == Place::kArena ? Place::kArena : Place::kView;
    view.offset = at(*distance) + (is_part ? base.offset : 0);
    if (view.place == Place::kView) view.whole = is_part ? base.whole : plan.inputs_of(step)[0];
  }
  find_borders(plan, leaves);
  for (std::size_t i = 0; i < plan.graph.captured.size(); ++i) {
    if (!can_be_in_place(plan, i)) continue;
    ValueState& state = plan.values[at(plan.graph.captured[i].written)];
    state.place = Place::kInPlace;
    state.variable = index(plan.graph.arguments.size() + i);
  }
  for (std::size_t k = 0; k < plan.step_outputs.size(); ++k) {
    const Place place = plan.values[at(plan.step_outputs[k])].place;
    if (place == Place::kOutput || place == Place::kInPlace) plan.own_outputs.push_back(plan.step_outputs[k]);
    if (place != Place::kArena) plan.passing_outputs.push_back(index(k));
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    for (const Graph::Value output : plan.outputs_of(plan.steps[s])) {
      const ValueState& state = plan.values[at(output)];
      const std::size_t last = plan.last_read[at(output)];
      if (state.place == Place::kMade && last < plan.steps.size()) plan.steps[last].drop.push_back(state.output);
    }
  }
}

// Whether an output may have the memory of an operand.
bool may_overwrite(const ExecutionPlan& plan, const ExecutionPlan::Step& step, std::size_t input, std::size_t output) {
  if (step.is_accompanied()) {
    // The kernel reads its operands until it ends, and so do sums and a prologue.
    const std::size_t in = step.node->inputs.size(), out = step.node->outputs.size();
    if (step.epilogue < 0 || input < in || output < out) return false;
    const FusedGroup& loop = plan.groups[at(step.epilogue)];
    return input - in < loop.inputs().size() && output - out < loop.outputs().size() &&
           loop.may_overwrite(input - in, output - out);
  }
  if (step.group >= 0) return plan.groups[at(step.group)].may_overwrite(input, output);
  if (step.is_loop) {
    const Graph::ValueInfo& in = plan.graph.values[at(plan.inputs_of(step)[input])];
    const Graph::ValueInfo& out = plan.graph.values[at(plan.outputs_of(step)[output])];
    return in.shape == out.shape && in.dtype == out.dtype;
  }
  return has_flag(*step.node->op, kUpdatesInPlace) && input == output;
}

}  // namespace capstan
