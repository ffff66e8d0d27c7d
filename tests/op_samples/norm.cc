// Samples and references of the ops in src/ops/linalg/norm.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "src/ops/axes.h"
#include "src/ops/reduce/reduce.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

ReduceAttributes reduction_of(const AttributeMap& attributes, const char* name) {
  ReduceAttributes a;
  if (auto found = attributes.find(name); found != attributes.end()) set_field(a.axis, found->second, "", "");
  if (auto found = attributes.find("keepdims"); found != attributes.end()) a.keepdims = found->second.truth;
  return a;
}

// The group of every element of x: the position of the reduced element it belongs to.
std::vector<std::size_t> groups_of(const Shape& shape, const ReduceAttributes& attributes) {
  const AxisSet axes = normalize_axes("reference", attributes.axis, shape.rank());
  std::vector<std::size_t> groups;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    std::int64_t rest = i;
    std::int64_t group = 0;
    std::int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (!axes.on[axis]) {
        group += rest % shape[axis] * stride;
        stride *= shape[axis];
      }
      rest /= shape[axis];
    }
    groups.push_back(static_cast<std::size_t>(group));
  }
  return groups;
}

std::vector<OpSample> norm_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 1}, {"keepdims", true}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", 1}, {"axis", 0}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", 3}}},
      {.inputs = {{.shape = {2, 3}, .values = {1, -2, 3, -4, 5, -6}}}, .attributes = {{"ord", "inf"}, {"axis", 1}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", "nuclear"}}, .error = "the nuclear norm needs two axes"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", "fro"}}, .error = "the Frobenius norm needs two axes"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", "l2"}}, .error = "or a positive number, not \"l2\""},
      {.inputs = {{.shape = {2, 3}}},
       .attributes = {{"ord", 3}, {"axis", reference::ints({0, 1})}},
       .error = "matrices have no norm of order 3"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", -1}}, .error = "or a positive number, not -1"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range for rank 2"},
  };
}
void norm_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  double order = 2;
  if (auto found = attributes.find("ord"); found != attributes.end()) {
    order = found->second.kind == AttributeValue::Kind::kString ? INFINITY : found->second.number;  // "inf" alone
  }
  const ReduceAttributes a = reduction_of(attributes, "axis");
  const Shape& shape = inputs[0].shape;
  ReferenceTensor out{.shape = reduced_shape(shape, normalize_axes("reference", a.axis, shape.rank()), a.keepdims)};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  const auto groups = groups_of(shape, a);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    double& value = out.values[groups[i]];
    const double x = std::abs(inputs[0].values[i]);
    value = std::isinf(order) ? std::max(value, x) : value + std::pow(x, order);
  }
  for (double& value : out.values) value = std::isinf(order) ? value : std::pow(value, 1 / order);
  outputs = {out};
}
std::vector<OpSample> normalized_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", 1}, {"axis", 0}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"ord", 3}}},
      {.inputs = {{.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"},
      {.inputs = {{.shape = {2}}}, .attributes = {{"ord", 0}}, .error = "or a positive number, not 0"},
  };
}
void normalized_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                          std::vector<ReferenceTensor>& outputs) {
  AttributeMap keeping = attributes;
  keeping["keepdims"] = true;
  norm_reference(inputs, keeping, outputs);
  outputs.insert(outputs.begin(), inputs[0]);
  const auto groups = groups_of(inputs[0].shape, reduction_of(attributes, "axis"));
  for (std::size_t i = 0; i < groups.size(); ++i) outputs[0].values[i] /= outputs[1].values[groups[i]];
}
std::vector<OpSample> normalize_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 0}, {"epsilon", 100.0}}},
      {.inputs = {{.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"},
  };
}
void normalize_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  const auto found = attributes.find("epsilon");
  const double epsilon = found == attributes.end() ? 1e-12 : found->second.number;
  const auto groups = groups_of(inputs[0].shape, reduction_of(attributes, "axis"));
  std::vector<double> squares(groups.size(), 0);
  for (std::size_t i = 0; i < groups.size(); ++i) squares[groups[i]] += inputs[0].values[i] * inputs[0].values[i];
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < groups.size(); ++i)
    outputs[0].values[i] /= std::sqrt(std::max(squares[groups[i]], epsilon));
}
std::vector<OpSample> global_norm_samples() {
  return {
      {.inputs = {{.shape = {2, 2}}, {.shape = {3}}}},
      {.inputs = {{.shape = {}}}},
      {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
       .error = "dtype int32 is not supported"},
  };
}
double global_norm_of(const std::vector<ReferenceTensor>& inputs) {
  double sum = 0;
  for (const ReferenceTensor& input : inputs) {
    for (double x : input.values) sum += x * x;
  }
  return std::sqrt(sum);
}
void global_norm_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                           std::vector<ReferenceTensor>& outputs) {
  outputs = {{.shape = {}, .values = {global_norm_of(inputs)}}};
}
std::vector<OpSample> clip_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"clip_norm", 0.7}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"clip_norm", 100.0}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"clip_norm", 0.7}, {"axes", 1}}},
      {.inputs = {{.shape = {2}, .values = {0, 0}}}, .attributes = {{"clip_norm", 1.0}}},
      {.inputs = {{.shape = {2}}},
       .attributes = {{"clip_norm", 1.0}, {"axes", 3}},
       .error = "axis 3 is out of range for rank 1"},
  };
}
void clip_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const double clip = attributes.at("clip_norm").number;
  const auto groups = groups_of(inputs[0].shape, reduction_of(attributes, "axes"));
  std::vector<double> squares(groups.size(), 0);
  for (std::size_t i = 0; i < groups.size(); ++i) squares[groups[i]] += inputs[0].values[i] * inputs[0].values[i];
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    outputs[0].values[i] *= clip / std::max(clip, std::sqrt(squares[groups[i]]));
  }
}
std::vector<OpSample> average_clip_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"clip_norm", 0.1}}},
      {.inputs = {{.shape = {3}}}, .attributes = {{"clip_norm", 100.0}}},
      {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
       .attributes = {{"clip_norm", 0.5}},
       .error = "dtype int32 is not supported"},
  };
}
void average_clip_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                            std::vector<ReferenceTensor>& outputs) {
  const double clip = attributes.at("clip_norm").number;
  double squares = 0;
  for (double x : inputs[0].values) squares += x * x;
  const double average = std::sqrt(squares) / static_cast<double>(inputs[0].values.size());
  outputs = {inputs[0]};
  for (double& x : outputs[0].values) x *= clip / std::max(clip, average);
}
std::vector<OpSample> global_clip_samples() {
  return {
      {.inputs = {{.shape = {2, 2}}, {.shape = {3}}}, .attributes = {{"clip_norm", 0.5}}},
      {.inputs = {{.shape = {2}}, {.shape = {1}}}, .attributes = {{"clip_norm", 100.0}}},
      {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
       .attributes = {{"clip_norm", 0.5}},
       .error = "dtype int32 is not supported"},
  };
}
void global_clip_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                           std::vector<ReferenceTensor>& outputs) {
  const double clip = attributes.at("clip_norm").number;
  const double norm = global_norm_of(inputs);
  outputs = inputs;
  for (ReferenceTensor& output : outputs) {
    for (double& x : output.values) x *= clip / std::max(clip, norm);
  }
  outputs.push_back({.shape = {}, .values = {norm}});
}

const OpTests kNormTests = {
    {"norm", {.samples = norm_samples, .reference = norm_reference}},
    {"normalize", {.samples = normalized_samples, .reference = normalized_reference}},
    {"l2_normalize", {.samples = normalize_samples, .reference = normalize_reference}},
    {"global_norm", {.samples = global_norm_samples, .reference = global_norm_reference}},
    {"clip_by_norm", {.samples = clip_samples, .reference = clip_reference}},
    {"clip_by_average_norm", {.samples = average_clip_samples, .reference = average_clip_reference}},
    {"clip_by_global_norm", {.samples = global_clip_samples, .reference = global_clip_reference}},
};

}  // namespace

}  // namespace capstan::testing
