// Samples and references of the ops in src/ops/nn/cross_entropy.cc.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/softmax_reference.h"

namespace capstan::testing {

namespace {

// Labels that sum to one. They are not varied: off that plane the gradient for the logits is a
// convention and no derivative. loss_test.cc has their gradients.
SampleInput label_rows(Shape shape) {
  SampleInput input{.shape = shape, .differentiable = false};
  const std::int64_t classes = shape[-1];
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const std::int64_t place = (i + i / classes) % classes;
    const double total = static_cast<double>(classes * (classes + 1)) / 2;
    input.values.push_back(static_cast<double>(place + 1) / total);
  }
  return input;
}
std::vector<OpSample> pair_samples() {
  return {
      {.inputs = {label_rows({2, 3}), {.shape = {2, 3}}}},
      {.inputs = {label_rows({4}), {.shape = {4}}}},
      {.inputs = {label_rows({2, 2, 3}), {.shape = {2, 2, 3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 4}}}, .error = "[2, 3] and"},
      {.inputs = {{.shape = {}}, {.shape = {}}}, .error = "logits need rank 1 or more"},
  };
}
// Without the last axis.
Shape rows_of(const Shape& shape) { return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 1))); }
void pair_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  std::vector<ReferenceTensor> p;
  std::vector<ReferenceTensor> log_p;
  softmax_reference<false>({inputs[1]}, {}, p);
  softmax_reference<true>({inputs[1]}, {}, log_p);
  const auto classes = static_cast<std::size_t>(inputs[1].shape[-1]);
  ReferenceTensor loss{.dtype = inputs[1].dtype, .shape = rows_of(inputs[1].shape)};
  loss.values.assign(static_cast<std::size_t>(loss.shape.size()), 0);
  for (std::size_t i = 0; i < p[0].values.size(); ++i) {
    loss.values[i / classes] -= inputs[0].values[i] * log_p[0].values[i];
    p[0].values[i] -= inputs[0].values[i];
  }
  outputs = {loss, p[0]};
}
void loss_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  pair_reference(inputs, attributes, outputs);
  outputs.resize(1);
}
std::vector<OpSample> loss_samples() {
  std::vector<OpSample> samples = pair_samples();
  samples[3].error = "3 and 4 classes";
  return samples;
}

std::vector<OpSample> sparse_samples() {
  const auto labels = [](Shape shape, std::vector<double> values, DType dtype = int32) {
    return SampleInput{.shape = shape, .values = std::move(values), .dtype = dtype, .differentiable = false};
  };
  return {
      {.inputs = {labels({2}, {0, 2}), {.shape = {2, 3}}}},
      {.inputs = {labels({}, {1}, int64), {.shape = {4}}}},
      {.inputs = {labels({2, 2}, {1, 0, 1, 1}), {.shape = {2, 2, 2}}}},
      {.inputs = {labels({2}, {0, 3}), {.shape = {2, 3}}}, .error = "label 3 at position 1 is not one of 3 classes"},
      {.inputs = {labels({3}, {0, 1, 2}), {.shape = {2, 3}}}, .error = "labels have shape [3], the rows of logits [2]"},
  };
}
void sparse_pair_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                           std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor dense = inputs[1];
  const auto classes = static_cast<std::size_t>(inputs[1].shape[-1]);
  for (std::size_t i = 0; i < dense.values.size(); ++i) {
    dense.values[i] = inputs[0].values[i / classes] == static_cast<double>(i % classes) ? 1 : 0;
  }
  pair_reference({dense, inputs[1]}, attributes, outputs);
}
void sparse_loss_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                           std::vector<ReferenceTensor>& outputs) {
  sparse_pair_reference(inputs, attributes, outputs);
  outputs.resize(1);
}

const OpTests kCrossEntropyTests = {
    {"softmax_cross_entropy", {.samples = pair_samples, .reference = pair_reference, .dtypes = {float64}}},
    {"sparse_softmax_cross_entropy", {.samples = sparse_samples, .reference = sparse_pair_reference}},
    {"softmax_cross_entropy_with_logits", {.samples = loss_samples, .reference = loss_reference, .dtypes = {float64}}},
    {"sparse_softmax_cross_entropy_with_logits", {.samples = sparse_samples, .reference = sparse_loss_reference}},
};

}  // namespace

}  // namespace capstan::testing
