// Samples and references of the ops in src/ops/array/creation.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::build;
using reference::dtype_of;
using reference::ints;
using reference::Position;

std::vector<OpSample> constant_samples() {
  return {{.attributes = {{"shape", ints({2, 3})}}},
          {.attributes = {{"shape", ints({})}, {"dtype", "int64"}}},
          {.attributes = {{"shape", ints({0, 2})}, {"dtype", "bool"}}},
          {.attributes = {{"shape", ints({2, -1})}}, .error = "negative length -1 in [2, -1]"},
          {.attributes = {{"shape", ints({2000000000, 2000000000, 2000000000})}}, .error = "too many elements"}};
}
template <int value>
void constant_reference(const Inputs&, const AttributeMap& attributes, Outputs& out) {
  out = {build(dtype_of(attributes), Shape(reference::integers(attributes, "shape")),
               [](const Position&) { return value; })};
}
std::vector<OpSample> like_samples() {
  return {{.inputs = {{.shape = {2, 3}}}}, {.inputs = {{.shape = {}}}}, {.inputs = {{.shape = {0, 2}}}}};
}
template <int value>
void like_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {build(in[0].dtype, in[0].shape, [](const Position&) { return value; })};
}
std::vector<OpSample> fill_samples() {
  return {{.inputs = {{.shape = {}}}, .attributes = {{"dims", ints({2, 3})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"dims", ints({})}}},
          {.inputs = {{.shape = {1}}}, .attributes = {{"dims", ints({0})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"dims", ints({-2})}}, .error = "negative length -2"},
          {.inputs = {{.shape = {2}}}, .attributes = {{"dims", ints({2})}}, .error = "must be a scalar"}};
}
void fill_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {build(in[0].dtype, Shape(reference::integers(attributes, "dims")),
               [&](const Position&) { return in[0].values[0]; })};
}
std::vector<OpSample> eye_samples() {
  return {{.attributes = {{"num_rows", 3}}},
          {.attributes = {{"num_rows", 2}, {"num_columns", 3}, {"dtype", "int32"}}},
          {.attributes = {{"num_rows", 3}, {"num_columns", 2}, {"dtype", "bool"}}},
          {.attributes = {{"num_rows", 0}}},
          {.attributes = {{"num_rows", 2}, {"batch_shape", ints({2})}, {"dtype", "float64"}}},
          {.attributes = {{"num_rows", -1}}, .error = "negative size, -1 rows"}};
}
void eye_reference(const Inputs&, const AttributeMap& attributes, Outputs& out) {
  Shape shape(reference::integers(attributes, "batch_shape"));
  shape.push_back(reference::integer(attributes, "num_rows", 0));
  shape.push_back(reference::integer(attributes, "num_columns", shape[-1]));
  out = {build(dtype_of(attributes), shape, [](const Position& position) {
    return position[position.size() - 1] == position[position.size() - 2] ? 1.0 : 0.0;
  })};
}
std::vector<OpSample> range_samples() {
  return {{.attributes = {{"limit", 5}}},
          {.attributes = {{"start", 5}, {"limit", 0}, {"delta", -2}, {"dtype", "int64"}}},
          {.attributes = {{"start", 3}, {"limit", 3}}},
          {.attributes = {{"limit", 1}, {"delta", 0.25}, {"dtype", "float32"}}},
          {.attributes = {{"limit", 1}, {"delta", 0}}, .error = "delta is 0"},
          {.attributes = {{"start", 3}, {"limit", 0}}, .error = "away from 0"},
          {.attributes = {{"limit", 300}, {"dtype", "uint8"}}, .error = "299 does not fit uint8"}};
}
void range_reference(const Inputs&, const AttributeMap& attributes, Outputs& out) {
  const auto number = [&](const char* name, double fallback) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? fallback : found->second.number;
  };
  const double start = number("start", 0);
  const double limit = number("limit", 0);
  const double delta = number("delta", 1);
  std::vector<double> values;
  for (double x = start; delta > 0 ? x < limit : x > limit; x += delta) values.push_back(x);
  const DType dtype = reference::has(attributes, "dtype") ? dtype_of(attributes) : DType::kInt32;
  out = {{dtype, {static_cast<std::int64_t>(values.size())}, values}};
}
std::vector<OpSample> linspace_samples() {
  return {{.inputs = {{.shape = {}}, {.shape = {}}}, .attributes = {{"num", 5}}},
          {.inputs = {{.shape = {}}, {.shape = {}}}, .attributes = {{"num", 1}}},
          {.inputs = {{.shape = {2}}, {.shape = {2}}}, .attributes = {{"num", 3}, {"axis", -1}}},
          {.inputs = {{.shape = {2, 2}}, {.shape = {2, 2}}}, .attributes = {{"num", 4}, {"axis", 1}}},
          {.inputs = {{.shape = {}}, {.shape = {}}}, .attributes = {{"num", -1}}, .error = "num is -1"},
          {.inputs = {{.shape = {}}, {.shape = {}}}, .attributes = {{"num", 2}, {"axis", 1}}, .error = "out of range"}};
}
void linspace_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t num = reference::integer(attributes, "num", 0);
  std::int64_t axis = reference::integer(attributes, "axis", 0);
  if (axis < 0) axis += in[0].shape.rank() + 1;
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  dims.insert(dims.begin() + axis, num);
  out = {build(in[0].dtype, Shape(dims), [&](const Position& position) {
    Position from = position;
    from.erase(from.begin() + axis);
    const double start = reference::at(in[0], from);
    const double stop = reference::at(in[1], from);
    const auto i = static_cast<double>(position[static_cast<std::size_t>(axis)]);
    return num == 1 ? start : start + (stop - start) * i / static_cast<double>(num - 1);
  })};
}

const OpTests kCreationTests = {
    {"zeros", {.samples = constant_samples, .reference = constant_reference<0>}},
    {"ones", {.samples = constant_samples, .reference = constant_reference<1>}},
    {"zeros_like", {.samples = like_samples, .reference = like_reference<0>, .dtypes = reference::kEveryDType}},
    {"ones_like", {.samples = like_samples, .reference = like_reference<1>, .dtypes = reference::kEveryDType}},
    {"fill", {.samples = fill_samples, .reference = fill_reference, .dtypes = reference::kEveryDType}},
    {"eye", {.samples = eye_samples, .reference = eye_reference}},
    {"range", {.samples = range_samples, .reference = range_reference}},
    {"linspace",
     {.samples = linspace_samples, .reference = linspace_reference, .dtypes = {DType::kFloat32, DType::kFloat64}}},
};

}  // namespace

}  // namespace capstan::testing
