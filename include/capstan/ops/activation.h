#pragma once

#include <limits>

#include "capstan/ops/math.h"

namespace capstan {

// Activations: elementwise functions between the layers of a network. float32, float64, bfloat16;
// relu and relu6 take integers as well, sigmoid
// complex numbers. tanh is in math.h.

/// 1 / (1 + exp(-x)), from 0 to 1.
///
///     sigmoid(constant({-1.0, 0.0, 1.0}));  // [0.2689414, 0.5, 0.7310586]
CAPSTAN_EXPORT Tensor sigmoid(Operand x);
/// log(1 + exp(x)): relu with a smooth corner.
///
///     softplus(constant({-1.0, 0.0, 1.0}));  // [0.3132617, 0.6931472, 1.313262]
CAPSTAN_EXPORT Tensor softplus(Operand x);
/// log(sigmoid(x)), precise where sigmoid is 0 or 1.
///
///     log_sigmoid(constant({-100.0, 0.0, 1.0}));  // [-100, -0.6931472, -0.3132617]
CAPSTAN_EXPORT Tensor log_sigmoid(Operand x);
/// x / (1 + |x|), from -1 to 1.
///
///     softsign(constant({-1.0, 0.0, 3.0}));  // [-0.5, 0, 0.75]
CAPSTAN_EXPORT Tensor softsign(Operand x);
/// The larger of x and 0. The gradient at 0 is 0.
///
///     relu(constant({-1.0, 0.0, 3.0}));  // [0, 0, 3]
CAPSTAN_EXPORT Tensor relu(Operand x);
/// x limited to the range from 0 to 6. The gradient at both ends is 0.
///
///     relu6(constant({-1.0, 3.0, 8.0}));  // [0, 3, 6]
CAPSTAN_EXPORT Tensor relu6(Operand x);
/// x where it is positive, `alpha * x` elsewhere. The gradient at 0 is alpha.
///
///     leaky_relu(constant({-1.0, 0.0, 3.0}));  // [-0.2, 0, 3]
CAPSTAN_EXPORT Tensor leaky_relu(Operand x, double alpha = 0.2);
/// max(x, 0) in full generality, as Keras has it: x above `threshold` and `negative_slope * (x - threshold)` below it,
/// limited to `max_value`, which is infinite unless given. Errors: ValueError for a negative number.
///
///     general_relu(constant({-1.0, 3.0, 9.0}), 0.1, 6.0);  // [-0.1, 3, 6]
CAPSTAN_EXPORT Tensor general_relu(Operand x, double negative_slope = 0,
                                   double max_value = std::numeric_limits<double>::infinity(), double threshold = 0);
/// relu(x) and relu(-x) side by side along an axis, which becomes twice as long (Shang, Sohn, Almeida, Lee 2016).
/// Errors: IndexError.
///
///     crelu(constant({-1.0, 3.0}));  // [0, 3, 1, 0]
CAPSTAN_EXPORT Tensor crelu(Operand x, int axis = -1);
/// x where it is not negative, `alpha * (exp(x) - 1)` elsewhere (Clevert, Unterthiner, Hochreiter 2015).
/// Errors: ValueError unless alpha is positive.
///
///     elu(constant({-1.0, 0.0, 3.0}));  // [-0.6321206, 0, 3]
CAPSTAN_EXPORT Tensor elu(Operand x, double alpha = 1.0);
/// x where it is not negative, `alpha * (exp(x / alpha) - 1)` elsewhere, whose derivative has no jump (Barron 2017).
/// Errors: ValueError unless alpha is positive.
///
///     celu(constant({-1.0, 0.0, 3.0}), 2.0);  // [-0.7869387, 0, 3]
CAPSTAN_EXPORT Tensor celu(Operand x, double alpha = 1.0);
/// elu with a slope of 1.0507 and a floor of -1.7581, which keep the mean 0 and the variance 1 from
/// layer to layer (Klambauer, Unterthiner, Mayr, Hochreiter 2017).
///
///     selu(constant({-1.0, 0.0, 3.0}));  // [-1.111331, 0, 3.152103]
CAPSTAN_EXPORT Tensor selu(Operand x);
/// Options of gelu.
struct GeluOptions {
  bool approximate = false;
};
/// x times the probability that a normal variable is below x (Hendrycks, Gimpel 2016):
/// gelu_erf(x), or gelu_tanh(x) if `approximate`.
///
///     gelu(constant({-1.0, 0.0, 1.0}));  // [-0.1586553, 0, 0.8413447]
CAPSTAN_EXPORT Tensor gelu(Operand x, const GeluOptions& options = {});
/// x / 2 * (1 + erf(x / sqrt(2))).
///
///     gelu_erf(constant({-1.0, 0.0, 1.0}));  // [-0.1586553, 0, 0.8413447]
CAPSTAN_EXPORT Tensor gelu_erf(Operand x);
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))); within 0.0005 of gelu_erf.
///
///     gelu_tanh(constant({-1.0, 0.0, 1.0}));  // [-0.158808, 0, 0.841192]
CAPSTAN_EXPORT Tensor gelu_tanh(Operand x);
/// x * sigmoid(beta * x), also called swish.
///
///     silu(constant({-1.0, 0.0, 1.0}));  // [-0.2689414, 0, 0.7310586]
CAPSTAN_EXPORT Tensor silu(Operand x, double beta = 1.0);
/// x * tanh(softplus(x)) (Misra 2019).
///
///     mish(constant({-1.0, 0.0, 1.0}));  // [-0.3034015, 0, 0.8650984]
CAPSTAN_EXPORT Tensor mish(Operand x);
/// The first half of x along an axis times the sigmoid of the second half (Dauphin, Fan, Auli, Grangier 2017).
/// Errors: IndexError, ValueError for an odd length.
///
///     glu(constant({1.0, 2.0, 0.0, 1.0}));  // [0.5, 1.462117]
CAPSTAN_EXPORT Tensor glu(Operand x, int axis = -1);

