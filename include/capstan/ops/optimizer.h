#pragma once

#include <span>

#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

// One step of an optimizer for one variable, in place where nobody else holds the value. Tapes do not see it. Numbers
// are rounded to the variable's dtype first, and the order of operations is that of Keras. Errors: ShapeError and
// DTypeError for a gradient or slot that does not have the variable's shape and dtype.

/// variable -= learning_rate * gradient.
CAPSTAN_EXPORT void sgd_update(const Variable& variable, const Tensor& gradient, double learning_rate);

/// slot = momentum * slot - learning_rate * gradient; variable += slot, or with `nesterov` variable += momentum * slot
/// - learning_rate * gradient.
CAPSTAN_EXPORT void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient,
                                    double learning_rate, double momentum, bool nesterov);

/// The numbers of an Adam step; `step` counts from 1.
struct AdamStep {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::int64_t step = 1;
};

/// m += (g - m)(1 - beta_1); v += (g^2 - v)(1 - beta_2);
/// variable -= rate sqrt(1 - beta_2^step) / (1 - beta_1^step) * m / (sqrt(v) + epsilon).
/// With a fourth slot (amsgrad) the largest v so far stands in the root.
CAPSTAN_EXPORT void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                                const AdamStep& step, const Variable& largest_v = {});

/// The same steps with a learning rate that is a scalar tensor of the variable's dtype, written in library ops, so that
/// they can stand in a traced function (see function() in capstan/function.h), with the same results. The rate of Adam
/// is adam_rate(): with the corrections of both moments, which depend on the number of the step.
CAPSTAN_EXPORT void sgd_update(const Variable& variable, const Tensor& gradient, const Tensor& learning_rate);
CAPSTAN_EXPORT void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient,
                                    const Tensor& learning_rate, double momentum, bool nesterov);
struct AdamVariable {  ///< One variable of a step, with its slots.
  Variable variable, m, v;
  Tensor gradient;
  Variable largest_v = {};  ///< Of all variables of a step, or of none.
};
/// The step for several variables of one dtype: one node of the trace, whose work threads share however it is spread
/// over the variables. Errors: also ValueError if only some have a fourth slot.
CAPSTAN_EXPORT void adam_update(std::span<const AdamVariable> variables, const Tensor& rate, const AdamStep& step);
CAPSTAN_EXPORT double adam_rate(const AdamStep& step, DType dtype);

}  // namespace capstan
