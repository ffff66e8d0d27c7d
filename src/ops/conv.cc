// Convolution of images with two axes and its two gradients; see conv_op.h.
#include <array>
#include <cctype>
#include <string>

#include "src/ops/conv_op.h"

namespace capstan {

Padding::Padding(const char* name) : Padding(std::string_view(name)) {}

Padding::Padding(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  CAPSTAN_CHECK(upper == "SAME" || upper == "VALID", ValueError, "padding: padding \"", name,
                "\" is neither \"SAME\" nor \"VALID\"");
  kind = upper == "SAME" ? Kind::kSame : Kind::kValid;
}

Padding::Padding(std::array<std::int64_t, 4> top_bottom_left_right)
    : kind(Kind::kExplicit), pads(top_bottom_left_right) {
  for (std::int64_t pad : pads) CAPSTAN_CHECK(pad >= 0, ValueError, "padding: negative padding ", pad);
}

template <>
const OpDef& ConvOps<2>::forward();
template <>
const OpDef& ConvOps<2>::backprop_input();
template <>
const OpDef& ConvOps<2>::backprop_filter();

namespace {

// --- Samples ---

#if CAPSTAN_TESTING

AttributeValue pair_of(int a, int b) { return {std::vector<AttributeValue>{a, b}}; }
AttributeValue four(int a, int b, int c, int d) { return {std::vector<AttributeValue>{a, b, c, d}}; }

std::vector<OpSample> conv_samples() {
  const AttributeValue pads(std::vector<AttributeValue>{pair_of(0, 0), pair_of(1, 0), pair_of(0, 2), pair_of(0, 0)});
  return {
      {.inputs = {{.shape = {1, 4, 4, 2}}, {.shape = {3, 3, 2, 2}}}},
      {.inputs = {{.shape = {2, 4, 3, 1}}, {.shape = {2, 2, 1, 2}}},
       .attributes = {{"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 5, 4, 1}}, {.shape = {3, 2, 1, 3}}}, .attributes = {{"strides", pair_of(2, 1)}}},
      {.inputs = {{.shape = {1, 3, 4, 1}}, {.shape = {2, 2, 1, 2}}}, .attributes = {{"padding", pads}}},
      {.inputs = {{.shape = {0, 3, 3, 1}}, {.shape = {2, 2, 1, 1}}}},
      // Dilations: general and depthwise.
      {.inputs = {{.shape = {1, 5, 6, 2}}, {.shape = {2, 3, 2, 2}}}, .attributes = {{"dilations", 2}}},
      {.inputs = {{.shape = {2, 4, 5, 3}}, {.shape = {2, 2, 1, 3}}},
       .attributes = {{"dilations", pair_of(1, 2)}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 3, 2}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"strides", 2}, {"dilations", pair_of(2, 1)}, {"padding", "SAME"}}},
      // Groups: of two channels, and of one with one and two filters each.
      {.inputs = {{.shape = {2, 3, 3, 4}}, {.shape = {2, 2, 2, 4}}}},
      {.inputs = {{.shape = {1, 4, 9, 3}}, {.shape = {3, 3, 1, 3}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 3, 5, 2}}, {.shape = {2, 2, 1, 4}}},
       .attributes = {{"strides", pair_of(1, 2)}, {"padding", pads}}},
      {.inputs = {{.shape = {1, 3, 2, 4}}, {.shape = {1, 1, 2, 2}}}},
      // The window exceeds the image.
      {.inputs = {{.shape = {1, 2, 2, 1}}, {.shape = {3, 3, 1, 1}}}},
      {.inputs = {{.shape = {1, 2, 2, 2}}, {.shape = {2, 2, 1, 2}}}, .attributes = {{"dilations", 3}}},
      // For every item: with filters of its own, with its own filters alone, depthwise, with its own images alone.
      {.inputs = {{.shape = {2, 2, 3, 3, 2}}, {.shape = {2, 2, 2, 2, 1}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 3, 2}}, {.shape = {3, 2, 2, 2, 2}}}, .attributes = {{"strides", 2}}},
      {.inputs = {{.shape = {2, 1, 3, 3, 2}}, {.shape = {2, 2, 2, 1, 2}}}},
      {.inputs = {{.shape = {2, 1, 3, 3, 1}}, {.shape = {2, 2, 1, 1}}}},
      {.inputs = {{.shape = {2, 1, 3, 3, 1}}, {.shape = {3, 2, 2, 1, 1}}},
       .error = "the first axes differ, 2 and 3 items"},
      {.inputs = {{.shape = {1, 4, 4, 3}}, {.shape = {2, 2, 2, 1}}}, .error = "images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {1, 4, 4, 4}}, {.shape = {2, 2, 2, 3}}}, .error = "3 filters do not divide into 2 groups"},
      {.inputs = {{.shape = {4, 3}}, {.shape = {2, 2, 3, 1}}}, .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"strides", 0}},
       .error = "strides must be 1 or more, not 0 and 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"padding", "FULL"}},
       .error = "\"FULL\" is neither \"SAME\" nor \"VALID\""},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"dilations", pair_of(1, 0)}},
       .error = "dilations must be 1 or more, not 1 and 0"},
  };
}
std::vector<OpSample> backprop_input_samples() {
  return {
      {.inputs = {{.shape = {2, 2, 1, 2}}, {.shape = {1, 3, 3, 2}}}, .attributes = {{"input_sizes", four(1, 4, 4, 1)}}},
      {.inputs = {{.shape = {3, 3, 2, 1}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"input_sizes", four(2, 4, 3, 2)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 2, 1}}, {.shape = {1, 2, 3, 1}}},
       .attributes = {{"input_sizes", four(1, 4, 5, 2)}, {"dilations", 2}}},
      {.inputs = {{.shape = {2, 2, 2, 2}}, {.shape = {1, 2, 1, 2}}}, .attributes = {{"input_sizes", four(1, 3, 2, 4)}}},
      {.inputs = {{.shape = {2, 2, 1, 4}}, {.shape = {2, 2, 2, 4}}},
       .attributes = {{"input_sizes", four(2, 4, 3, 2)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 2}}, {.shape = {2, 1, 2, 2, 2}}},
       .attributes = {{"input_sizes", four(1, 3, 3, 1)}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 2}}, {.shape = {1, 2, 2, 2}}},
       .attributes = {{"input_sizes", four(1, 3, 3, 1)}}},
      {.inputs = {{.shape = {2, 2, 1, 1}}, {.shape = {1, 2, 2, 1}}},
       .attributes = {{"input_sizes", four(1, 4, 4, 1)}},
       .error = "out_backprop has shape [1, 2, 2, 1] where [1, 3, 3, 1] is expected"},
  };
}
std::vector<OpSample> backprop_filter_samples() {
  return {
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 2}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 2)}}},
      {.inputs = {{.shape = {2, 4, 3, 2}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"filter_sizes", four(3, 3, 2, 1)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 5, 2}}, {.shape = {1, 2, 3, 1}}},
       .attributes = {{"filter_sizes", four(2, 2, 2, 1)}, {"dilations", 2}}},
      {.inputs = {{.shape = {1, 3, 2, 4}}, {.shape = {1, 2, 1, 2}}},
       .attributes = {{"filter_sizes", four(2, 2, 2, 2)}}},
      {.inputs = {{.shape = {2, 4, 3, 2}}, {.shape = {2, 2, 2, 4}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 4)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 3, 3, 1}}, {.shape = {2, 2, 2, 2, 2}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 2)}}},
      {.inputs = {{.shape = {1, 3, 3, 2}}, {.shape = {3, 1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", four(2, 2, 2, 1)}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 1)}},
       .error = "out_backprop has shape [1, 2, 2, 1] where [1, 3, 3, 1] is expected"},
  };
}

const OpTest kConv2DTest = {.samples = conv_samples, .reference = by_items<2, conv_reference<2>>};
const OpTest kConv2DBackpropInputTest = {.samples = backprop_input_samples,
                                         .reference = by_items<2, backprop_input_reference<2>>};
const OpTest kConv2DBackpropFilterTest = {.samples = backprop_filter_samples,
                                          .reference = by_items<2, backprop_filter_reference<2>>};

#endif

constexpr AttributeType kBackpropInputAttributes = backprop_attributes<2>("input_sizes");
constexpr AttributeType kBackpropFilterAttributes = backprop_attributes<2>("filter_sizes");

ConvAttributes<2> attributes_of(const std::array<std::int64_t, 2>& strides, const Padding& padding,
                                const std::array<std::int64_t, 2>& dilations) {
  return {strides, pack(padding), dilations};
}

}  // namespace

