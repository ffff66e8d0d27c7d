// Convolution of images with two axes and its two gradients; see conv_op.h.
#include <array>
#include <cctype>
#include <string>

#include "src/ops/conv/conv_op.h"
#include "src/ops/family.h"

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

ConvAttributes<2> attributes_of(const std::array<std::int64_t, 2>& strides, const Padding& padding,
                                const std::array<std::int64_t, 2>& dilations) {
  return {strides, pack(padding), dilations};
}

// A sum over the examples, of which those with zeros add nothing.
std::optional<ExampleStep> filter_gradient_of_example(const ExampleCall& call) {
  if (!call.is_row(1) || !call.is_same(0) || call.inputs[0].rank() != 4 || call.inputs[1].rank() != 4) {
    return std::nullopt;
  }
  return ExampleStep{.cut = 0b01, .result = Examples::kFull};
}
constexpr OpForPrograms kBackpropFilterForPrograms{.cost = backprop_filter_cost<2>,
                                                   .example = filter_gradient_of_example};

}  // namespace

constinit const OpDef kConv2D = {
    .name = "conv2d",
    .text = "Two-dimensional convolution of images with filters.",
    .flags = kLinear | kCostlyAgain | kFinishesRows,
    .inputs = "x, filters",
    .attributes = &attribute_table<ConvAttributes<2>, "strides, padding, dilations">,
    .infer = infer_conv<2>,
    .kernel = run_conv<2>,
    .saves = {.inputs = 3},
    .vjp = vjp_conv<2>,
    .batch = batch_conv<2>,
    .programs = &kConvForPrograms<2>,
};

constinit const OpDef kConv2DBackpropInput = {
    .name = "conv2d_backprop_input",
    .text = "The gradient of conv2d for its images.",
    .flags = kLinear | kCostlyAgain | kFinishesRows,
    .inputs = "filters, out_backprop",
    .attributes = &kBackpropAttributes<2, "input_sizes">,
    .infer = infer_backprop_input<2>,
    .kernel = run_backprop_input<2>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_input<2>,
    .batch = batch_backprop_input<2>,
    .programs = &kBackpropInputForPrograms<2>,
};

constinit const OpDef kConv2DBackpropFilter = {
    .name = "conv2d_backprop_filter",
    .text = "The gradient of conv2d for its filters.",
    .flags = kLinear | kCostlyAgain,
    .inputs = "x, out_backprop",
    .attributes = &kBackpropAttributes<2, "filter_sizes">,
    .infer = infer_backprop_filter<2>,
    .kernel = run_backprop_filter<2>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_filter<2>,
    .batch = batch_backprop_filter<2>,
    .programs = &kBackpropFilterForPrograms,
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
  return same_backprop_input<2>(input_sizes, to_tensor(filters), to_tensor(out_backprop),
                                attributes_of(strides, padding, dilations));
}

Tensor conv2d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                              std::array<std::int64_t, 2> strides, Padding padding,
                              std::array<std::int64_t, 2> dilations) {
  const BackpropAttributes<2> attributes{attributes_of(strides, padding, dilations),
                                         {kConv2DBackpropFilter.name, filter_sizes}};
  return apply(kConv2DBackpropFilter, x, out_backprop, &attributes);
}

CAPSTAN_OPS(conv, &kConv2D, &kConv2DBackpropInput, &kConv2DBackpropFilter);

}  // namespace capstan
