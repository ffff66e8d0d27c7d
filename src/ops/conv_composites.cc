// Convolutions that are others in disguise: with one axis, transposed, depthwise, separable.
//
// A signal is an image of one row. A transposed convolution is the image gradient of a convolution. A depthwise one has
// as many groups as channels: its filter [height, width, channels, multiplier] lies in memory as conv2d wants
// [height, width, 1, channels * multiplier]. So all of them run on the kernels of conv2d and conv3d.
#include <array>
#include <optional>
#include <vector>

#include "capstan/ops/array.h"
#include "src/ops/conv_op.h"
#include "src/core/named_errors.h"
#include "src/ops/reference.h"

namespace capstan {

namespace {

struct SignalAttributes {
  PerAxis<1> stride;
  PackedPadding padding;
  PerAxis<1> dilations;
};
constexpr AttributeType kSignalAttributes = attribute_type<SignalAttributes>(
    {field<&SignalAttributes::stride>("stride"), field<&SignalAttributes::padding>("padding"),
     field<&SignalAttributes::dilations>("dilations")});

template <int R>
struct TransposeAttributes {
  ExactLengths<R + 2> output_shape;
  PerAxis<R> strides;
  PackedPadding padding{.kind = Padding::Kind::kSame};
  PerAxis<R> dilations;
};
template <int R>
constexpr AttributeType kTransposeAttributes = attribute_type<TransposeAttributes<R>>(
    {field<&TransposeAttributes<R>::output_shape>("output_shape", true),
     field<&TransposeAttributes<R>::strides>("strides"), field<&TransposeAttributes<R>::padding>("padding"),
     field<&TransposeAttributes<R>::dilations>("dilations")});

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

// --- Samples and references ---

#if CAPSTAN_TESTING

using reference::ints;

ReferenceTensor reshaped(ReferenceTensor x, const Shape& shape) {
  x.shape = shape;
  return x;
}
AttributeValue row_of(const AttributeMap& attributes, const char* name) {
  const auto found = attributes.find(name);
  return ints({1, found == attributes.end() ? 1 : static_cast<int>(found->second.integer)});
}
AttributeMap image_attributes(const AttributeMap& attributes, const char* stride, const char* padding) {
  AttributeMap image{{"strides", row_of(attributes, stride)}, {"dilations", row_of(attributes, "dilations")}};
  image["padding"] = attributes.contains("padding") ? attributes.at("padding") : AttributeValue(padding);
  return image;
}

std::vector<OpSample> conv1d_samples() {
  return {
      {.inputs = {{.shape = {2, 5, 2}}, {.shape = {3, 2, 3}}}},
      {.inputs = {{.shape = {1, 6, 2}}, {.shape = {2, 2, 2}}}, .attributes = {{"stride", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 7, 4}}, {.shape = {3, 2, 2}}}, .attributes = {{"dilations", 2}}},
      {.inputs = {{.shape = {1, 2, 1}}, {.shape = {3, 1, 1}}}},
      {.inputs = {{.shape = {1, 4, 3}}, {.shape = {2, 2, 1}}},
       .error = "conv1d: images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {4, 3}}, {.shape = {2, 3, 1}}}, .error = "conv1d: signals need rank 3"},
      {.inputs = {{.shape = {1, 4, 3}}, {.shape = {2, 3}}}, .error = "conv1d: filters need rank 3"},
  };
}
void conv1d_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  const Shape x = inputs[0].shape;
  const Shape f = inputs[1].shape;
  conv_reference<2>({reshaped(inputs[0], {x[0], 1, x[1], x[2]}), reshaped(inputs[1], {1, f[0], f[1], f[2]})},
                    image_attributes(attributes, "stride", "VALID"), outputs);
  const Shape y = outputs[0].shape;
  outputs[0].shape = {y[0], y[2], y[3]};
}
const OpTest kConv1DTest = {.samples = conv1d_samples, .reference = conv1d_reference};

std::vector<OpSample> conv1d_transpose_samples() {
  return {
      {.inputs = {{.shape = {2, 3, 2}}, {.shape = {3, 1, 2}}},
       .attributes = {{"output_shape", ints({2, 5, 1})}, {"strides", 2}}},
      {.inputs = {{.shape = {1, 3, 1}}, {.shape = {2, 2, 1}}},
       .attributes = {{"output_shape", ints({1, 5, 2})}, {"padding", "VALID"}, {"dilations", 2}}},
      {.inputs = {{.shape = {1, 3, 1}}, {.shape = {2, 2, 1}}},
       .attributes = {{"output_shape", ints({1, 9, 2})}},
       .error = "conv1d_transpose: out_backprop has shape [1, 1, 3, 1] where [1, 1, 9, 1] is expected"},
      {.inputs = {{.shape = {3, 1}}, {.shape = {2, 2, 1}}},
       .attributes = {{"output_shape", ints({1, 9, 2})}},
       .error = "conv1d_transpose: signals need rank 3"},
  };
}
void conv1d_transpose_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                                std::vector<ReferenceTensor>& outputs) {
  const Shape x = inputs[0].shape;
  const Shape f = inputs[1].shape;
  AttributeMap image = image_attributes(attributes, "strides", "SAME");
  const std::vector<std::int64_t> y = reference::integers(attributes, "output_shape");
  image["input_sizes"] = ints({static_cast<int>(y[0]), 1, static_cast<int>(y[1]), static_cast<int>(y[2])});
  backprop_input_reference<2>({reshaped(inputs[1], {1, f[0], f[1], f[2]}), reshaped(inputs[0], {x[0], 1, x[1], x[2]})},
                              image, outputs);
  outputs[0].shape = Shape(y);
}
const OpTest kConv1DTransposeTest = {.samples = conv1d_transpose_samples, .reference = conv1d_transpose_reference};

