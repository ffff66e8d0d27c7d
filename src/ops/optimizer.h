// What the steps of optimizers share, and a step as an op, for traces: the loops of optimizer.cc on copies of the
// variables and their slots.
#pragma once

#include <span>

#include "src/core/op_def.h"
#include "src/core/variable_state.h"

namespace capstan {

enum class StepRule : std::int64_t { kSgd, kMomentum, kAdam };

struct StepAttributes {
  std::int64_t rule = 0;
  std::int64_t slots = 1;  // with the variable: 1, 2, 3, or 4 for Adam with amsgrad
  bool rows = false;       // the gradients are row-sparse
  // Momentum: how much, and 1 for Nesterov's. Adam: 1 - beta_1, 1 - beta_2, epsilon.
  double a = 0, b = 0, c = 0;
};

// Inputs: a variable and its slots; the same of further variables; the gradients of all, each one tensor or indices
// and values that merge_rows() gave; the rate (a scalar). Outputs: all variables and slots after the step. Nothing
// in it can fail, so a program may update what it changes where it lies.
extern const OpDef kOptimizerStep;

// Makes the node, in a trace, and assigns what it gives. Gradients in rows are two tensors each, as above.
void trace_step(const StepAttributes& attributes, std::span<const Variable> slots, std::span<const Tensor> gradients,
                const Tensor& rate);

// variable -= rate * rows of a row-sparse float32 or float64 tensor that fits it.
void subtract_rows(const Variable& variable, const Tensor& rows, double rate, const char* op);

// Throws DTypeError or ShapeError unless `other`, which is the `what` of the variable in messages, is like its value.
void check_fits(const detail::VariableState& variable, const TensorRef& other, const char* op, const char* what);
// Throws DTypeError for a dtype that the optimizers do not update.
void check_dtype(const detail::VariableState& variable, const char* op);

}  // namespace capstan
