// Normalisation by groups of channels, by instances, by roots of mean squares and by neighbouring channels; moments
// with weights. Composites, so their gradients are those of their parts.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/axes.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"

namespace capstan {

namespace {

// Scale and offset must be vectors of one number per channel.
Tensor channel_vector(std::string_view op, const Tensor& x, Operand operand, std::string_view name) {
  Tensor vector = to_tensor(operand);
  CAPSTAN_CHECK(vector.rank() == 1 && vector.dim(0) == x.dim(-1), ShapeError, op, ": ", name, " has shape ",
                vector.shape(), " for ", x.dim(-1), " channels", arguments({{"x", x}, {name, vector}}));
  return vector;
}

// Normalises x [batch, ..., channels] over the middle axes and runs of channels.
Tensor by_groups(std::string_view op, const Tensor& x, std::int64_t groups, Operand scale, Operand offset,
                 double epsilon) {
  const Tensor factor = channel_vector(op, x, scale, "scale");
  const Tensor shift = channel_vector(op, x, offset, "offset");
  std::int64_t pixels = 1;
  for (int i = 1; i + 1 < x.rank(); ++i) pixels *= x.dim(i);
  const Tensor grouped = reshape(x, {x.dim(0), pixels, groups, x.dim(-1) / groups});
  const Moments m = moments(grouped, {1, 3}, {.keepdims = true});
  const Tensor normal = (grouped - m.mean) * rsqrt(m.variance + epsilon);
  return reshape_like(normal, x) * factor + shift;
}

Moments weighted_moments_by_name(Operand x, Operand weights, Axes axes, bool keepdims) {
  return weighted_moments(x, axes, weights, {.keepdims = keepdims});
}

}  // namespace

constinit const OpDef kGroupNormalization = composite<&group_normalization, "x, scale, offset, groups, epsilon", 1e-3>(
    "group_normalization", "Normalises each image over its pixels and runs of channels, then scales and shifts.");

constinit const OpDef kInstanceNormalization = composite<&instance_normalization, "x, scale, offset, epsilon", 1e-3>(
    "instance_normalization", "Normalises each channel of each image over its pixels, then scales and shifts.");

constinit const OpDef kRmsNormalization = composite<&rms_normalization, "x, scale, epsilon", 1e-6>(
    "rms_normalization", "x / sqrt(mean(x^2) + epsilon) * scale over the last axis.");

constinit const OpDef kLocalResponseNormalization =
    composite<&local_response_normalization, "x, depth_radius, bias, alpha, beta", 5, 1, 1, 0.5>(
        "local_response_normalization", "x / (bias + alpha * sum(x^2 of neighbouring channels))^beta.");

constinit const OpDef kWeightedMoments = composite<&weighted_moments_by_name, "x, weights, axes, keepdims", false>(
    "weighted_moments", "Mean and variance over axes, of elements with weights.");

Tensor group_normalization(Operand x, Operand scale, Operand offset, std::int64_t groups, double epsilon) try {
  const Tensor value = floating_operand("group_normalization", x);
  CAPSTAN_CHECK(value.rank() >= 2, ShapeError, "group_normalization: the input needs rank 2 or more, not ",
                value.rank(), arguments({{"x", value}}));
  CAPSTAN_CHECK(groups >= 1 && value.dim(-1) % groups == 0, ValueError, "group_normalization: ", value.dim(-1),
                " channels do not divide into ", groups, " groups", arguments({{"x", value}}));
  return by_groups("group_normalization", value, groups, scale, offset, epsilon);
} catch (const Error&) {
  rethrow_as("group_normalization");
}

Tensor instance_normalization(Operand x, Operand scale, Operand offset, double epsilon) try {
  const Tensor value = floating_operand("instance_normalization", x);
  CAPSTAN_CHECK(value.rank() >= 3, ShapeError, "instance_normalization: the input needs rank 3 or more, not ",
                value.rank(), arguments({{"x", value}}));
  return by_groups("instance_normalization", value, std::max<std::int64_t>(value.dim(-1), 1), scale, offset, epsilon);
} catch (const Error&) {
  rethrow_as("instance_normalization");
}

Tensor rms_normalization(Operand x, Operand scale, double epsilon) try {
  const Tensor value = floating_operand("rms_normalization", x);
  CAPSTAN_CHECK(value.rank() >= 1, ShapeError, "rms_normalization: the input needs rank 1 or more",
                arguments({{"x", value}}));
  const Tensor factor = channel_vector("rms_normalization", value, scale, "scale");
  return value * rsqrt(reduce_mean(square(value), -1, {.keepdims = true}) + epsilon) * factor;
} catch (const Error&) {
  rethrow_as("rms_normalization");
}

Tensor local_response_normalization(Operand x, std::int64_t depth_radius, double bias, double alpha, double beta) try {
  const Tensor value = floating_operand("local_response_normalization", x);
  CAPSTAN_CHECK(value.rank() == 4, ShapeError,
                "local_response_normalization: images need rank 4 (batch, height, width, channels), not ", value.rank(),
                arguments({{"x", value}}));
  CAPSTAN_CHECK(depth_radius >= 0, ValueError, "local_response_normalization: the depth radius must be 0 or more, not ",
                depth_radius);
  // The sums of neighbours are averages of windows along the channels, whose padding counts as zeros.
  const std::int64_t channels = value.dim(3);
  const std::int64_t radius = std::min(depth_radius, std::max<std::int64_t>(channels - 1, 0));
  const std::int64_t window = 2 * radius + 1;
  const std::int64_t pixels = value.dim(0) * value.dim(1) * value.dim(2);
  const Tensor squares = pad(reshape(square(value), {pixels, channels, 1}), {{0, 0}, {radius, radius}, {0, 0}});
  const Tensor sums = avg_pool1d(squares, window, 1, "VALID") * static_cast<double>(window);
  return value * pow(reshape_like(sums, value) * alpha + bias, -beta);
} catch (const Error&) {
  rethrow_as("local_response_normalization");
}

Moments weighted_moments(Operand x, Axes axes, Operand weights, const KeepdimsOptions& options) try {
  const Tensor value = floating_operand("weighted_moments", x);
  const Tensor given = to_tensor(weights, value.dtype());
  normalize_axes("weighted_moments", axes, value.rank());
  const Tensor weight = given + zeros_like(value);
  const Tensor total = reduce_sum(weight, axes, {.keepdims = true});
  const Tensor mean = reduce_sum(weight * value, axes, {.keepdims = true}) / total;
  const Tensor variance = reduce_sum(weight * squared_difference(value, mean), axes, {.keepdims = true}) / total;
  if (options.keepdims) return {mean, variance};
  return {squeeze(mean, axes), squeeze(variance, axes)};
} catch (const Error&) {
  rethrow_as("weighted_moments");
}

CAPSTAN_OPS(group_norm, &kGroupNormalization, &kInstanceNormalization, &kRmsNormalization, &kLocalResponseNormalization,
            &kWeightedMoments);

}  // namespace capstan