constinit const OpDef kConv2D = {
    .name = "conv2d",
    .text = "Two-dimensional convolution of images with filters.",
    .flags = kLinear | kCostlyAgain | kFinishesRows,
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kConvAttributes<2>,
    .infer = infer_conv<2>,
    .kernel = run_conv<2>,
    .saves = {.inputs = 3},
    .vjp = vjp_conv<2>,
    .batch = batch_conv<2>,
    .test = CAPSTAN_OP_TEST(kConv2DTest),
};

constinit const OpDef kConv2DBackpropInput = {
    .name = "conv2d_backprop_input",
    .text = "The gradient of conv2d for its images.",
    .flags = kLinear | kCostlyAgain | kFinishesRows,
    .arity = 2,
    .input_names = "filters, out_backprop",
    .attributes = &kBackpropInputAttributes,
    .infer = infer_backprop_input<2>,
    .kernel = run_backprop_input<2>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_input<2>,
    .batch = batch_backprop_input<2>,
    .test = CAPSTAN_OP_TEST(kConv2DBackpropInputTest),
};

constinit const OpDef kConv2DBackpropFilter = {
    .name = "conv2d_backprop_filter",
    .text = "The gradient of conv2d for its filters.",
    .flags = kLinear | kCostlyAgain,
    .arity = 2,
    .input_names = "x, out_backprop",
    .attributes = &kBackpropFilterAttributes,
    .infer = infer_backprop_filter<2>,
    .kernel = run_backprop_filter<2>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_filter<2>,
    .batch = batch_backprop_filter<2>,
    .test = CAPSTAN_OP_TEST(kConv2DBackpropFilterTest),
};

