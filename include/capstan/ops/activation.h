#pragma once

#include "capstan/ops/math.h"

namespace capstan {

// Activations: elementwise functions between the layers of a network. float32, float64, bfloat16;
// relu and relu6 take integers as well. sigmoid, softplus
// and tanh are in math.h.

/// log(sigmoid(x)), precise where sigmoid is 0 or 1.
CAPSTAN_EXPORT Tensor log_sigmoid(Operand x);
/// x / (1 + |x|), from -1 to 1.
CAPSTAN_EXPORT Tensor softsign(Operand x);
/// The larger of x and 0. The gradient at 0 is 0.
CAPSTAN_EXPORT Tensor relu(Operand x);
/// x limited to the range from 0 to 6. The gradient at both ends is 0.
CAPSTAN_EXPORT Tensor relu6(Operand x);
/// x where it is positive, `alpha * x` elsewhere. The gradient at 0 is alpha.
CAPSTAN_EXPORT Tensor leaky_relu(Operand x, double alpha = 0.2);
/// x where it is not negative, `exp(x) - 1` elsewhere (Clevert, Unterthiner, Hochreiter 2015).
CAPSTAN_EXPORT Tensor elu(Operand x);
/// elu with a slope of 1.0507 and a floor of -1.7581, which keep the mean 0 and the variance 1 from
/// layer to layer (Klambauer, Unterthiner, Mayr, Hochreiter 2017).
CAPSTAN_EXPORT Tensor selu(Operand x);
/// x times the probability that a normal variable is below x (Hendrycks, Gimpel 2016):
/// gelu_erf(x), or gelu_tanh(x) if `approximate`.
CAPSTAN_EXPORT Tensor gelu(Operand x, bool approximate = false);
/// x / 2 * (1 + erf(x / sqrt(2))).
CAPSTAN_EXPORT Tensor gelu_erf(Operand x);
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))); within 0.0005 of gelu_erf.
CAPSTAN_EXPORT Tensor gelu_tanh(Operand x);
/// x * sigmoid(beta * x), also called swish.
CAPSTAN_EXPORT Tensor silu(Operand x, double beta = 1.0);
/// x * tanh(softplus(x)) (Misra 2019).
CAPSTAN_EXPORT Tensor mish(Operand x);

}  // namespace capstan
