#pragma once

#include <array>
#include <string_view>

#include "capstan/ops/activation.h"
#include "capstan/tensor.h"

namespace capstan {

CAPSTAN_EXPORT Tensor softmax(Operand logits, int axis = -1);
CAPSTAN_EXPORT Tensor log_softmax(Operand logits, int axis = -1);

/// Cross entropies of logits, one loss per row: labels are probabilities [.., classes], or class numbers [..].
CAPSTAN_EXPORT Tensor softmax_cross_entropy_with_logits(Operand labels, Operand logits, int axis = -1);
CAPSTAN_EXPORT Tensor sparse_softmax_cross_entropy_with_logits(Operand labels, Operand logits);
CAPSTAN_EXPORT Tensor sigmoid_cross_entropy_with_logits(Operand labels, Operand logits);
CAPSTAN_EXPORT Tensor weighted_cross_entropy_with_logits(Operand labels, Operand logits, Operand pos_weight);
CAPSTAN_EXPORT Tensor l2_loss(Operand x);

CAPSTAN_EXPORT Tensor bias_add(Operand x, Operand bias);

/// "SAME" or "VALID" (any case), or explicit pairs.
struct Padding {
  Padding(const char* name);
  Padding(std::string_view name);
  Padding(std::array<std::int64_t, 4> top_bottom_left_right);
  enum class Kind : std::uint8_t { kValid, kSame, kExplicit } kind = Kind::kValid;
  std::array<std::int64_t, 4> pads = {};
};
/// x [batch, height, width, in], filters [height, width, in, out], both strides alike or one each.
CAPSTAN_EXPORT Tensor conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides = {1, 1},
                             Padding padding = "VALID");
CAPSTAN_EXPORT Tensor conv2d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                                            std::array<std::int64_t, 2> strides, Padding padding);
CAPSTAN_EXPORT Tensor conv2d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                                             std::array<std::int64_t, 2> strides, Padding padding);
CAPSTAN_EXPORT Tensor max_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                                 Padding padding);
CAPSTAN_EXPORT Tensor avg_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                                 Padding padding);

struct Moments {
  Tensor mean;
  Tensor variance;
};
CAPSTAN_EXPORT Moments moments(Operand x, Axes axes, bool keepdims = false);
CAPSTAN_EXPORT Tensor batch_normalization(Operand x, Operand mean, Operand variance, Operand offset, Operand scale,
                                          double variance_epsilon);
struct BatchNormResult {
  Tensor y;
  Tensor mean;
  Tensor variance;  ///< divided by the count
};
/// Normalises over all but the last axis with the batch's own moments.
CAPSTAN_EXPORT BatchNormResult batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon = 1e-3);

/// Zeroes a fraction `rate` of the elements and scales the others by 1 / (1 - rate); drawn from `seed`, or from the
/// thread's generator.
CAPSTAN_EXPORT Tensor dropout(Operand x, double rate);
CAPSTAN_EXPORT Tensor dropout(Operand x, double rate, std::uint64_t seed);

}  // namespace capstan
