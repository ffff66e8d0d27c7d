#pragma once

#include <array>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

// Convolutions. Images are [batch, height, width, channels], [batch, depth, height, width, channels], or signals
// [batch, width, channels].

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

/// Convolution (correlation) of x [batch, height, width, channels] with filters [height, width, in, out], whose
/// elements lie `dilations` apart. If `in` is a fraction of the channels, there are channels / in groups: output
/// channels [g * out / groups, (g + 1) * out / groups) are made of the g-th run of `in` channels. An image smaller than
/// the filter gives a result without elements. Either may have an axis of items in front, and so has the result then.
/// Dtypes: floating ones, int32. Errors: ShapeError, DTypeError, ValueError for a stride or dilation below 1.
///
///     Tensor y = conv2d(x, filters, {2, 2}, "SAME");
CAPSTAN_EXPORT Tensor conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides = {1, 1},
                             Padding padding = "VALID", std::array<std::int64_t, 2> dilations = {1, 1});
/// The gradient of conv2d for its input, whose shape is `input_sizes`. Errors: as conv2d; ShapeError if out_backprop
/// does not have the shape of conv2d's result.
///
///     conv2d_backprop_input({2, 8, 8, 3}, filters, ones({2, 6, 6, 4}), {1, 1}, "VALID");  // float32[2, 8, 8, 3]
CAPSTAN_EXPORT Tensor conv2d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                                            std::array<std::int64_t, 2> strides, Padding padding,
                                            std::array<std::int64_t, 2> dilations = {1, 1});
/// The gradient of conv2d for its filters, whose shape is `filter_sizes`. Errors: as conv2d_backprop_input.
///
///     conv2d_backprop_filter(x, {3, 3, 3, 4}, ones({2, 6, 6, 4}), {1, 1}, "VALID");  // float32[3, 3, 3, 4]
CAPSTAN_EXPORT Tensor conv2d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                                             std::array<std::int64_t, 2> strides, Padding padding,
                                             std::array<std::int64_t, 2> dilations = {1, 1});

/// The same for images [batch, depth, height, width, channels] and filters [depth, height, width, in, out]. The padding
/// is "VALID" or "SAME". Errors: as conv2d.
///
///     conv3d(ones({1, 4, 4, 4, 2}), ones({3, 3, 3, 2, 5}));  // float32[1, 2, 2, 2, 5]
CAPSTAN_EXPORT Tensor conv3d(Operand x, Operand filters, std::array<std::int64_t, 3> strides = {1, 1, 1},
                             Padding padding = "VALID", std::array<std::int64_t, 3> dilations = {1, 1, 1});
/// The gradient of conv3d for its input, whose shape is `input_sizes`.
///
///     Tensor g = ones({1, 2, 2, 2, 5}), kernels = ones({3, 3, 3, 2, 5});
///     conv3d_backprop_input({1, 4, 4, 4, 2}, kernels, g, {1, 1, 1}, "VALID");  // float32[1, 4, 4, 4, 2]
CAPSTAN_EXPORT Tensor conv3d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                                            std::array<std::int64_t, 3> strides, Padding padding,
                                            std::array<std::int64_t, 3> dilations = {1, 1, 1});
/// The gradient of conv3d for its filters, whose shape is `filter_sizes`.
///
///     Tensor g = ones({1, 2, 2, 2, 5}), volumes = ones({1, 4, 4, 4, 2});
///     conv3d_backprop_filter(volumes, {3, 3, 3, 2, 5}, g, {1, 1, 1}, "VALID");  // float32[3, 3, 3, 2, 5]
CAPSTAN_EXPORT Tensor conv3d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                                             std::array<std::int64_t, 3> strides, Padding padding,
                                             std::array<std::int64_t, 3> dilations = {1, 1, 1});

/// The same for signals [batch, width, channels] and filters [width, in, out]. Errors: as conv2d.
///
///     Tensor signal = reshape(constant({1.0, 2.0, 4.0, 8.0}), {1, 4, 1});
///     conv1d(signal, reshape(constant({-1.0, 1.0}), {2, 1, 1}));  // [[[1], [2], [4]]]
CAPSTAN_EXPORT Tensor conv1d(Operand x, Operand filters, std::int64_t stride = 1, Padding padding = "VALID",
                             std::int64_t dilations = 1);

/// The transpose of conv2d, also called deconvolution: x [batch, height, width, in] and filters [height, width, out,
/// in] give an image of `output_shape` [batch, height, width, out], from which conv2d with these filters, strides and
/// padding makes one of the shape of x. Errors: as conv2d; ShapeError for an output shape from which it does not.
///
///     Tensor larger = conv2d_transpose(x, filters, {8, 28, 28, 16}, {2, 2});  // x [8, 14, 14, 32]
CAPSTAN_EXPORT Tensor conv2d_transpose(Operand x, Operand filters, const Shape& output_shape,
                                       std::array<std::int64_t, 2> strides = {1, 1}, Padding padding = "SAME",
                                       std::array<std::int64_t, 2> dilations = {1, 1});
/// The transpose of conv1d: filters [width, out, in]. Errors: as conv2d_transpose.
///
///     conv1d_transpose(ones({1, 4, 3}), ones({2, 5, 3}), {1, 8, 5}, 2);  // float32[1, 8, 5]
CAPSTAN_EXPORT Tensor conv1d_transpose(Operand x, Operand filters, const Shape& output_shape, std::int64_t strides = 1,
                                       Padding padding = "SAME", std::int64_t dilations = 1);
/// The transpose of conv3d: filters [depth, height, width, out, in]. Errors: as conv2d_transpose.
///
///     Tensor kernels = ones({3, 3, 3, 5, 3});
///     conv3d_transpose(ones({1, 2, 2, 2, 3}), kernels, {1, 4, 4, 4, 5}, {2, 2, 2});  // float32[1, 4, 4, 4, 5]
CAPSTAN_EXPORT Tensor conv3d_transpose(Operand x, Operand filters, const Shape& output_shape,
                                       std::array<std::int64_t, 3> strides = {1, 1, 1}, Padding padding = "SAME",
                                       std::array<std::int64_t, 3> dilations = {1, 1, 1});

/// Convolution of every channel of x [batch, height, width, channels] with filters of its own, [height, width,
/// channels, multiplier]: output channel c * multiplier + m is channel c filtered by filters[:, :, c, m]. Errors: as
/// conv2d.
///
///     depthwise_conv2d(x, zeros({3, 3, 3, 2}), {1, 1}, "SAME");  // float32[2, 8, 8, 6]
CAPSTAN_EXPORT Tensor depthwise_conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides = {1, 1},
                                       Padding padding = "VALID", std::array<std::int64_t, 2> dilations = {1, 1});
/// depthwise_conv2d, then conv2d with pointwise_filters [1, 1, channels * multiplier, out]. Errors: as conv2d.
///
///     separable_conv2d(x, zeros({3, 3, 3, 2}), zeros({1, 1, 6, 5}), {1, 1}, "SAME");  // float32[2, 8, 8, 5]
CAPSTAN_EXPORT Tensor separable_conv2d(Operand x, Operand depthwise_filters, Operand pointwise_filters,
                                       std::array<std::int64_t, 2> strides = {1, 1}, Padding padding = "VALID",
                                       std::array<std::int64_t, 2> dilations = {1, 1});

}  // namespace capstan
