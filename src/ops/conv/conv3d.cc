// Convolution of images with three axes and its two gradients; see conv_op.h.
#include <array>

#include "src/ops/conv/conv_op.h"
#include "src/ops/family.h"

namespace capstan {

template <>
const OpDef& ConvOps<3>::forward();
template <>
const OpDef& ConvOps<3>::backprop_input();
template <>
const OpDef& ConvOps<3>::backprop_filter();

namespace {

ConvAttributes<3> attributes_of(const std::array<std::int64_t, 3>& strides, const Padding& padding,
                                const std::array<std::int64_t, 3>& dilations) {
  return {strides, pack(padding), dilations};
}

constexpr OpForPrograms kBackpropFilterForPrograms{.cost = backprop_filter_cost<3>};

}  // namespace

constinit const OpDef kConv3D = {
    .name = "conv3d",
    .text = "Three-dimensional convolution of images with filters.",
    .flags = kLinear | kCostlyAgain,
    .inputs = "x, filters",
    .attributes = &attribute_table<ConvAttributes<3>, "strides, padding, dilations">,
    .infer = infer_conv<3>,
    .kernel = run_conv<3>,
    .saves = {.inputs = 3},
    .vjp = vjp_conv<3>,
    .batch = batch_conv<3>,
    .programs = &kConvForPrograms<3>,
};

constinit const OpDef kConv3DBackpropInput = {
    .name = "conv3d_backprop_input",
    .text = "The gradient of conv3d for its images.",
    .flags = kLinear,
    .inputs = "filters, out_backprop",
    .attributes = &kBackpropAttributes<3, "input_sizes">,
    .infer = infer_backprop_input<3>,
    .kernel = run_backprop_input<3>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_input<3>,
    .batch = batch_backprop_input<3>,
    .programs = &kBackpropInputForPrograms<3>,
};

constinit const OpDef kConv3DBackpropFilter = {
    .name = "conv3d_backprop_filter",
    .text = "The gradient of conv3d for its filters.",
    .flags = kLinear,
    .inputs = "x, out_backprop",
    .attributes = &kBackpropAttributes<3, "filter_sizes">,
    .infer = infer_backprop_filter<3>,
    .kernel = run_backprop_filter<3>,
    .saves = {.inputs = 3},
    .vjp = vjp_backprop_filter<3>,
    .batch = batch_backprop_filter<3>,
    .programs = &kBackpropFilterForPrograms,
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
  return same_backprop_input<3>(input_sizes, to_tensor(filters), to_tensor(out_backprop),
                                attributes_of(strides, padding, dilations));
}

Tensor conv3d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                              std::array<std::int64_t, 3> strides, Padding padding,
                              std::array<std::int64_t, 3> dilations) {
  const BackpropAttributes<3> attributes{attributes_of(strides, padding, dilations),
                                         {kConv3DBackpropFilter.name, filter_sizes}};
  return apply(kConv3DBackpropFilter, x, out_backprop, &attributes);
}

CAPSTAN_OPS(conv3d, &kConv3D, &kConv3DBackpropInput, &kConv3DBackpropFilter);

}  // namespace capstan
