#pragma once

#include <array>
#include <string_view>

#include "capstan/ops/activation.h"
#include "capstan/tensor.h"

namespace capstan {

// --- Softmax and cross entropies ---

/// exp(x) / sum(exp(x)) along an axis. Errors: IndexError, DTypeError for integers.
CAPSTAN_EXPORT Tensor softmax(Operand logits, int axis = -1);
/// The logarithm of the softmax, computed without overflow.
CAPSTAN_EXPORT Tensor log_softmax(Operand logits, int axis = -1);

/// The cross entropy of labels (probabilities, [..., classes]) and the softmax of logits, one loss
/// per row. Labels may broadcast over rows. The gradient for the logits is softmax - labels even
/// where labels do not sum to one. Errors: ShapeError, DTypeError.
CAPSTAN_EXPORT Tensor softmax_cross_entropy_with_logits(Operand labels, Operand logits, int axis = -1);
/// The same for labels that are class numbers, int32 or int64 [...]. Errors: ShapeError,
/// DTypeError, IndexError for a label that is not a class.
CAPSTAN_EXPORT Tensor sparse_softmax_cross_entropy_with_logits(Operand labels, Operand logits);

/// Losses with their gradients for the logits.
struct CrossEntropy {
  Tensor loss;
  Tensor difference;  ///< softmax - labels, the gradient of each loss for its logits
};
/// What the two functions above are made of: the loss together with its gradient for the logits,
/// over the last axis.
CAPSTAN_EXPORT CrossEntropy softmax_cross_entropy(Operand labels, Operand logits);
CAPSTAN_EXPORT CrossEntropy sparse_softmax_cross_entropy(Operand labels, Operand logits);

/// The cross entropy of labels and the sigmoid of logits, elementwise. Errors: ShapeError,
/// DTypeError.
CAPSTAN_EXPORT Tensor sigmoid_cross_entropy_with_logits(Operand labels, Operand logits);
/// The same with the loss of positive labels multiplied by pos_weight, which may broadcast.
CAPSTAN_EXPORT Tensor weighted_cross_entropy_with_logits(Operand labels, Operand logits, Operand pos_weight);
/// Half the sum of squares of all elements.
CAPSTAN_EXPORT Tensor l2_loss(Operand x);

/// Adds a vector to the last axis. Errors: ShapeError.
CAPSTAN_EXPORT Tensor bias_add(Operand x, Operand bias);

// --- Convolution and pooling: images are [batch, height, width, channels] ---

/// How an image is extended: "VALID" (not at all), "SAME" (so that a stride of 1 keeps the size),
/// in any case, or given numbers of rows and columns. Errors: ValueError for another name or a
/// negative number.
struct CAPSTAN_EXPORT Padding {
  Padding(const char* name);
  Padding(std::string_view name);
  Padding(std::array<std::int64_t, 4> top_bottom_left_right);
  enum class Kind : std::uint8_t { kValid, kSame, kExplicit } kind = Kind::kValid;
  std::array<std::int64_t, 4> pads = {};
};

/// Convolution (correlation) of x [batch, height, width, in] with filters [height, width, in, out].
/// Errors: ShapeError, DTypeError, ValueError for a stride below 1.
CAPSTAN_EXPORT Tensor conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides = {1, 1},
                             Padding padding = "VALID");
/// The gradient of conv2d for its input, whose shape is `input_sizes`; also known as transposed
/// convolution.
CAPSTAN_EXPORT Tensor conv2d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                                            std::array<std::int64_t, 2> strides, Padding padding);
/// The gradient of conv2d for its filters, whose shape is `filter_sizes`.
CAPSTAN_EXPORT Tensor conv2d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                                             std::array<std::int64_t, 2> strides, Padding padding);