template <>
const OpDef& ConvOps<2>::forward() {
  return kConv2D;
}
template <>
const OpDef& ConvOps<2>::backprop_input() {
  return kConv2DBackpropInput;
}
template <>
const OpDef& ConvOps<2>::backprop_filter() {
  return kConv2DBackpropFilter;
}

Tensor conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides, Padding padding,
              std::array<std::int64_t, 2> dilations) {
  const ConvAttributes<2> attributes = attributes_of(strides, padding, dilations);
  return apply(kConv2D, x, filters, &attributes);
}

Tensor conv2d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                             std::array<std::int64_t, 2> strides, Padding padding,
                             std::array<std::int64_t, 2> dilations) {
  const BackpropAttributes<2> attributes{attributes_of(strides, padding, dilations),
                                         {kConv2DBackpropInput.name, input_sizes}};
  return apply(kConv2DBackpropInput, filters, out_backprop, &attributes);
}

Tensor conv2d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                              std::array<std::int64_t, 2> strides, Padding padding,
                              std::array<std::int64_t, 2> dilations) {
  const BackpropAttributes<2> attributes{attributes_of(strides, padding, dilations),
                                         {kConv2DBackpropFilter.name, filter_sizes}};
  return apply(kConv2DBackpropFilter, x, out_backprop, &attributes);
}

OpFamily conv_ops() {
  static constexpr const OpDef* ops[] = {&kConv2D, &kConv2DBackpropInput, &kConv2DBackpropFilter};
  return ops;
}

}  // namespace capstan
