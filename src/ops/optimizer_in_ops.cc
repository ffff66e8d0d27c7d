// The steps of optimizers in ops, for traced functions: the arithmetic of optimizer.cc, operation by operation.
#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/ops/optimizer.h"

namespace capstan {

namespace {

const detail::VariableState& checked(const Variable& variable, const char* op) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, op, ": the handle of a variable is empty");
  return *variable.state();
}

}  // namespace

void sgd_update(const Variable& variable, const Tensor& gradient, const Tensor& learning_rate) {
  const PauseObservers pause;
  const detail::VariableState& state = checked(variable, "sgd_update");
  check_fits(state, gradient, "sgd_update", "gradient");
  variable.assign_sub(learning_rate * gradient.to_dense());
}

void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient,
                     const Tensor& learning_rate, double momentum, bool nesterov) {
  const PauseObservers pause;
  const detail::VariableState& state = checked(variable, "momentum_update");
  check_fits(state, gradient, "momentum_update", "gradient");
  check_fits(state, slot.value(), "momentum_update", "slot");
  const Tensor change = gradient.to_dense() * learning_rate;
  const Tensor moved = slot * momentum - change;
  slot.assign(moved);
  variable.assign_add(nesterov ? moved * momentum - change : moved);
}

void adam_update(std::span<const AdamVariable> variables, const Tensor& rate, const AdamStep& step) {
  if (variables.empty()) return;
  const PauseObservers pause;
  const bool is_amsgrad = variables[0].largest_v.has_value();
  std::vector<Variable> slots;
  std::vector<Tensor> gradients;
  for (const AdamVariable& of : variables) {
    const detail::VariableState& state = checked(of.variable, "adam_update");
    check_fits(state, of.gradient, "adam_update", "gradient");
    check_fits(state, of.m.value(), "adam_update", "slot");
    check_fits(state, of.v.value(), "adam_update", "slot");
    CAPSTAN_CHECK(of.largest_v.has_value() == is_amsgrad, ValueError, "adam_update: \"", state.path, "\" has ",
                  is_amsgrad ? 2 : 3, " slots, and \"", variables[0].variable.path(), "\" ", is_amsgrad ? 3 : 2);
    if (is_amsgrad) check_fits(state, of.largest_v.value(), "adam_update", "slot");
    if (of.variable.dtype() != DType::kFloat32 && of.variable.dtype() != DType::kFloat64)
      wrong_dtype(state, "adam_update");
    CAPSTAN_CHECK(rate.has_value() && rate.dtype() == of.variable.dtype() && rate.rank() == 0, ShapeError,
                  "adam_update: the rate must be a scalar of dtype ", of.variable.dtype());
    slots.insert(slots.end(), {of.variable, of.m, of.v});
    if (is_amsgrad) slots.push_back(of.largest_v);
    gradients.push_back(of.gradient.to_dense());
  }
  const AdamAttributes attributes{step.beta_1, step.beta_2, step.epsilon, is_amsgrad ? 4 : 3};
  std::vector<Operand> operands(slots.begin(), slots.end());
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  operands.emplace_back(rate);
  const std::vector<Tensor> after = apply_all(kAdamStep, operands, &attributes);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].assign(after[i]);
}

}  // namespace capstan
