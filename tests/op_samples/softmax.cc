// Samples and references of the ops in src/ops/nn/softmax.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"
#include "tests/op_samples/softmax_reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> softmax_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {4}}}},
      {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 0}}},
      {.inputs = {{.shape = {3, 1}}}},
      {.inputs = {{.shape = {0, 3}}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range for rank 2"},
      {.inputs = {{.shape = {}}}, .error = "axis -1 is out of range for rank 0"},
  };
}
std::vector<OpSample> softmax_gradient_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 40}}, {.shape = {2, 40}}}},
      {.inputs = {{.shape = {2, 3, 4}}, {.shape = {2, 3, 4}}}, .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {0, 3}}, {.shape = {0, 3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}}, .error = "shapes differ, [2, 3] and [3]"},
      {.inputs = {{.shape = {2}}, {.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "is out of range for rank 1"},
  };
}
void softmax_gradient_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                                std::vector<ReferenceTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  const int axis = reference::axis_or_last(attributes, shape);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t first = at / (inner * shape[axis]) * inner * shape[axis] + at % inner;
    double sum = 0;
    for (std::int64_t k = 0; k < shape[axis]; ++k) {
      const auto j = static_cast<std::size_t>(first + k * inner);
      sum += inputs[0].values[j] * inputs[1].values[j];
    }
    outputs[0].values[i] = inputs[0].values[i] * (inputs[1].values[i] - sum);
  }
}

const OpTests kSoftmaxTests = {
    {"softmax_gradient", {.samples = softmax_gradient_samples, .reference = softmax_gradient_reference}},
    {"softmax", {.samples = softmax_samples, .reference = softmax_reference<false>}},
    {"log_softmax", {.samples = softmax_samples, .reference = softmax_reference<true>}},
};

}  // namespace

}  // namespace capstan::testing
