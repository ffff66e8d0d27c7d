// The gradient rule of a formula, in library ops: its recorded derivatives, computed with tensors.
#pragma once

#include <span>

#include "src/core/micro.h"
#include "src/core/op_def.h"

namespace capstan {

// The derivatives of a formula for its `arity` inputs, and those that complex numbers follow; null if it takes none.
struct FormulaRule {
  const FormulaCode* code;
  const FormulaCode* complex;
  int arity;
};

// Writes the cotangents of the inputs that are needed. Over complex numbers the formula sees the conjugate of the
// cotangent, and gives the conjugate of the result.
void run_formula_rule(const FormulaRule& rule, const VjpCall& call, std::span<Tensor> cotangents);

}  // namespace capstan
