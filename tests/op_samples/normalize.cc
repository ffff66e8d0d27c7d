// Samples and references of the ops in src/ops/nn/normalize.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/normalize_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> moments_samples() {
  return {
      {.inputs = {{.shape = {4}}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {3, 2}}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {3, 2}}}, .attributes = {{"axes", std::vector<AttributeValue>{0}}, {"keepdims", true}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axes", 2}}, .error = "axis 2 is out of range for rank 2"},
  };
}
void moments_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  // All samples reduce the first axis.
  ReferenceTensor columns = inputs[0];
  Shape shape;
  if (attributes.contains("keepdims")) shape.push_back(1);
  if (inputs[0].shape.rank() == 2) {
    shape.push_back(inputs[0].shape[1]);
  } else {
    columns.shape = {inputs[0].shape[0], 1};
  }
  const reference::ChannelMoments m = reference::moments_of(columns);
  outputs = {{.dtype = inputs[0].dtype, .shape = shape, .values = m.mean},
             {.dtype = inputs[0].dtype, .shape = shape, .values = m.variance}};
}
std::vector<OpSample> normalization_samples() {
  const SampleInput variance{.shape = {3}, .domain = {0.5, 2}};
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}, variance, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"variance_epsilon", 0.01}}},
      {.inputs = {{.shape = {2, 2, 3}}, {.shape = {3}}, variance, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"variance_epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 2}}, {.shape = {3}}, variance, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"variance_epsilon", 0.1}},
       .error = "shapes do not broadcast"},
  };
}
void normalization_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                             std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "variance_epsilon", 0);
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const std::size_t c = i % 3;
    outputs[0].values[i] =
        (inputs[0].values[i] - inputs[1].values[c]) / std::sqrt(inputs[2].values[c] + epsilon) * inputs[4].values[c] +
        inputs[3].values[c];
  }
}

const OpTests kNormalizeTests = {
    {"moments", {.samples = moments_samples, .reference = moments_reference}},
    {"batch_normalization", {.samples = normalization_samples, .reference = normalization_reference}},
};

}  // namespace

}  // namespace capstan::testing
