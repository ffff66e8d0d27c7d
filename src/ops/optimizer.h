// Adam's step as an op, for traces: the loop of optimizer.cc on copies of the variable and its slots.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

struct AdamAttributes {
  double beta_1, beta_2, epsilon;
};

// Inputs: the variable, m, v, the gradient, the rate (a scalar), and for amsgrad the largest v. Outputs: the variable,
// m, v, and the largest v, after the step.
extern const OpDef kAdamStep;

}  // namespace capstan
