#pragma once

#include <limits>

#include "capstan/ops/math.h"

namespace capstan {

// Activations: elementwise functions between the layers of a network. float32, float64, bfloat16;
// relu and relu6 take integers as well, sigmoid
// complex numbers. tanh is in math.h.

/// 1 / (1 + exp(-x)), from 0 to 1.
CAPSTAN_EXPORT Tensor sigmoid(Operand x);
/// log(1 + exp(x)): relu with a smooth corner.
CAPSTAN_EXPORT Tensor softplus(Operand x);
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
/// max(x, 0) in full generality, as Keras has it: x above `threshold` and `negative_slope * (x - threshold)` below it,
/// limited to `max_value`, which is infinite unless given. Errors: ValueError for a negative number.
CAPSTAN_EXPORT Tensor general_relu(Operand x, double negative_slope = 0,
                                   double max_value = std::numeric_limits<double>::infinity(), double threshold = 0);
/// relu(x) and relu(-x) side by side along an axis, which becomes twice as long (Shang, Sohn, Almeida, Lee 2016).
/// Errors: IndexError.
CAPSTAN_EXPORT Tensor crelu(Operand x, int axis = -1);
/// x where it is not negative, `alpha * (exp(x) - 1)` elsewhere (Clevert, Unterthiner, Hochreiter 2015).
/// Errors: ValueError unless alpha is positive.
CAPSTAN_EXPORT Tensor elu(Operand x, double alpha = 1.0);
/// x where it is not negative, `alpha * (exp(x / alpha) - 1)` elsewhere, whose derivative has no jump (Barron 2017).
/// Errors: ValueError unless alpha is positive.
CAPSTAN_EXPORT Tensor celu(Operand x, double alpha = 1.0);
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
/// The first half of x along an axis times the sigmoid of the second half (Dauphin, Fan, Auli, Grangier 2017).
/// Errors: IndexError, ValueError for an odd length.
CAPSTAN_EXPORT Tensor glu(Operand x, int axis = -1);

/// x / 6 + 1 / 2 limited to the range from 0 to 1. The gradient at both ends is 0.
CAPSTAN_EXPORT Tensor hard_sigmoid(Operand x);
/// x * hard_sigmoid(x), also called hard swish (Howard and others 2019).
CAPSTAN_EXPORT Tensor hard_silu(Operand x);
/// x limited to the range from -1 to 1. At both ends the gradient is passed on.
CAPSTAN_EXPORT Tensor hard_tanh(Operand x);
/// x where |x| is above the threshold, 0 elsewhere.
CAPSTAN_EXPORT Tensor hard_shrink(Operand x, double threshold = 0.5);
/// x moved towards 0 by the threshold, and 0 where it would pass it.
CAPSTAN_EXPORT Tensor soft_shrink(Operand x, double threshold = 0.5);
/// x - tanh(x).
CAPSTAN_EXPORT Tensor tanh_shrink(Operand x);
/// x where it is above `threshold`, `default_value` elsewhere.
CAPSTAN_EXPORT Tensor threshold(Operand x, double threshold, double default_value);
/// (x + sqrt(x^2 + b)) / 2, a relu without a corner (Barron 2021).
CAPSTAN_EXPORT Tensor squareplus(Operand x, double b = 4);
/// 0 up to -1, x from 1 on, (x + 1)^2 / 4 between.
CAPSTAN_EXPORT Tensor sparse_plus(Operand x);
/// (x + 1) / 2 limited to the range from 0 to 1: the derivative of sparse_plus. The gradient at both ends is 0.
CAPSTAN_EXPORT Tensor sparse_sigmoid(Operand x);
/// The point of the probability simplex that is nearest to x along an axis: a softmax with exact zeros (Martins,
/// Astudillo 2016). A row with a NaN or an infinity above is NaN. Errors: IndexError, DTypeError.
CAPSTAN_EXPORT Tensor sparsemax(Operand x, int axis = -1);

}  // namespace capstan
