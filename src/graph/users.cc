// Where a run finds the operands that a value is, and the views that move with it.
#include "src/graph/execution_plan.h"

namespace capstan {

namespace {

using Place = ExecutionPlan::Place;
using Step = ExecutionPlan::Step;
using ValueState = ExecutionPlan::ValueState;

}  // namespace

void find_users(ExecutionPlan& plan) {
  plan.first_user.assign(plan.graph.values.size() + 1, 0);
  for (const Step& step : plan.steps) {
    for (const Graph::Value input : plan.inputs_of(step)) ++plan.first_user[at(input) + 1];
  }
  for (std::size_t v = 0; v < plan.graph.values.size(); ++v) plan.first_user[v + 1] += plan.first_user[v];
  plan.users.resize(at(plan.first_user.back()));
  std::vector<std::int32_t> next(plan.first_user.begin(), plan.first_user.end() - 1);
  for (const Step& step : plan.steps) {
    for (std::int32_t k = step.first_input; k < step.first_input + step.inputs; ++k) {
      plan.users[at(next[at(plan.step_inputs[at(k)])]++)] = k;
    }
  }
  plan.first_view.assign(plan.graph.values.size() + 1, 0);
  for (const ValueState& state : plan.values) {
    if (state.place == Place::kView) ++plan.first_view[at(state.whole) + 1];
  }
  for (std::size_t v = 0; v < plan.graph.values.size(); ++v) plan.first_view[v + 1] += plan.first_view[v];
  plan.views.resize(at(plan.first_view.back()));
  next.assign(plan.first_view.begin(), plan.first_view.end() - 1);
  for (std::size_t v = 0; v < plan.graph.values.size(); ++v) {
    if (plan.values[v].place == Place::kView) plan.views[at(next[at(plan.values[v].whole)]++)] = index(v);
  }
}

}  // namespace capstan