/// The largest element of each window of each channel; padding never wins. Errors: as conv2d.
CAPSTAN_EXPORT Tensor max_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                                 Padding padding);
/// The mean of each window of each channel; padding is not counted.
CAPSTAN_EXPORT Tensor avg_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                                 Padding padding);
/// `g`, a gradient for the result of max_pool2d, at the places of the maxima of x; zero elsewhere.
CAPSTAN_EXPORT Tensor max_pool2d_scatter(Operand x, Operand g, std::array<std::int64_t, 2> ksize,
                                         std::array<std::int64_t, 2> strides, Padding padding);
/// The elements of `from`, an image like x, at the places of the maxima of x.
CAPSTAN_EXPORT Tensor max_pool2d_gather(Operand x, Operand from, std::array<std::int64_t, 2> ksize,
                                        std::array<std::int64_t, 2> strides, Padding padding);
/// The gradient of avg_pool2d for its input, which has the shape of `like`; only that shape is
/// read.
CAPSTAN_EXPORT Tensor avg_pool2d_scatter(Operand like, Operand g, std::array<std::int64_t, 2> ksize,
                                         std::array<std::int64_t, 2> strides, Padding padding);

// --- Normalisation ---

/// What moments returns.
struct Moments {
  Tensor mean;
  Tensor variance;  ///< divided by the count
};
/// Mean and variance over axes. Errors: IndexError, DTypeError for integers.
CAPSTAN_EXPORT Moments moments(Operand x, Axes axes, bool keepdims = false);
/// (x - mean) / sqrt(variance + epsilon) * scale + offset, broadcasting.
CAPSTAN_EXPORT Tensor batch_normalization(Operand x, Operand mean, Operand variance, Operand offset, Operand scale,
                                          double variance_epsilon);
struct BatchNormResult {
  Tensor y;
  Tensor mean;
  Tensor variance;
};
/// Normalises over all but the last axis with the batch's own moments; the variance is divided by
/// the count. Errors: ShapeError, DTypeError.
CAPSTAN_EXPORT BatchNormResult batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon = 1e-3);
/// The gradients of batch_norm_training for x, scale and offset, given the moments and the
/// cotangent g of y.
struct BatchNormGradients {
  Tensor x;
  Tensor scale;
  Tensor offset;
};
CAPSTAN_EXPORT BatchNormGradients batch_norm_gradients(Operand x, Operand scale, Operand mean, Operand variance,
                                                       Operand g, double epsilon = 1e-3);
/// As batch_norm_training, for float32 images; the variance handed out is divided by the count - 1,
/// as the moving averages of the original want it.
CAPSTAN_EXPORT BatchNormResult fused_batch_norm_training(Operand x, Operand scale, Operand offset,
                                                         double epsilon = 1e-3);
/// Normalises images with given statistics of the channels. Errors: ShapeError.
CAPSTAN_EXPORT Tensor fused_batch_norm_inference(Operand x, Operand scale, Operand offset, Operand mean,
                                                 Operand variance, double epsilon = 1e-3);
/// Normalises over the last `axes` axes; scale and offset have their shape. Errors: ShapeError.
CAPSTAN_EXPORT Tensor layer_normalization(Operand x, Operand scale, Operand offset, int axes = 1,
                                          double epsilon = 1e-3);

/// Zeroes a fraction `rate` of the elements and scales the others by 1 / (1 - rate). Which ones
/// depends on the seed and the position only; without a seed on the next key of the process's
/// stream (see next_seed). Errors: ValueError for a rate outside [0, 1), DTypeError for integers.
CAPSTAN_EXPORT Tensor dropout(Operand x, double rate);
CAPSTAN_EXPORT Tensor dropout(Operand x, double rate, std::uint64_t seed);
/// Dropout as an op whose draw is a function of the seed and the position; `dropout` is made of it.
CAPSTAN_EXPORT Tensor keyed_dropout(Operand x, double rate, std::uint64_t seed);
/// x / (1 - rate) where the mask (bool) is true, else 0.
CAPSTAN_EXPORT Tensor dropout_with_mask(Operand x, Operand mask, double rate);

}  // namespace capstan
