// Convolution of images with three axes and its two gradients; see conv_op.h.
#include <array>

#include "src/ops/conv_op.h"
#include "src/ops/reference.h"

namespace capstan {

template <>
const OpDef& ConvOps<3>::forward();
template <>
const OpDef& ConvOps<3>::backprop_input();
template <>
const OpDef& ConvOps<3>::backprop_filter();

namespace {

// --- Samples ---

#if CAPSTAN_TESTING

using reference::ints;

std::vector<OpSample> conv_samples() {
  return {
      {.inputs = {{.shape = {1, 2, 3, 3, 1}}, {.shape = {2, 2, 2, 1, 2}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 3, 2, 3, 2}}, {.shape = {2, 1, 2, 2, 1}}}},
      {.inputs = {{.shape = {1, 4, 3, 3, 1}}, {.shape = {2, 2, 2, 1, 1}}},
       .attributes = {{"strides", ints({2, 1, 2})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 3, 3, 4, 1}}, {.shape = {2, 2, 2, 1, 1}}},
       .attributes = {{"dilations", ints({1, 2, 1})}}},
      {.inputs = {{.shape = {1, 2, 2, 3, 4}}, {.shape = {1, 2, 2, 2, 2}}}},
      {.inputs = {{.shape = {1, 2, 2, 2, 2}}, {.shape = {2, 2, 1, 1, 2}}}},
      // A window of one in depth: the planes are a longer batch.
      {.inputs = {{.shape = {2, 2, 3, 2, 1}}, {.shape = {1, 2, 2, 1, 2}}}},
      {.inputs = {{.shape = {0, 2, 2, 2, 1}}, {.shape = {2, 2, 2, 1, 1}}}},
      {.inputs = {{.shape = {1, 1, 2, 2, 1}}, {.shape = {2, 2, 2, 1, 1}}}},
      // For every item, with filters of its own.
      {.inputs = {{.shape = {2, 1, 2, 2, 3, 1}}, {.shape = {2, 2, 1, 2, 1, 2}}}},
      {.inputs = {{.shape = {1, 2, 2, 2, 3}}, {.shape = {1, 1, 1, 2, 1}}},
       .error = "images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {2, 2, 2, 1}}, {.shape = {1, 1, 1, 1, 1}}}, .error = "images need rank 5"},
      {.inputs = {{.shape = {1, 2, 2, 2, 1}}, {.shape = {1, 1, 0, 1, 1}}},
       .error = "filters need a length along every axis"},
      {.inputs = {{.shape = {1, 2, 2, 2, 1}}, {.shape = {1, 1, 1, 1, 1}}},
       .attributes = {{"strides", ints({1, 0, 1})}},
       .error = "strides must be 1 or more, not 1, 0 and 1"},
  };
}
std::vector<OpSample> backprop_input_samples() {
  return {
      {.inputs = {{.shape = {2, 2, 2, 1, 2}}, {.shape = {1, 1, 2, 1, 2}}},
       .attributes = {{"input_sizes", ints({1, 2, 3, 2, 1})}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 1}}, {.shape = {1, 1, 2, 2, 1}}},
       .attributes = {{"input_sizes", ints({1, 2, 4, 2, 1})}, {"strides", ints({2, 2, 1})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 1, 2, 1, 2}}, {.shape = {2, 1, 1, 2, 2, 2}}},
       .attributes = {{"input_sizes", ints({1, 2, 2, 3, 1})}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 1}}, {.shape = {1, 2, 2, 2, 1}}},
       .attributes = {{"input_sizes", ints({1, 9, 9, 9, 1})}, {"strides", 2}},
       .error = "out_backprop has shape [1, 2, 2, 2, 1] where [1, 4, 4, 4, 1] is expected"},
  };
}
std::vector<OpSample> backprop_filter_samples() {
  return {
      {.inputs = {{.shape = {1, 2, 3, 2, 2}}, {.shape = {1, 1, 2, 1, 1}}},
       .attributes = {{"filter_sizes", ints({2, 2, 2, 2, 1})}}},
      {.inputs = {{.shape = {1, 2, 4, 2, 1}}, {.shape = {1, 1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", ints({2, 2, 2, 1, 1})}, {"strides", ints({2, 2, 1})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 1, 2, 2, 3, 1}}, {.shape = {2, 1, 1, 2, 2, 2}}},
       .attributes = {{"filter_sizes", ints({2, 1, 2, 1, 2})}}},
      {.inputs = {{.shape = {1, 2, 3, 2, 1}}, {.shape = {1, 1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", ints({2, 2, 2, 1, 1})}},
       .error = "out_backprop has shape [1, 1, 2, 2, 1] where [1, 1, 2, 1, 1] is expected"},
  };
}

const OpTest kConv3DTest = {.samples = conv_samples, .reference = by_items<3, conv_reference<3>>};
const OpTest kConv3DBackpropInputTest = {.samples = backprop_input_samples,
                                         .reference = by_items<3, backprop_input_reference<3>>};
const OpTest kConv3DBackpropFilterTest = {.samples = backprop_filter_samples,
                                          .reference = by_items<3, backprop_filter_reference<3>>};

#endif

constexpr AttributeType kBackpropInputAttributes = backprop_attributes<3>("input_sizes");
constexpr AttributeType kBackpropFilterAttributes = backprop_attributes<3>("filter_sizes");

ConvAttributes<3> attributes_of(const std::array<std::int64_t, 3>& strides, const Padding& padding,
                                const std::array<std::int64_t, 3>& dilations) {
  return {strides, pack(padding), dilations};
}

}  // namespace

constinit const OpDef kConv3D = {
    .name = "conv3d",
    .text = "Three-dimensional convolution of images with filters.",
    .flags = kLinear | kCostlyAgain,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kConvAttributes<3>,
    .infer = infer_conv<3>,
    .kernel = run_conv<3>,
    .saves = {.inputs = 3},
    .vjp = vjp_conv<3>,
    .batch = batch_conv<3>,
    .test = CAPSTAN_OP_TEST(kConv3DTest),
};

constinit const OpDef kConv3DBackpropInput = {
    .name = "conv3d_backprop_input",
    .text = "The gradient of conv3d for its images.",
    .flags = kLinear,
    .arity = 2,
    .input_names = "filters, out_backprop",
    .attributes = &kBackpropInputAttributes,
    .infer = infer_backprop_input<3>,
    .kernel = run_backprop_input<3>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_input<3>,
    .batch = batch_backprop_input<3>,
    .test = CAPSTAN_OP_TEST(kConv3DBackpropInputTest),
};

constinit const OpDef kConv3DBackpropFilter = {
    .name = "conv3d_backprop_filter",
    .text = "The gradient of conv3d for its filters.",
    .flags = kLinear,
    .arity = 2,
    .input_names = "x, out_backprop",
    .attributes = &kBackpropFilterAttributes,
    .infer = infer_backprop_filter<3>,
    .kernel = run_backprop_filter<3>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_filter<3>,
    .batch = batch_backprop_filter<3>,
    .test = CAPSTAN_OP_TEST(kConv3DBackpropFilterTest),
};

template <>
const OpDef& ConvOps<3>::forward() {
  return kConv3D;
}
template <>
const OpDef& ConvOps<3>::backprop_input() {
  return kConv3DBackpropInput;
}
template <>
const OpDef& ConvOps<3>::backprop_filter() {
  return kConv3DBackpropFilter;
}

Tensor conv3d(Operand x, Operand filters, std::array<std::int64_t, 3> strides, Padding padding,
              std::array<std::int64_t, 3> dilations) {
  const ConvAttributes<3> attributes = attributes_of(strides, padding, dilations);
  return apply(kConv3D, x, filters, &attributes);
}

Tensor conv3d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                             std::array<std::int64_t, 3> strides, Padding padding,
                             std::array<std::int64_t, 3> dilations) {
  const BackpropAttributes<3> attributes{attributes_of(strides, padding, dilations),
                                         {kConv3DBackpropInput.name, input_sizes}};
  return apply(kConv3DBackpropInput, filters, out_backprop, &attributes);
}

Tensor conv3d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                              std::array<std::int64_t, 3> strides, Padding padding,
                              std::array<std::int64_t, 3> dilations) {
  const BackpropAttributes<3> attributes{attributes_of(strides, padding, dilations),
                                         {kConv3DBackpropFilter.name, filter_sizes}};
  return apply(kConv3DBackpropFilter, x, out_backprop, &attributes);
}

OpFamily conv3d_ops() {
  static constexpr const OpDef* ops[] = {&kConv3D, &kConv3DBackpropInput, &kConv3DBackpropFilter};
  return ops;
}

}  // namespace capstan
