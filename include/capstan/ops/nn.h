#pragma once

#include "capstan/ops/activation.h"
#include "capstan/ops/attention.h"
#include "capstan/ops/conv.h"
#include "capstan/ops/pool.h"
#include "capstan/seed.h"
#include "capstan/tensor.h"

namespace capstan {

// --- Softmax and cross entropies ---

/// exp(x) / sum(exp(x)) along an axis. Errors: IndexError, DTypeError for integers.
///
///     softmax(constant({0.0, 1.0, 2.0}));  // [0.09003057, 0.2447285, 0.6652409]
CAPSTAN_EXPORT Tensor softmax(Operand logits, int axis = -1);
/// The gradient of a softmax for its logits, given its result y and the cotangent g of it: y * (g - sum(y * g)).
///
///     softmax_gradient(constant({0.25, 0.75}), constant({1.0, 0.0}));  // [0.1875, -0.1875]
CAPSTAN_EXPORT Tensor softmax_gradient(Operand y, Operand g, int axis = -1);
/// The logarithm of the softmax, computed without overflow.
///
///     log_softmax(constant({0.0, 0.0, 1000.0}));  // [-1000, -1000, 0]
CAPSTAN_EXPORT Tensor log_softmax(Operand logits, int axis = -1);

/// The cross entropy of labels (probabilities, [..., classes]) and the softmax of logits, one loss
/// per row. Labels may broadcast over rows. The gradient for the logits is softmax - labels even
/// where labels do not sum to one. Errors: ShapeError, DTypeError.
///
///     softmax_cross_entropy_with_logits(constant({{0.0, 1.0}}), constant({{0.0, 0.0}}));  // [0.6931472]
CAPSTAN_EXPORT Tensor softmax_cross_entropy_with_logits(Operand labels, Operand logits, int axis = -1);
/// The same for labels that are class numbers, int32 or int64 [...]. Errors: ShapeError,
/// DTypeError, IndexError for a label that is not a class.
///
///     sparse_softmax_cross_entropy_with_logits(constant({1}), constant({{0.0, 0.0}}));  // [0.6931472]
CAPSTAN_EXPORT Tensor sparse_softmax_cross_entropy_with_logits(Operand labels, Operand logits);

/// Losses with their gradients for the logits.
struct CrossEntropy {
  Tensor loss;
  Tensor difference;  ///< softmax - labels, the gradient of each loss for its logits
};
/// What the two functions above are made of: the loss together with its gradient for the logits,
/// over the last axis.
///
///     softmax_cross_entropy(constant({{0.0, 1.0}}), constant({{0.0, 0.0}})).difference;  // [[0.5, -0.5]]
///     sparse_softmax_cross_entropy(constant({1}), constant({{0.0, 0.0}})).difference;  // [[0.5, -0.5]]
CAPSTAN_EXPORT CrossEntropy softmax_cross_entropy(Operand labels, Operand logits);
CAPSTAN_EXPORT CrossEntropy sparse_softmax_cross_entropy(Operand labels, Operand logits);

/// The cross entropy of labels and the sigmoid of logits, elementwise. Errors: ShapeError,
/// DTypeError.
///
///     sigmoid_cross_entropy_with_logits(constant({0.0, 1.0}), constant({0.0, 2.0}));  // [0.6931472, 0.126928]
CAPSTAN_EXPORT Tensor sigmoid_cross_entropy_with_logits(Operand labels, Operand logits);
/// The same with the loss of positive labels multiplied by pos_weight, which may broadcast.
///
///     weighted_cross_entropy_with_logits(constant({0.0, 1.0}), constant({0.0, 2.0}), 3.0);  // [0.6931472, 0.380784]
CAPSTAN_EXPORT Tensor weighted_cross_entropy_with_logits(Operand labels, Operand logits, Operand pos_weight);
/// Half the sum of squares of all elements.
///
///     l2_loss(constant({3.0, 4.0}));  // 12.5
CAPSTAN_EXPORT Tensor l2_loss(Operand x);

/// Adds a vector to the axis of the channels: the last one, or the second if the data format begins with "NC". Errors:
/// ShapeError, ValueError for another format.
///
///     bias_add(zeros({2, 3}), constant({1.0, 2.0, 3.0}));  // [[1, 2, 3], [1, 2, 3]]
CAPSTAN_EXPORT Tensor bias_add(Operand x, Operand bias, std::string_view data_format = "N...C");

// --- Normalisation ---

/// What moments returns.
struct Moments {
  Tensor mean;
  Tensor variance;  ///< divided by the count
};
/// Mean and variance over axes. Errors: IndexError, DTypeError for integers.
///
///     moments(constant({1.0, 2.0, 3.0, 4.0}), 0).variance;  // 1.25
CAPSTAN_EXPORT Moments moments(Operand x, Axes axes, const KeepdimsOptions& options = {});
/// The same of elements with weights, which broadcast to x: sum(w x) / sum(w), and the mean square distance from it.
///
///     weighted_moments(constant({1.0, 5.0}), 0, constant({3.0, 1.0})).mean;  // 2
CAPSTAN_EXPORT Moments weighted_moments(Operand x, Axes axes, Operand weights, const KeepdimsOptions& options = {});
/// (x - mean) / sqrt(variance + epsilon) * scale + offset, broadcasting.
///
///     batch_normalization(constant({1.0, 3.0}), 2.0, 4.0, 10.0, 1.0, 0.0);  // [9.5, 10.5]
CAPSTAN_EXPORT Tensor batch_normalization(Operand x, Operand mean, Operand variance, Operand offset, Operand scale,
                                          double variance_epsilon);
struct BatchNormResult {
  Tensor y;
  Tensor mean;
  Tensor variance;
};
/// Normalises over all but the last axis with the batch's own moments; the variance is divided by
/// the count. Errors: ShapeError, DTypeError.
///
///     batch_norm_training(x, gamma, beta).mean;  // [0, 0, 0]
CAPSTAN_EXPORT BatchNormResult batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon = 1e-3);
/// The gradients of batch_norm_training for x, scale and offset, given the moments and the
/// cotangent g of y.
struct BatchNormGradients {
  Tensor x;
  Tensor scale;
  Tensor offset;
};
/// Errors: ShapeError, DTypeError.
///
///     batch_norm_gradients(x, gamma, zeros({3}), ones({3}), ones({2, 3})).scale;  // [0, 0, 0]
CAPSTAN_EXPORT BatchNormGradients batch_norm_gradients(Operand x, Operand scale, Operand mean, Operand variance,
                                                       Operand g, double epsilon = 1e-3);