std::vector<OpSample> conv2d_transpose_samples() {
  return {
      {.inputs = {{.shape = {1, 2, 2, 2}}, {.shape = {3, 3, 1, 2}}},
       .attributes = {{"output_shape", ints({1, 4, 3, 1})}, {"strides", 2}}},
      {.inputs = {{.shape = {1, 3, 3, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"output_shape", ints({1, 5, 5, 1})}, {"padding", "VALID"}, {"dilations", 2}}},
      {.inputs = {{.shape = {1, 2, 2, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"output_shape", ints({1, 9, 9, 1})}, {"strides", 2}},
       .error = "conv2d_transpose: out_backprop has shape [1, 2, 2, 1] where [1, 5, 5, 1] is expected"},
      {.inputs = {{.shape = {1, 2, 2, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"output_shape", ints({9, 9, 1})}},
       .error = "conv2d_transpose: the result needs 4 lengths, not [9, 9, 1]"},
  };
}
std::vector<OpSample> conv3d_transpose_samples() {
  return {
      {.inputs = {{.shape = {1, 1, 2, 2, 1}}, {.shape = {2, 2, 2, 1, 1}}},
       .attributes = {{"output_shape", ints({1, 2, 4, 2, 1})}, {"strides", ints({2, 2, 1})}}},
      {.inputs = {{.shape = {1, 2, 2, 1, 2}}, {.shape = {2, 1, 2, 2, 2}}},
       .attributes = {{"output_shape", ints({1, 3, 2, 2, 2})}, {"padding", "VALID"}}},
      {.inputs = {{.shape = {1, 2, 2, 1, 2}}, {.shape = {2, 1, 2, 2, 2}}},
       .attributes = {{"output_shape", ints({1, 3, 2, 2, 2})}, {"strides", 0}},
       .error = "conv3d_transpose: strides must be 1 or more, not 0, 0 and 0"},
  };
}
template <int R>
void transpose_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  AttributeMap renamed = attributes;
  renamed["input_sizes"] = attributes.at("output_shape");
  renamed.emplace("padding", "SAME");
  backprop_input_reference<R>({inputs[1], inputs[0]}, renamed, outputs);
}
const OpTest kConv2DTransposeTest = {.samples = conv2d_transpose_samples, .reference = transpose_reference<2>};
const OpTest kConv3DTransposeTest = {.samples = conv3d_transpose_samples, .reference = transpose_reference<3>};

std::vector<OpSample> depthwise_samples() {
  return {
      {.inputs = {{.shape = {1, 3, 3, 2}}, {.shape = {2, 2, 2, 1}}}},
      {.inputs = {{.shape = {2, 3, 6, 2}}, {.shape = {3, 3, 2, 2}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 5, 4, 1}}, {.shape = {2, 2, 1, 3}}}, .attributes = {{"strides", 2}}},
      {.inputs = {{.shape = {1, 4, 8, 3}}, {.shape = {2, 2, 3, 1}}},
       .attributes = {{"padding", "SAME"}, {"dilations", ints({2, 2})}}},
      {.inputs = {{.shape = {1, 4, 4, 3}}, {.shape = {2, 2, 2, 1}}},
       .error = "depthwise_conv2d: images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {1, 4, 4, 3}}, {.shape = {2, 2, 3}}}, .error = "depthwise_conv2d: filters need rank 4"},
  };
}
void depthwise_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  const Shape f = inputs[1].shape;
  conv_reference<2>({inputs[0], reshaped(inputs[1], {f[0], f[1], 1, f[2] * f[3]})}, attributes, outputs);
}
const OpTest kDepthwiseConv2DTest = {.samples = depthwise_samples, .reference = depthwise_reference};

std::vector<OpSample> separable_samples() {
  return {
      {.inputs = {{.shape = {1, 3, 3, 2}}, {.shape = {2, 2, 2, 1}}, {.shape = {1, 1, 2, 3}}},
       .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 2}}, {.shape = {1, 1, 2, 2}}},
       .attributes = {{"strides", 2}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 2}}, {.shape = {1, 1, 1, 2}}},
       .error = "separable_conv2d: pointwise filters need the shape [1, 1, 2, out], not [1, 1, 1, 2]"},
  };
}
void separable_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  depthwise_reference({inputs[0], inputs[1]}, attributes, outputs);
  const std::vector<ReferenceTensor> pointwise = {outputs[0], inputs[2]};
  conv_reference<2>(pointwise, {}, outputs);
}
const OpTest kSeparableConv2DTest = {.samples = separable_samples, .reference = separable_reference};

