// Samples and references of the ops in src/ops/nn/layer_norm.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/normalize_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> layer_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 2, 3}}, {.shape = {2, 3}}, {.shape = {2, 3}}},
       .attributes = {{"axes", 2}, {"epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}, {.shape = {3}}}, .error = "scale has shape [2], not [3]"},
      {.inputs = {{.shape = {2}}, {.shape = {2}}, {.shape = {2}}},
       .attributes = {{"axes", 2}},
       .error = "2 axes of a tensor of rank 1"},
  };
}
void layer_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "epsilon", 1e-3);
  outputs = {inputs[0]};
  const std::size_t n = inputs[1].values.size();
  for (std::size_t row = 0; row < inputs[0].values.size() / n; ++row) {
    ReferenceTensor column{.shape = {static_cast<std::int64_t>(n), 1}};
    column.values.assign(inputs[0].values.begin() + static_cast<std::ptrdiff_t>(row * n),
                         inputs[0].values.begin() + static_cast<std::ptrdiff_t>((row + 1) * n));
    const reference::ChannelMoments m = reference::moments_of(column);
    for (std::size_t i = 0; i < n; ++i) {
      outputs[0].values[row * n + i] =
          (column.values[i] - m.mean[0]) / std::sqrt(m.variance[0] + epsilon) * inputs[1].values[i] +
          inputs[2].values[i];
    }
  }
}
std::vector<OpSample> layer_gradient_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}, {.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 2, 3}}, {.shape = {2, 3}}, {.shape = {2, 2, 3}}},
       .attributes = {{"axes", 2}, {"epsilon", 0.1}}},
      {.inputs = {{.shape = {0, 3}}, {.shape = {3}}, {.shape = {0, 3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}, {.shape = {3, 3}}}, .error = "shapes differ, [2, 3] and [3, 3]"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}, {.shape = {2, 3}}}, .error = "scale has shape [2], not [3]"},
  };
}
void layer_gradient_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                              std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "epsilon", 1e-3);
  const std::size_t n = inputs[1].values.size();
  outputs = {inputs[0], inputs[1], inputs[1]};
  std::fill(outputs[1].values.begin(), outputs[1].values.end(), 0.0);
  outputs[2].values = outputs[1].values;
  const auto mean = [&](const auto& term) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += term(i);
    return sum / static_cast<double>(n);
  };
  for (std::size_t row = 0; row < inputs[0].values.size(); row += n) {
    const auto x = [&](std::size_t i) { return inputs[0].values[row + i]; };
    const auto g = [&](std::size_t i) { return inputs[2].values[row + i]; };
    const auto p = [&](std::size_t i) { return g(i) * inputs[1].values[i]; };
    const double middle = mean(x);
    const double r = 1 / std::sqrt(mean([&](std::size_t i) { return std::pow(x(i) - middle, 2); }) + epsilon);
    const auto h = [&](std::size_t i) { return (x(i) - middle) * r; };
    const double mean_p = mean(p);
    const double mean_ph = mean([&](std::size_t i) { return p(i) * h(i); });
    for (std::size_t i = 0; i < n; ++i) {
      outputs[0].values[row + i] = r * (p(i) - mean_p - h(i) * mean_ph);
      outputs[1].values[i] += g(i) * h(i);
      outputs[2].values[i] += g(i);
    }
  }
}

const OpTests kLayerNormTests = {
    {"layer_normalization", {.samples = layer_samples, .reference = layer_reference}},
    {"layer_normalization_gradients", {.samples = layer_gradient_samples, .reference = layer_gradient_reference}},
};

}  // namespace

}  // namespace capstan::testing
