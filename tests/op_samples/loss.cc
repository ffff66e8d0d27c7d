// Samples and references of the ops in src/ops/nn/loss.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> sigmoid_samples() {
  return {
      {.inputs = {{.shape = {2, 3}, .domain = {0, 1}}, {.shape = {2, 3}}}},
      {.inputs = {{.shape = {}, .domain = {0, 1}}, {.shape = {}}}},
      {.inputs = {{.shape = {3}, .values = {0, 1, 0.5}}, {.shape = {3}, .values = {0, -30, 30}}}},
      {.inputs = {{.shape = {3}}, {.shape = {2, 3}}}, .error = "shapes differ, [3] and [2, 3]"},
  };
}
void sigmoid_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                       std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[1]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const double x = inputs[1].values[i];
    outputs[0].values[i] = std::max(x, 0.0) - x * inputs[0].values[i] + std::log1p(std::exp(-std::abs(x)));
  }
}
std::vector<OpSample> weighted_samples() {
  return {
      {.inputs = {{.shape = {2, 3}, .domain = {0, 1}}, {.shape = {2, 3}}, {.shape = {}, .domain = {0.5, 2}}}},
      {.inputs = {{.shape = {2, 3}, .domain = {0, 1}}, {.shape = {2, 3}}, {.shape = {3}, .domain = {0.5, 2}}}},
      {.inputs = {{.shape = {3}}, {.shape = {2}}, {.shape = {}}}, .error = "shapes differ, [3] and [2]"},
  };
}
void weighted_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                        std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[1]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const double x = inputs[1].values[i];
    const double z = inputs[0].values[i];
    const double weight = 1 + (inputs[2].values[i % inputs[2].values.size()] - 1) * z;
    outputs[0].values[i] = (1 - z) * x + weight * (std::log1p(std::exp(-std::abs(x))) + std::max(-x, 0.0));
  }
}
std::vector<OpSample> l2_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {}}}},
      {.inputs = {{.shape = {0}}}},
      {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
       .error = "dtype int32 is not supported"},
  };
}
void l2_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                  std::vector<ReferenceTensor>& outputs) {
  double sum = 0;
  for (double x : inputs[0].values) sum += x * x;
  outputs = {{.dtype = inputs[0].dtype, .shape = {}, .values = {sum / 2}}};
}

const OpTests kLossTests = {
    {"sigmoid_cross_entropy_with_logits", {.samples = sigmoid_samples, .reference = sigmoid_reference}},
    {"weighted_cross_entropy_with_logits", {.samples = weighted_samples, .reference = weighted_reference}},
    {"l2_loss", {.samples = l2_samples, .reference = l2_reference}},
};

}  // namespace

}  // namespace capstan::testing