/// x / 6 + 1 / 2 limited to the range from 0 to 1. The gradient at both ends is 0.
///
///     hard_sigmoid(constant({-4.0, 0.0, 1.5}));  // [0, 0.5, 0.75]
CAPSTAN_EXPORT Tensor hard_sigmoid(Operand x);
/// x * hard_sigmoid(x), also called hard swish (Howard and others 2019).
///
///     hard_silu(constant({-4.0, 0.0, 1.5}));  // [0, 0, 1.125]
CAPSTAN_EXPORT Tensor hard_silu(Operand x);
/// x limited to the range from -1 to 1. At both ends the gradient is passed on.
///
///     hard_tanh(constant({-4.0, 0.5, 1.5}));  // [-1, 0.5, 1]
CAPSTAN_EXPORT Tensor hard_tanh(Operand x);
/// x where |x| is above the threshold, 0 elsewhere.
///
///     hard_shrink(constant({-1.0, 0.2, 0.6}));  // [-1, 0, 0.6]
CAPSTAN_EXPORT Tensor hard_shrink(Operand x, double threshold = 0.5);
/// x moved towards 0 by the threshold, and 0 where it would pass it.
///
///     soft_shrink(constant({-1.0, 0.2, 0.75}));  // [-0.5, 0, 0.25]
CAPSTAN_EXPORT Tensor soft_shrink(Operand x, double threshold = 0.5);
/// x - tanh(x).
///
///     tanh_shrink(constant({-1.0, 0.0, 1.0}));  // [-0.2384058, 0, 0.2384058]
CAPSTAN_EXPORT Tensor tanh_shrink(Operand x);
/// x where it is above `threshold`, `default_value` elsewhere.
///
///     threshold(constant({-1.0, 0.5, 2.0}), 1.0, -7.0);  // [-7, -7, 2]
CAPSTAN_EXPORT Tensor threshold(Operand x, double threshold, double default_value);
/// (x + sqrt(x^2 + b)) / 2, a relu without a corner (Barron 2021).
///
///     squareplus(constant({-1.0, 0.0, 1.0}));  // [0.618034, 1, 1.618034]
CAPSTAN_EXPORT Tensor squareplus(Operand x, double b = 4);
/// 0 up to -1, x from 1 on, (x + 1)^2 / 4 between.
///
///     sparse_plus(constant({-2.0, 0.0, 3.0}));  // [0, 0.25, 3]
CAPSTAN_EXPORT Tensor sparse_plus(Operand x);
/// (x + 1) / 2 limited to the range from 0 to 1: the derivative of sparse_plus. The gradient at both ends is 0.
///
///     sparse_sigmoid(constant({-2.0, 0.0, 0.5}));  // [0, 0.5, 0.75]
CAPSTAN_EXPORT Tensor sparse_sigmoid(Operand x);
/// The point of the probability simplex that is nearest to x along an axis: a softmax with exact zeros (Martins,
/// Astudillo 2016). A row with a NaN or an infinity above is NaN. Errors: IndexError, DTypeError.
///
///     sparsemax(constant({0.5, 0.75, -1.0}));  // [0.375, 0.625, 0]
CAPSTAN_EXPORT Tensor sparsemax(Operand x, int axis = -1);

}  // namespace capstan
