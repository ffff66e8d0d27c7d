// Samples and references of the ops in src/ops/conv/conv_composites.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/conv_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

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

const OpTests kConvCompositesTests = {
    {"conv1d", {.samples = conv1d_samples, .reference = conv1d_reference}},
    {"conv1d_transpose", {.samples = conv1d_transpose_samples, .reference = conv1d_transpose_reference}},
    {"conv2d_transpose", {.samples = conv2d_transpose_samples, .reference = transpose_reference<2>}},
    {"conv3d_transpose", {.samples = conv3d_transpose_samples, .reference = transpose_reference<3>}},
    {"depthwise_conv2d", {.samples = depthwise_samples, .reference = depthwise_reference}},
    {"separable_conv2d", {.samples = separable_samples, .reference = separable_reference}},
};

}  // namespace

}  // namespace capstan::testing
