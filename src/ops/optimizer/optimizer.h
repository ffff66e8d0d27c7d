// What other ops use of the steps of optimizers.
#pragma once

#include "src/core/op_def.h"
#include "src/core/step_loop.h"

namespace capstan {

// Inputs: a variable and its slots; the same of further variables; the gradients of all, each one tensor or indices
// and values that merge_rows() gave; the numbers (scalars). Outputs: all variables and slots after the step. Nothing
// in it can fail, so a program may update what it changes where it lies. Made in traces alone.
extern const OpDef kOptimizerStep;

// variable += rows, or -= with `subtract`, of a row-sparse float32 or float64 tensor that fits it.
void add_rows(const Variable& variable, const Tensor& rows, bool subtract, const char* op);

}  // namespace capstan
