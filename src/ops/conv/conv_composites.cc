// Convolutions that are others in disguise: with one axis, transposed, depthwise, separable.
//
// A signal is an image of one row. A transposed convolution is the image gradient of a convolution. A depthwise one has
// as many groups as channels: its filter [height, width, channels, multiplier] lies in memory as conv2d wants
// [height, width, 1, channels * multiplier]. So all of them run on the kernels of conv2d and conv3d.
#include <array>

#include "capstan/ops/array.h"
#include "src/core/named_errors.h"
#include "src/ops/conv/conv_op.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// By name a stride may also be written between those of batch and channels.
Tensor conv1d_by_name(Operand x, Operand filters, PerAxis<1> stride, const Padding& padding, PerAxis<1> dilations) {
  return conv1d(x, filters, stride.at[0], padding, dilations.at[0]);
}

// Of the result's shape by name: a Shape of any rank would need more room than attributes have.
template <int R, auto kFunction>
Tensor transpose_by_name(Operand x, Operand filters, const ExactLengths<R + 2>& output_shape, PerAxis<R> strides,
                         const Padding& padding, PerAxis<R> dilations) {
  if constexpr (R == 1) {
    return kFunction(x, filters, output_shape.shape(), strides.at[0], padding, dilations.at[0]);
  } else {
    return kFunction(x, filters, output_shape.shape(), strides.numbers(), padding, dilations.numbers());
  }
}
template <int R, auto kFunction>
constexpr OpDef transpose_op(std::string_view name, std::string_view text) {
  return composite<&transpose_by_name<R, kFunction>, "x, filters, output_shape, strides, padding, dilations", NoValue{},
                   PackedPadding{.kind = Padding::Kind::kSame}, NoValue{}>(name, text);
}

// A signal [batch, width, channels], or filters [width, in, out], as an image of one row.
Tensor one_row(const Tensor& x, bool image) {
  const Shape s = x.shape();
  return image ? reshape(x, {s[0], 1, s[1], s[2]}) : reshape(x, {1, s[0], s[1], s[2]});
}
Tensor signal_of(const Tensor& image) {
  const Shape s = image.shape();
  return reshape(image, {s[0], s[2], s[3]});
}
void check_signal(std::string_view op, const Tensor& x, const Tensor& filters, const Padding& padding) {
  CAPSTAN_CHECK(x.rank() == 3, ShapeError, op, ": signals need rank 3 (batch, width, channels), not ", x.rank(),
                arguments({{"x", x}, {"filters", filters}}));
  CAPSTAN_CHECK(filters.rank() == 3, ShapeError, op, ": filters need rank 3 (width, channels, channels), not ",
                filters.rank(), arguments({{"x", x}, {"filters", filters}}));
  CAPSTAN_CHECK(padding.pads[0] == 0 && padding.pads[1] == 0, ValueError, op, ": a signal has no rows to pad, not ",
                padding.pads[0], " and ", padding.pads[1]);
}

}  // namespace

constinit const OpDef kConv1D =
    composite<&conv1d_by_name, "x, filters, stride, padding, dilations", NoValue{}, NoValue{}, NoValue{}>(
        "conv1d", "Convolution of signals with filters.");

constinit const OpDef kConv1DTranspose = transpose_op<1, &conv1d_transpose>(
    "conv1d_transpose", "The transpose of conv1d: signals from what a convolution makes of them.");
constinit const OpDef kConv2DTranspose = transpose_op<2, &conv2d_transpose>(
    "conv2d_transpose", "The transpose of conv2d: images from what a convolution makes of them.");
constinit const OpDef kConv3DTranspose = transpose_op<3, &conv3d_transpose>(
    "conv3d_transpose", "The transpose of conv3d: images from what a convolution makes of them.");

constinit const OpDef kDepthwiseConv2D =
    composite<&depthwise_conv2d, "x, filters, strides, padding, dilations", NoValue{}, NoValue{}, NoValue{}>(
        "depthwise_conv2d", "Convolution of every channel of an image with filters of its own.");

constinit const OpDef kSeparableConv2D =
    composite<&separable_conv2d, "x, depthwise_filters, pointwise_filters, strides, padding, dilations", NoValue{},
              NoValue{}, NoValue{}>("separable_conv2d",
                                    "A depthwise convolution, then one that mixes the channels of each pixel.");

