// Samples and references of the ops in src/ops/nn/group_norm.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> group_samples() {
  return {
      {.inputs = {{.shape = {2, 2, 4}}, {.shape = {4}}, {.shape = {4}}}, .attributes = {{"groups", 2}}},
      {.inputs = {{.shape = {1, 2, 3, 3}}, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"groups", 1}, {"epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 6}}, {.shape = {6}}, {.shape = {6}}}, .attributes = {{"groups", 3}, {"epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 2, 4}}, {.shape = {4}}, {.shape = {4}}},
       .attributes = {{"groups", 3}},
       .error = "4 channels do not divide into 3 groups"},
      {.inputs = {{.shape = {2, 2, 4}}, {.shape = {4}}, {.shape = {4}}},
       .attributes = {{"groups", 0}},
       .error = "4 channels do not divide into 0 groups"},
      {.inputs = {{.shape = {2, 2, 4}}, {.shape = {4}}, {.shape = {2}}},
       .attributes = {{"groups", 2}},
       .error = "offset has shape [2] for 4 channels"},
      {.inputs = {{.shape = {4}}, {.shape = {4}}, {.shape = {4}}},
       .attributes = {{"groups", 2}},
       .error = "the input needs rank 2 or more, not 1"},
  };
}
void normalize_by(const std::vector<ReferenceTensor>& inputs, std::size_t groups, double epsilon,
                  std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const auto channels = static_cast<std::size_t>(x.shape[-1]);
  const std::size_t image = x.values.size() / static_cast<std::size_t>(x.shape[0]);
  const auto group_of = [&](std::size_t i) { return i / image * groups + i % channels / (channels / groups); };
  std::vector<double> mean(static_cast<std::size_t>(x.shape[0]) * groups);
  std::vector<double> variance(mean.size());
  const double count = static_cast<double>(image / groups);
  for (std::size_t i = 0; i < x.values.size(); ++i) mean[group_of(i)] += x.values[i] / count;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    variance[group_of(i)] += std::pow(x.values[i] - mean[group_of(i)], 2) / count;
  }
  outputs = {x};
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    outputs[0].values[i] = (x.values[i] - mean[group_of(i)]) / std::sqrt(variance[group_of(i)] + epsilon) *
                               inputs[1].values[i % channels] +
                           inputs[2].values[i % channels];
  }
}
void group_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ReferenceTensor>& outputs) {
  normalize_by(inputs, static_cast<std::size_t>(attributes.at("groups").integer),
               reference::number(attributes, "epsilon", 1e-3), outputs);
}
std::vector<OpSample> instance_samples() {
  return {
      {.inputs = {{.shape = {2, 3, 2}}, {.shape = {2}}, {.shape = {2}}}},
      {.inputs = {{.shape = {1, 2, 2, 3}}, {.shape = {3}}, {.shape = {3}}}, .attributes = {{"epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}, {.shape = {3}}}, .error = "the input needs rank 3 or more, not 2"},
      {.inputs = {{.shape = {2, 3, 2}}, {.shape = {3}}, {.shape = {2}}}, .error = "scale has shape [3] for 2 channels"},
  };
}
void instance_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ReferenceTensor>& outputs) {
  normalize_by(inputs, static_cast<std::size_t>(inputs[0].shape[-1]), reference::number(attributes, "epsilon", 1e-3),
               outputs);
}
std::vector<OpSample> rms_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 2, 2}}, {.shape = {2}}}, .attributes = {{"epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}, .error = "scale has shape [2] for 3 channels"},
      {.inputs = {{.shape = {}}, {.shape = {1}}}, .error = "the input needs rank 1 or more"},
  };
}
void rms_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "epsilon", 1e-6);
  const std::size_t n = inputs[1].values.size();
  outputs = {inputs[0]};
  for (std::size_t row = 0; row < outputs[0].values.size(); row += n) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += std::pow(inputs[0].values[row + i], 2) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      outputs[0].values[row + i] *= inputs[1].values[i] / std::sqrt(squares + epsilon);
  }
}
std::vector<OpSample> neighbour_samples() {
  return {
      {.inputs = {{.shape = {1, 2, 2, 3}}}, .attributes = {{"depth_radius", 1}}},
      {.inputs = {{.shape = {2, 1, 1, 5}}},
       .attributes = {{"depth_radius", 2}, {"bias", 2.0}, {"alpha", 0.5}, {"beta", 0.75}}},
      {.inputs = {{.shape = {1, 1, 2, 3}}}},
      {.inputs = {{.shape = {1, 1, 2, 3}}}, .attributes = {{"depth_radius", 0}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "images need rank 4 (batch, height, width, channels), not 2"},
      {.inputs = {{.shape = {1, 1, 2, 3}}},
       .attributes = {{"depth_radius", -1}},
       .error = "the depth radius must be 0 or more, not -1"},
  };
}
void neighbour_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  const std::int64_t radius = reference::integer(attributes, "depth_radius", 5);
  const double bias = reference::number(attributes, "bias", 1);
  const double alpha = reference::number(attributes, "alpha", 1);
  const double beta = reference::number(attributes, "beta", 0.5);
  const std::int64_t channels = inputs[0].shape[-1];
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const auto c = static_cast<std::int64_t>(i) % channels;
    double squares = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, c - radius); k <= std::min(channels - 1, c + radius); ++k) {
      squares += std::pow(inputs[0].values[static_cast<std::size_t>(static_cast<std::int64_t>(i) - c + k)], 2);
    }
    outputs[0].values[i] /= std::pow(bias + alpha * squares, beta);
  }
}
std::vector<OpSample> weighted_samples() {
  const Domain positive{0.5, 2};
  return {
      {.inputs = {{.shape = {3, 2}}, {.shape = {3, 1}, .domain = positive}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {3, 2}}, {.shape = {3, 2}, .domain = positive}},
       .attributes = {{"axes", 0}, {"keepdims", true}}},
      {.inputs = {{.shape = {3, 2}}, {.shape = {2}, .domain = positive}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {3, 2}}, {.shape = {3, 1}}},
       .attributes = {{"axes", 2}},
       .error = "axis 2 is out of range for rank 2"},
      {.inputs = {{.shape = {3, 2}}, {.shape = {2, 1}}},
       .attributes = {{"axes", 0}},
       .error = "weighted_moments: shapes do not broadcast"},
  };
}
// All samples reduce the first axis of a matrix.
void weighted_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ReferenceTensor>& outputs) {
  const std::int64_t rows = inputs[0].shape[0];
  const std::int64_t columns = inputs[0].shape[1];
  const Shape& w = inputs[1].shape;
  const auto weight = [&](std::int64_t r, std::int64_t c) {
    return w.rank() == 1 ? inputs[1].values[static_cast<std::size_t>(c)]
                         : inputs[1].values[static_cast<std::size_t>(r * w[1] + (w[1] == 1 ? 0 : c))];
  };
  Shape shape{columns};
  if (attributes.contains("keepdims")) shape = {1, columns};
  outputs.assign(2, {.dtype = inputs[0].dtype, .shape = shape, .values = {}});
  for (std::int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    double mean = 0;
    double variance = 0;
    const auto x = [&](std::int64_t r) { return inputs[0].values[static_cast<std::size_t>(r * columns + c)]; };
    for (std::int64_t r = 0; r < rows; ++r) sum += weight(r, c);
    for (std::int64_t r = 0; r < rows; ++r) mean += weight(r, c) * x(r) / sum;
    for (std::int64_t r = 0; r < rows; ++r) variance += weight(r, c) * std::pow(x(r) - mean, 2) / sum;
    outputs[0].values.push_back(mean);
    outputs[1].values.push_back(variance);
  }
}

const OpTests kGroupNormTests = {
    {"group_normalization", {.samples = group_samples, .reference = group_reference}},
    {"instance_normalization", {.samples = instance_samples, .reference = instance_reference}},
    {"rms_normalization", {.samples = rms_samples, .reference = rms_reference}},
    {"local_response_normalization", {.samples = neighbour_samples, .reference = neighbour_reference}},
    {"weighted_moments", {.samples = weighted_samples, .reference = weighted_reference}},
};

}  // namespace

}  // namespace capstan::testing
