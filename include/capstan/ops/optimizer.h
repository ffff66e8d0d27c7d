#pragma once

#include <span>

#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

// One step of an optimizer for one variable, in place where nobody else holds the value. Tapes do not see it. Numbers
// are rounded to the variable's dtype first, and the order of operations is that of Keras. A row-sparse gradient gives
// what the dense one would, without being made: rows that repeat are summed first, slots decay in all rows. Errors:
// ShapeError and DTypeError for a gradient or slot that does not have the variable's shape and dtype, IndexError for a
// row that does not exist, before anything is changed.

/// A row-sparse gradient with one row for rows that repeat, their sum, in ascending order; int64 indices. The last
/// index repeats, with zeros, so that there are as many as before: in a trace, lengths cannot depend on values. Any
/// other tensor is returned as it is. Errors: IndexError for a row that does not exist, DTypeError unless the dtype is
/// float32 or float64.
///
///     Tensor g = tape.gradient(reduce_sum(gather(table, constant({2, 0, 2}))), table);
///     Tensor merged = merge_rows(g);  // indices 0, 2, 2; rows of 1, 2 and 0
CAPSTAN_EXPORT Tensor merge_rows(const Tensor& gradient);

/// variable -= learning_rate * gradient; of a row-sparse gradient only its rows are touched.
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
/// With a fourth slot (amsgrad) the root is taken of the largest v so far.
CAPSTAN_EXPORT void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                                const AdamStep& step, const Variable& largest_v = {});

/// The same steps for several variables of one dtype, with a learning rate that is a scalar tensor of that dtype, made
/// of nodes, so that they can be used in a traced function (see function() in capstan/function.h), with the same
/// results. The rate of Adam is adam_rate(): with the corrections of both moments, which depend on the number of the
/// step.
struct SGDVariable {  ///< One variable of a step.
  Variable variable;
  Tensor gradient;
  Variable slot = {};  ///< With momentum.
};
CAPSTAN_EXPORT void sgd_update(std::span<const SGDVariable> variables, const Tensor& rate, double momentum = 0,
                               bool nesterov = false);
struct AdamVariable {  ///< One variable of a step, with its slots.
  Variable variable, m, v;
  Tensor gradient;
  Variable largest_v = {};  ///< Of all variables of a step, or of none.
};
/// One node of the trace for all dense gradients, whose work threads share however it is spread over the variables, and
/// one for each row-sparse gradient. Errors: also ValueError if only some have a fourth slot.
CAPSTAN_EXPORT void adam_update(std::span<const AdamVariable> variables, const Tensor& rate, const AdamStep& step);
CAPSTAN_EXPORT double adam_rate(const AdamStep& step, DType dtype);

}  // namespace capstan
