// The steps of optimizers in ops, for traced functions: the arithmetic of optimizer.cc, operation by operation.
#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/ops/optimizer.h"

namespace capstan {

namespace {

void check_fits(const Variable& variable, const TensorRef& other, const char* op, const char* what) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, op, ": the handle of a variable is empty");
  CAPSTAN_CHECK(other.has_value(), ValueError, op, ": the ", what, " of \"", variable.path(), "\" is an empty tensor");
  CAPSTAN_CHECK(variable.dtype() == other.dtype(), DTypeError, op, ": \"", variable.path(), "\" is ", variable.dtype(),
                ", its ", what, " ", other.dtype());
  CAPSTAN_CHECK(variable.shape() == other.shape(), ShapeError, op, ": \"", variable.path(), "\" has shape ",
                variable.shape(), ", its ", what, " ", other.shape());
}

}  // namespace

void sgd_update(const Variable& variable, const Tensor& gradient, const Tensor& learning_rate) {
  const PauseObservers pause;
  check_fits(variable, gradient, "sgd_update", "gradient");
  variable.assign_sub(learning_rate * gradient.to_dense());
}

void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient,
                     const Tensor& learning_rate, double momentum, bool nesterov) {
  const PauseObservers pause;
  check_fits(variable, gradient, "momentum_update", "gradient");
  check_fits(variable, slot.value(), "momentum_update", "slot");
  const Tensor change = gradient.to_dense() * learning_rate;
  const Tensor moved = slot * momentum - change;
  slot.assign(moved);
  variable.assign_add(nesterov ? moved * momentum - change : moved);
}

void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                 const Tensor& rate, const AdamStep& step, const Variable& largest_v) {
  const PauseObservers pause;
  check_fits(variable, gradient, "adam_update", "gradient");
  check_fits(variable, m.value(), "adam_update", "slot");
  check_fits(variable, v.value(), "adam_update", "slot");
  if (largest_v.has_value()) check_fits(variable, largest_v.value(), "adam_update", "slot");
  CAPSTAN_CHECK(variable.dtype() == DType::kFloat32 || variable.dtype() == DType::kFloat64, DTypeError,
                "adam_update: \"", variable.path(), "\" is ", variable.dtype(), ", not float32 or float64");
  CAPSTAN_CHECK(rate.has_value() && rate.dtype() == variable.dtype() && rate.rank() == 0, ShapeError,
                "adam_update: the rate must be a scalar of dtype ", variable.dtype());
  const AdamAttributes attributes{step.beta_1, step.beta_2, step.epsilon};
  const Tensor dense = gradient.to_dense();
  std::vector<Operand> operands = {variable, m, v, dense, rate};
  if (largest_v.has_value()) operands.push_back(largest_v);
  const std::vector<Tensor> after = apply_all(kAdamStep, operands, &attributes);
  variable.assign(after[0]);
  m.assign(after[1]);
  v.assign(after[2]);
  if (largest_v.has_value()) largest_v.assign(after[3]);
}

}  // namespace capstan
