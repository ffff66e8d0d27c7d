// Samples and references of the ops in src/ops/activation/gated_activation.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::axis_or_last;

std::size_t elements_from(const Shape& shape, int axis) {
  std::size_t elements = 1;
  for (int i = axis; i < shape.rank(); ++i) elements *= static_cast<std::size_t>(shape[i]);
  return elements;
}

const OpTest kGeneralReluTest = [] {
  OpTest test;
  test.samples = [] {
    const SampleInput input{.shape = {2, 4}, .values = {-2, -1, -0.25, 0.1, 0.25, 0.75, 1.25, 3}};
    return std::vector<OpSample>{
        {.inputs = {input}},
        {.inputs = {input}, .attributes = {{"negative_slope", 0.25}}},
        {.inputs = {input}, .attributes = {{"max_value", 1.0}}},
        {.inputs = {input}, .attributes = {{"max_value", 6.0}}},
        {.inputs = {input}, .attributes = {{"threshold", 0.5}}},
        {.inputs = {input}, .attributes = {{"negative_slope", 0.25}, {"max_value", 1.5}, {"threshold", 0.3}}},
        {.inputs = {{.shape = {0}}}},
        {.inputs = {input}, .attributes = {{"max_value", -1.0}}, .error = "max_value must not be negative"},
        {.inputs = {input}, .attributes = {{"negative_slope", -1.0}}, .error = "negative_slope must not be negative"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    const double slope = reference::number(attributes, "negative_slope", 0);
    const double limit = reference::number(attributes, "max_value", INFINITY);
    const double threshold = reference::number(attributes, "threshold", 0);
    outputs = {inputs[0]};
    for (double& x : outputs[0].values) x = x >= limit ? limit : x > threshold ? x : slope * (x - threshold);
  };
  return test;
}();

const OpTest kCreluTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 3}, .domain = {0.25, 2}}}},
        {.inputs = {{.shape = {2, 3}, .domain = {0.25, 2}}}, .attributes = {{"axis", 0}}},
        {.inputs = {{.shape = {3}, .values = {-1, 2, -3}}}},
        {.inputs = {{.shape = {3}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    const Shape& shape = inputs[0].shape;
    const int axis = axis_or_last(attributes, shape);
    const std::size_t run = elements_from(shape, axis);
    Shape doubled;
    for (int i = 0; i < shape.rank(); ++i) doubled.push_back(i == axis ? 2 * shape[i] : shape[i]);
    ReferenceTensor result{inputs[0].dtype, doubled, {}};
    for (std::size_t i = 0; i < inputs[0].values.size(); i += run) {
      for (double sign : {1.0, -1.0}) {
        for (std::size_t k = i; k < i + run; ++k) result.values.push_back(std::max(0.0, sign * inputs[0].values[k]));
      }
    }
    outputs.push_back(result);
  };
  return test;
}();

const OpTest kGluTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 4}}}},
        {.inputs = {{.shape = {4, 3}}}, .attributes = {{"axis", 0}}},
        {.inputs = {{.shape = {2, 3}}}, .error = "axis -1 has the odd length 3"},
        {.inputs = {{.shape = {4}}}, .attributes = {{"axis", -2}}, .error = "axis -2 is out of range for rank 1"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    const Shape& shape = inputs[0].shape;
    const int axis = axis_or_last(attributes, shape);
    const std::size_t run = elements_from(shape, axis);
    Shape halved;
    for (int i = 0; i < shape.rank(); ++i) halved.push_back(i == axis ? shape[i] / 2 : shape[i]);
    ReferenceTensor result{inputs[0].dtype, halved, {}};
    for (std::size_t i = 0; i < inputs[0].values.size(); i += run) {
      for (std::size_t k = i; k < i + run / 2; ++k) {
        result.values.push_back(inputs[0].values[k] / (1 + std::exp(-inputs[0].values[k + run / 2])));
      }
    }
    outputs.push_back(result);
  };
  return test;
}();

const OpTest kSparsemaxTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 3}, .values = {0.5, 0.3, -1, 2, 0.1, 0.2}}}},
        {.inputs = {{.shape = {3, 2}, .values = {0.5, 0.3, -1, 2, 0.125, 0.25}}}, .attributes = {{"axis", 0}}},
        {.inputs = {{.shape = {5}, .values = {0.1, 0.2, 0.3, 0.25, 0.15}}}},
        {.inputs = {{.shape = {2, 0}}}},
        {.inputs = {{.shape = {1, 1}}}},
        {.inputs = {{.shape = {}}}, .error = "axis -1 is out of range for rank 0"},
        {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
         .error = "dtype int32 is not supported"},
    };
  };
  // By bisection for the shift.
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    const Shape& shape = inputs[0].shape;
    const int axis = axis_or_last(attributes, shape);
    const std::size_t inner = elements_from(shape, axis + 1);
    const auto n = static_cast<std::size_t>(shape[axis]);
    outputs = {inputs[0]};
    for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
      const std::size_t first = i / (inner * n) * inner * n + i % inner;
      double low = -1e3;
      double high = 1e3;
      for (int step = 0; step < 200; ++step) {
        const double middle = (low + high) / 2;
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += std::max(0.0, inputs[0].values[first + k * inner] - middle);
        (sum > 1 ? low : high) = middle;
      }
      outputs[0].values[i] = std::max(0.0, inputs[0].values[i] - low);
    }
  };
  return test;
}();

const OpTests kGatedActivationTests = {
    {"general_relu", kGeneralReluTest},
    {"crelu", kCreluTest},
    {"glu", kGluTest},
    {"sparsemax", kSparsemaxTest},
};

}  // namespace

}  // namespace capstan::testing
