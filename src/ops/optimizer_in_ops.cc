// The steps of optimizers in library ops, for traced functions: the arithmetic of optimizer.cc, operation by operation.
#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/check.h"

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
  check_fits(variable, gradient, "sgd_update", "gradient");
  variable.assign_sub(learning_rate * gradient.to_dense());
}

void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient,
                     const Tensor& learning_rate, double momentum, bool nesterov) {
  check_fits(variable, gradient, "momentum_update", "gradient");
  check_fits(variable, slot.value(), "momentum_update", "slot");
  const Tensor change = gradient.to_dense() * learning_rate;
  const Tensor moved = slot * momentum - change;
  slot.assign(moved);
  variable.assign_add(nesterov ? moved * momentum - change : moved);
}

void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                 const Tensor& rate, const AdamStep& step, const Variable& largest_v) {
  check_fits(variable, gradient, "adam_update", "gradient");
  check_fits(variable, m.value(), "adam_update", "slot");
  check_fits(variable, v.value(), "adam_update", "slot");
  if (largest_v.has_value()) check_fits(variable, largest_v.value(), "adam_update", "slot");
  const Tensor g = gradient.to_dense();
  m.assign_add((g - m) * (1 - step.beta_1));
  v.assign_add((g * g - v) * (1 - step.beta_2));
  if (largest_v.has_value()) largest_v.assign(maximum(largest_v, v));
  variable.assign_sub(m * rate / (sqrt(largest_v.has_value() ? largest_v : v) + step.epsilon));
}

}  // namespace capstan
