#pragma once

#include "capstan/ops/math.h"

namespace capstan {

CAPSTAN_EXPORT Tensor relu(Operand x);
CAPSTAN_EXPORT Tensor relu6(Operand x);
CAPSTAN_EXPORT Tensor leaky_relu(Operand x, double alpha = 0.2);
CAPSTAN_EXPORT Tensor elu(Operand x);
CAPSTAN_EXPORT Tensor selu(Operand x);
CAPSTAN_EXPORT Tensor gelu(Operand x, bool approximate = false);
CAPSTAN_EXPORT Tensor silu(Operand x, double beta = 1.0);
CAPSTAN_EXPORT Tensor softsign(Operand x);
CAPSTAN_EXPORT Tensor log_sigmoid(Operand x);

}  // namespace capstan
