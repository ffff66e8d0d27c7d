// The steps of optimizers in ops, for traced functions: the arithmetic of optimizer.cc, operation by operation.
//
// All row-sparse gradients of a step are merged before the first variable is updated: only the numbers of their rows
// can be wrong, and what nothing that fails stands behind is updated where it lies.
#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/row_sparse.h"
#include "src/ops/optimizer.h"

namespace capstan {

namespace {

// Checks a variable, its slots and its gradient, and merges that.
Tensor prepare(const char* op, std::span<const Variable> slots, const Tensor& gradient, const Tensor& rate) {
  CAPSTAN_CHECK(slots[0].has_value(), ValueError, op, ": the handle of a variable is empty");
  const detail::VariableState& state = *slots[0].state();
  check_fits(state, gradient, op, "gradient");
  for (const Variable& slot : slots.subspan(1)) check_fits(state, slot.value(), op, "slot");
  check_dtype(state, op);
  CAPSTAN_CHECK(rate.has_value() && rate.dtype() == state.value.dtype() && rate.rank() == 0, ShapeError, op,
                ": the rate must be a scalar of dtype ", state.value.dtype());
  check_rows(op, gradient);
  return merge_rows(gradient);
}

// The step of one variable by rows.
void step_rows(StepAttributes attributes, std::span<const Variable> slots, const Tensor& merged, const Tensor& rate) {
  const Tensor gradient[] = {merged.indices(), merged.values()};
  attributes.rows = true;
  trace_step(attributes, slots, gradient, rate);
}

}  // namespace

void trace_step(const StepAttributes& attributes, std::span<const Variable> slots, std::span<const Tensor> gradients,
                const Tensor& rate) {
  if (slots.empty()) return;
  std::vector<Operand> operands(slots.begin(), slots.end());
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  operands.emplace_back(rate);
  const std::vector<Tensor> after = apply_all(kOptimizerStep, operands, &attributes);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].assign(after[i]);
}

void sgd_update(std::span<const SGDVariable> variables, const Tensor& rate, double momentum, bool nesterov) {
  const PauseObservers pause;
  const bool moves = momentum != 0;
  const StepAttributes attributes{.rule = static_cast<std::int64_t>(moves ? StepRule::kMomentum : StepRule::kSgd),
                                  .slots = moves ? 2 : 1,
                                  .a = momentum,
                                  .b = nesterov ? 1.0 : 0.0};
  const auto slots_of = [&](const Variable(&both)[2]) { return std::span<const Variable>(both, moves ? 2 : 1); };
  std::vector<Tensor> gradients;
  for (const SGDVariable& of : variables) {
    const Variable both[] = {of.variable, of.slot};
    gradients.push_back(prepare("sgd_update", slots_of(both), of.gradient, rate));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& [variable, given, slot] = variables[i];
    const Tensor& gradient = gradients[i];
    if (gradient.is_row_sparse()) {
      const Variable both[] = {variable, slot};
      step_rows(attributes, slots_of(both), gradient, rate);
      continue;
    }
    const Tensor change = rate * gradient;
    if (!moves) {
      variable.assign_sub(change);
      continue;
    }
    const Tensor moved = slot * momentum - change;
    slot.assign(moved);
    variable.assign_add(nesterov ? moved * momentum - change : moved);
  }
}

void adam_update(std::span<const AdamVariable> variables, const Tensor& rate, const AdamStep& step) {
  if (variables.empty()) return;
  const PauseObservers pause;
  const bool is_amsgrad = variables[0].largest_v.has_value();
  const StepAttributes attributes{.rule = static_cast<std::int64_t>(StepRule::kAdam),
                                  .slots = is_amsgrad ? 4 : 3,
                                  .a = 1 - step.beta_1,
                                  .b = 1 - step.beta_2,
                                  .c = step.epsilon};
  std::vector<Variable> slots;  // of all
  std::vector<Tensor> gradients;
  const auto slots_of = [&](std::size_t i) {
    return std::span<const Variable>(slots).subspan(i * static_cast<std::size_t>(attributes.slots),
                                                    static_cast<std::size_t>(attributes.slots));
  };
  for (const AdamVariable& of : variables) {
    CAPSTAN_CHECK(of.largest_v.has_value() == is_amsgrad, ValueError, "adam_update: \"", of.variable.path(), "\" has ",
                  is_amsgrad ? 2 : 3, " slots, and \"", variables[0].variable.path(), "\" ", is_amsgrad ? 3 : 2);
    slots.insert(slots.end(), {of.variable, of.m, of.v});
    if (is_amsgrad) slots.push_back(of.largest_v);
    gradients.push_back(prepare("adam_update", slots_of(gradients.size()), of.gradient, rate));
  }
  std::vector<Variable> dense_slots;
  std::vector<Tensor> dense;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].is_row_sparse()) continue;
    dense_slots.insert(dense_slots.end(), slots_of(i).begin(), slots_of(i).end());
    dense.push_back(gradients[i]);
  }
  trace_step(attributes, dense_slots, dense, rate);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].is_row_sparse()) step_rows(attributes, slots_of(i), gradients[i], rate);
  }
}

}  // namespace capstan