/// As batch_norm_training, for float32 images; the variance handed out is divided by the count - 1,
/// as TensorFlow's moving averages expect.
///
///     fused_batch_norm_training(zeros({2, 4, 4, 3}), gamma, beta).y;  // float32[2, 4, 4, 3]
CAPSTAN_EXPORT BatchNormResult fused_batch_norm_training(Operand x, Operand scale, Operand offset,
                                                         double epsilon = 1e-3);
/// Normalises images with given statistics of the channels. Errors: ShapeError.
///
///     fused_batch_norm_inference(zeros({2, 4, 4, 3}), gamma, beta, zeros({3}), ones({3}));  // float32[2, 4, 4, 3]
CAPSTAN_EXPORT Tensor fused_batch_norm_inference(Operand x, Operand scale, Operand offset, Operand mean,
                                                 Operand variance, double epsilon = 1e-3);
/// Normalises over the last `axes` axes; scale and offset have their shape. Errors: ShapeError, DTypeError.
///
///     Tensor y = layer_normalization(x, gamma, beta);  // x [batch, units], gamma and beta [units]
CAPSTAN_EXPORT Tensor layer_normalization(Operand x, Operand scale, Operand offset, int axes = 1,
                                          double epsilon = 1e-3);
/// The gradients of layer_normalization for x, scale and offset, given the cotangent g of its result.
struct LayerNormGradients {
  Tensor x;
  Tensor scale;
  Tensor offset;
};
/// Errors: ShapeError, DTypeError.
///
///     layer_normalization_gradients(x, gamma, ones({2, 3})).scale;  // [0, 0, 0]
CAPSTAN_EXPORT LayerNormGradients layer_normalization_gradients(Operand x, Operand scale, Operand g, int axes = 1,
                                                                double epsilon = 1e-3);
/// Normalises x [batch, ..., channels] over `groups` runs of channels and all axes between, image by image; scale and
/// offset are [channels]. Source: Wu and He, "Group normalization". Errors: ShapeError, DTypeError, ValueError for
/// channels that do not divide into groups.
///
///     group_normalization(zeros({2, 4, 4, 6}), ones({6}), zeros({6}), 3);  // float32[2, 4, 4, 6]
CAPSTAN_EXPORT Tensor group_normalization(Operand x, Operand scale, Operand offset, std::int64_t groups,
                                          double epsilon = 1e-3);
/// The same with every channel a group: [batch, ..., channels] over the axes between. Errors: as group_normalization.
///
///     instance_normalization(zeros({2, 4, 4, 3}), gamma, beta);  // float32[2, 4, 4, 3]
CAPSTAN_EXPORT Tensor instance_normalization(Operand x, Operand scale, Operand offset, double epsilon = 1e-3);
/// x / sqrt(mean(x^2) + epsilon) * scale over the last axis. Source: Zhang and Sennrich, "Root mean square layer
/// normalization". Errors: ShapeError, DTypeError.
///
///     rms_normalization(constant({3.0, 4.0}), ones({2}), 0.0);  // [0.8485282, 1.131371]
CAPSTAN_EXPORT Tensor rms_normalization(Operand x, Operand scale, double epsilon = 1e-6);
/// x / (bias + alpha * sum)^beta, where the sum is over the squares of up to `depth_radius` channels on either side and
/// the channel itself, of images [batch, height, width, channels]. Errors: ShapeError, DTypeError, ValueError.
///
///     local_response_normalization(ones({1, 1, 1, 2}), 1);  // [[[[0.5773503, 0.5773503]]]]
CAPSTAN_EXPORT Tensor local_response_normalization(Operand x, std::int64_t depth_radius = 5, double bias = 1,
                                                   double alpha = 1, double beta = 0.5);

/// Zeroes a fraction `rate` of the elements and scales the others by 1 / (1 - rate). Which ones
/// depends on the seed and the position only; without a seed on the next key of the process's
/// stream (see next_seed). Errors: ValueError for a rate outside [0, 1), DTypeError for integers.
///
///     dropout(ones({1000}), 0.25);  // float32[1000]
CAPSTAN_EXPORT Tensor dropout(Operand x, double rate, Seed seed = {});
/// Dropout as an op whose draw is a function of the seed and the position; `dropout` is made of it.
///
///     keyed_dropout(ones({100}), 0.5, 1);  // float32[100]
CAPSTAN_EXPORT Tensor keyed_dropout(Operand x, double rate, std::uint64_t seed);
/// x / (1 - rate) where the mask (bool) is true, else 0.
///
///     dropout_with_mask(constant({1.0, 2.0}), constant({true, false}), 0.5);  // [2, 0]
CAPSTAN_EXPORT Tensor dropout_with_mask(Operand x, Operand mask, double rate);

}  // namespace capstan
