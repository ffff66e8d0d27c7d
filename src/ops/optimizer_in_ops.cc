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

void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                 const Tensor& rate, const AdamStep& step, const Variable& largest_v) {
  const PauseObservers pause;
  const detail::VariableState& state = checked(variable, "adam_update");
  check_fits(state, gradient, "adam_update", "gradient");
  check_fits(state, m.value(), "adam_update", "slot");
  check_fits(state, v.value(), "adam_update", "slot");
  if (largest_v.has_value()) check_fits(state, largest_v.value(), "adam_update", "slot");
  if (variable.dtype() != DType::kFloat32 && variable.dtype() != DType::kFloat64) wrong_dtype(state, "adam_update");
  CAPSTAN_CHECK(rate.has_value() && rate.dtype() == variable.dtype() && rate.rank() == 0, ShapeError,
                "adam_update: the rate must be a scalar of dtype ", variable.dtype());
  const AdamAttributes attributes{step.beta_1, step.beta_2, step.epsilon};
  const Tensor dense = gradient.to_dense();
  std::vector<Operand> operands = {variable, m, v};
  if (largest_v.has_value()) operands.push_back(largest_v);
  operands.insert(operands.end(), {dense, rate});
  const std::vector<Tensor> after = apply_all(kAdamStep, operands, &attributes);
  variable.assign(after[0]);
  m.assign(after[1]);
  v.assign(after[2]);
  if (largest_v.has_value()) largest_v.assign(after[3]);
}

}  // namespace capstan
