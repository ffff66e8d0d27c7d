// Samples and references of the ops in src/ops/nn/batch_norm.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/normalize_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> batch_norm_samples() {
  return {
      {.inputs = {{.shape = {4, 2}}, {.shape = {2}}, {.shape = {2}}}},
      {.inputs = {{.shape = {2, 2, 2, 3}}, {.shape = {3}}, {.shape = {3}}}, .attributes = {{"epsilon", 0.1}}},
      {.inputs = {{.shape = {4, 3}}, {.shape = {2}}, {.shape = {3}}}, .error = "scale has shape [2] for 3 channels"},
      {.inputs = {{.shape = {}}, {.shape = {1}}, {.shape = {1}}}, .error = "the input needs rank 1 or more"},
  };
}

void batch_norm_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                          std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "epsilon", 1e-3);
  const ReferenceTensor& x = inputs[0];
  const reference::ChannelMoments m = reference::moments_of(x);
  const std::size_t channels = m.mean.size();
  ReferenceTensor y = x;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t c = i % channels;
    y.values[i] =
        (x.values[i] - m.mean[c]) / std::sqrt(m.variance[c] + epsilon) * inputs[1].values[c] + inputs[2].values[c];
  }
  const Shape shape{x.shape[-1]};
  outputs = {y,
             {.dtype = x.dtype, .shape = shape, .values = m.mean},
             {.dtype = x.dtype, .shape = shape, .values = m.variance}};
}
std::vector<OpSample> batch_norm_gradient_samples() {
  return {
      {.inputs =
           {{.shape = {4, 2}}, {.shape = {2}}, {.shape = {2}}, {.shape = {2}, .domain = {0.5, 2}}, {.shape = {4, 2}}}},
      {.inputs = {{.shape = {2, 3, 2}},
                  {.shape = {2}},
                  {.shape = {2}},
                  {.shape = {2}, .domain = {0.5, 2}},
                  {.shape = {2, 3, 2}}},
       .attributes = {{"epsilon", 0.1}}},
      {.inputs = {{.shape = {4, 2}}, {.shape = {2}}, {.shape = {2}}, {.shape = {2}}, {.shape = {3, 2}}},
       .error = "shapes differ, [4, 2] and [3, 2]"},
  };
}
void batch_norm_gradient_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                                   std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "epsilon", 1e-3);
  const auto& x = inputs[0].values;
  const auto& g = inputs[4].values;
  const auto channels = static_cast<std::size_t>(inputs[0].shape[-1]);
  const double rows = static_cast<double>(x.size() / channels);
  ReferenceTensor of_x = inputs[0];
  ReferenceTensor of_scale = inputs[1];
  ReferenceTensor of_offset = inputs[1];
  for (std::size_t c = 0; c < channels; ++c) {
    const double r = 1 / std::sqrt(inputs[3].values[c] + epsilon);
    double sum_g = 0;
    double sum_gh = 0;
    for (std::size_t i = c; i < x.size(); i += channels) {
      sum_g += g[i];
      sum_gh += g[i] * (x[i] - inputs[2].values[c]) * r;
    }
    of_scale.values[c] = sum_gh;
    of_offset.values[c] = sum_g;
    for (std::size_t i = c; i < x.size(); i += channels) {
      const double h = (x[i] - inputs[2].values[c]) * r;
      of_x.values[i] = inputs[1].values[c] * r * (g[i] - sum_g / rows - h * sum_gh / rows);
    }
  }
  outputs = {of_x, of_scale, of_offset};
}
std::vector<OpSample> fused_training_samples() {
  return {
      {.inputs = {{.shape = {2, 2, 2, 2}, .dtype = float32, .differentiable = false},
                  {.shape = {2}, .dtype = float32, .differentiable = false},
                  {.shape = {2}, .dtype = float32, .differentiable = false}}},
      {.inputs = {{.shape = {2, 2}, .dtype = float32, .differentiable = false},
                  {.shape = {2}, .dtype = float32, .differentiable = false},
                  {.shape = {2}, .dtype = float32, .differentiable = false}},
       .error = "images need rank 4, not 2"},
  };
}
void fused_training_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                              std::vector<ReferenceTensor>& outputs) {
  batch_norm_reference(inputs, attributes, outputs);
  const double rows = static_cast<double>(inputs[0].shape.size() / inputs[0].shape[-1]);
  for (double& v : outputs[2].values) v *= rows / (rows - 1);
}
std::vector<OpSample> fused_inference_samples() {
  const auto plain = [](Shape shape, Domain domain = {}) {
    return SampleInput{.shape = shape, .domain = domain, .dtype = float32, .differentiable = false};
  };
  return {
      {.inputs = {plain({2, 1, 2, 2}), plain({2}), plain({2}), plain({2}), plain({2}, {0.5, 2})}},
      {.inputs = {plain({2, 1, 2, 2}), plain({2}), plain({2}), plain({3}), plain({2}, {0.5, 2})},
       .error = "mean has shape [3] for 2 channels"},
  };
}
void fused_inference_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                               std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "epsilon", 1e-3);
  outputs = {inputs[0]};
  const std::size_t channels = inputs[1].values.size();
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const std::size_t c = i % channels;
    outputs[0].values[i] =
        (inputs[0].values[i] - inputs[3].values[c]) / std::sqrt(inputs[4].values[c] + epsilon) * inputs[1].values[c] +
        inputs[2].values[c];
  }
}

const OpTests kBatchNormTests = {
    {"batch_norm_training", {.samples = batch_norm_samples, .reference = batch_norm_reference}},
    {"batch_norm_gradients", {.samples = batch_norm_gradient_samples, .reference = batch_norm_gradient_reference}},
    {"fused_batch_norm_training",
     {.samples = fused_training_samples, .reference = fused_training_reference, .dtypes = {float32}}},
    {"fused_batch_norm_inference",
     {.samples = fused_inference_samples, .reference = fused_inference_reference, .dtypes = {float32}}},
};

}  // namespace

}  // namespace capstan::testing