Tensor conv1d(Operand x, Operand filters, std::int64_t stride, Padding padding, std::int64_t dilations) try {
  const Tensor signal = to_tensor(x);
  const Tensor f = to_tensor(filters);
  check_signal("conv1d", signal, f, padding);
  return signal_of(conv2d(one_row(signal, true), one_row(f, false), {1, stride}, std::move(padding), {1, dilations}));
} catch (const Error&) {
  rethrow_as("conv1d");
}

Tensor conv1d_transpose(Operand x, Operand filters, const Shape& output_shape, std::int64_t strides, Padding padding,
                        std::int64_t dilations) try {
  const Tensor signal = to_tensor(x);
  const Tensor f = to_tensor(filters);
  check_signal("conv1d_transpose", signal, f, padding);
  CAPSTAN_CHECK(output_shape.rank() == 3, ShapeError, "conv1d_transpose: the result needs 3 lengths, not ",
                output_shape);
  return signal_of(conv2d_backprop_input({output_shape[0], 1, output_shape[1], output_shape[2]}, one_row(f, false),
                                         one_row(signal, true), {1, strides}, std::move(padding), {1, dilations}));
} catch (const Error&) {
  rethrow_as("conv1d_transpose");
}

Tensor conv2d_transpose(Operand x, Operand filters, const Shape& output_shape, std::array<std::int64_t, 2> strides,
                        Padding padding, std::array<std::int64_t, 2> dilations) {
  return with_errors_of("conv2d_transpose", [&] {
    return conv2d_backprop_input(output_shape, filters, x, strides, std::move(padding), dilations);
  });
}

Tensor conv3d_transpose(Operand x, Operand filters, const Shape& output_shape, std::array<std::int64_t, 3> strides,
                        Padding padding, std::array<std::int64_t, 3> dilations) {
  return with_errors_of("conv3d_transpose", [&] {
    return conv3d_backprop_input(output_shape, filters, x, strides, std::move(padding), dilations);
  });
}

Tensor depthwise_conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides, Padding padding,
                        std::array<std::int64_t, 2> dilations) try {
  const Tensor image = to_tensor(x);
  const Tensor f = to_tensor(filters);
  CAPSTAN_CHECK(image.rank() == 4, ShapeError,
                "depthwise_conv2d: images need rank 4 (batch, height, width, channels), not ", image.rank(),
                arguments({{"x", image}, {"filters", f}}));
  CAPSTAN_CHECK(f.rank() == 4, ShapeError,
                "depthwise_conv2d: filters need rank 4 (height, width, channels, multiplier), not ", f.rank(),
                arguments({{"x", image}, {"filters", f}}));
  CAPSTAN_CHECK(image.dim(3) == f.dim(2), ShapeError, "depthwise_conv2d: images have ", image.dim(3),
                " channels, filters take ", f.dim(2), arguments({{"x", image}, {"filters", f}}));
  return conv2d(image, reshape(f, {f.dim(0), f.dim(1), 1, f.dim(2) * f.dim(3)}), strides, std::move(padding),
                dilations);
} catch (const Error&) {
  rethrow_as("depthwise_conv2d");
}

Tensor separable_conv2d(Operand x, Operand depthwise_filters, Operand pointwise_filters,
                        std::array<std::int64_t, 2> strides, Padding padding,
                        std::array<std::int64_t, 2> dilations) try {
  const Tensor points = to_tensor(pointwise_filters);
  const Tensor y = depthwise_conv2d(x, depthwise_filters, strides, std::move(padding), dilations);
  CAPSTAN_CHECK(points.rank() == 4 && points.dim(0) == 1 && points.dim(1) == 1 && points.dim(2) == y.dim(3), ShapeError,
                "separable_conv2d: pointwise filters need the shape [1, 1, ", y.dim(3), ", out], not ", points.shape());
  return conv2d(y, points);
} catch (const Error&) {
  rethrow_as("separable_conv2d");
}

CAPSTAN_OPS(conv_composites, &kConv1D, &kConv1DTranspose, &kConv2DTranspose, &kConv3DTranspose, &kDepthwiseConv2D,
            &kSeparableConv2D);

}  // namespace capstan