#endif

}  // namespace

constinit const OpDef kConv1D = {
    .name = "conv1d",
    .text = "Convolution of signals with filters.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kSignalAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const SignalAttributes*>(attributes);
          outputs.push_back(conv1d(inputs[0], inputs[1], a.stride.at[0], unpack(a.padding), a.dilations.at[0]));
        },
    .test = CAPSTAN_OP_TEST(kConv1DTest),
};

constinit const OpDef kConv1DTranspose = {
    .name = "conv1d_transpose",
    .text = "The transpose of conv1d: signals from what a convolution makes of them.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kTransposeAttributes<1>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const TransposeAttributes<1>*>(attributes);
          outputs.push_back(conv1d_transpose(inputs[0], inputs[1], a.output_shape.shape(), a.strides.at[0],
                                             unpack(a.padding), a.dilations.at[0]));
        },
    .test = CAPSTAN_OP_TEST(kConv1DTransposeTest),
};

constinit const OpDef kConv2DTranspose = {
    .name = "conv2d_transpose",
    .text = "The transpose of conv2d: images from what a convolution makes of them.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kTransposeAttributes<2>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const TransposeAttributes<2>*>(attributes);
          outputs.push_back(conv2d_transpose(inputs[0], inputs[1], a.output_shape.shape(), a.strides.numbers(),
                                             unpack(a.padding), a.dilations.numbers()));
        },
    .test = CAPSTAN_OP_TEST(kConv2DTransposeTest),
};

constinit const OpDef kConv3DTranspose = {
    .name = "conv3d_transpose",
    .text = "The transpose of conv3d: images from what a convolution makes of them.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kTransposeAttributes<3>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const TransposeAttributes<3>*>(attributes);
          outputs.push_back(conv3d_transpose(inputs[0], inputs[1], a.output_shape.shape(), a.strides.numbers(),
                                             unpack(a.padding), a.dilations.numbers()));
        },
    .test = CAPSTAN_OP_TEST(kConv3DTransposeTest),
};

constinit const OpDef kDepthwiseConv2D = {
    .name = "depthwise_conv2d",
    .text = "Convolution of every channel of an image with filters of its own.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kConvAttributes<2>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const ConvAttributes<2>*>(attributes);
          outputs.push_back(
              depthwise_conv2d(inputs[0], inputs[1], a.strides.numbers(), unpack(a.padding), a.dilations.numbers()));
        },
    .test = CAPSTAN_OP_TEST(kDepthwiseConv2DTest),
};

constinit const OpDef kSeparableConv2D = {
    .name = "separable_conv2d",
    .text = "A depthwise convolution, then one that mixes the channels of each pixel.",
    .kind = OpKind::kComposite,
    .arity = 3,
    .input_names = "x, depthwise_filters, pointwise_filters",
    .attributes = &kConvAttributes<2>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const ConvAttributes<2>*>(attributes);
          outputs.push_back(separable_conv2d(inputs[0], inputs[1], inputs[2], a.strides.numbers(), unpack(a.padding),
                                             a.dilations.numbers()));
        },
    .test = CAPSTAN_OP_TEST(kSeparableConv2DTest),
};

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

OpFamily conv_composite_ops() {
  static constexpr const OpDef* ops[] = {&kConv1D,          &kConv1DTranspose, &kConv2DTranspose,
                                         &kConv3DTranspose, &kDepthwiseConv2D, &kSeparableConv2D};
  return ops;
}

}  // namespace capstan
