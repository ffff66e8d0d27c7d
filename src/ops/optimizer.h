// What the steps of optimizers share, and Adam's step as an op, for traces: the loop of optimizer.cc on copies of the
// variable and its slots.
#pragma once

#include "src/core/op_def.h"
#include "src/core/variable_state.h"

namespace capstan {

struct AdamAttributes {
  double beta_1, beta_2, epsilon;
  std::int64_t slots;  // with the variable: 3, or 4 for amsgrad
};

// Inputs: a variable, m, v, for amsgrad the largest v; the same of further variables; the gradients of all; the rate (a
// scalar). Outputs: all but gradients and rate, after the step.
extern const OpDef kAdamStep;

// Throws DTypeError or ShapeError unless `other`, which is the `what` of the variable in messages, is like its value.
void check_fits(const detail::VariableState& variable, const TensorRef& other, const char* op, const char* what);
// For a dtype that the optimizers do not update.
[[noreturn]] void wrong_dtype(const detail::VariableState& variable, const char* op);

}  // namespace capstan
