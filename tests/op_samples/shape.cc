// Samples and references of the ops in src/ops/array/shape.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::at;
using reference::build;
using reference::ints;
using reference::Position;

std::vector<OpSample> reshape_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({3, -1})}}},
      {.inputs = {{.shape = {}}}, .attributes = {{"shape", ints({1, 1})}}},
      {.inputs = {{.shape = {1}}}, .attributes = {{"shape", ints({})}}},
      {.inputs = {{.shape = {0, 3}}}, .attributes = {{"shape", ints({3, 0, 2})}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({4, 2})}}, .error = "6 elements do not fill"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({-1, -1})}}, .error = "-1 stands at axes 0 and 1"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({4, -1})}}, .error = "no length for the -1"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({-2, 3})}}, .error = "negative length -2"}};
}
void reshape_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  Shape shape(reference::integers(attributes, "shape"));
  std::int64_t known = 1;
  for (std::int64_t length : shape) known *= length == -1 ? 1 : length;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) shape.set(i, in[0].shape.size() / known);
  }
  out = {{in[0].dtype, shape, in[0].values}};
}
std::vector<OpSample> expand_dims_samples() {
  return {{.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", -1}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"axis", 0}}},
          {.inputs = {{.shape = {0}}}, .attributes = {{"axis", 0}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 3}}, .error = "axis 3 is out of range for rank 3"}};
}
void expand_dims_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  std::int64_t axis = reference::integer(attributes, "axis", 0);
  if (axis < 0) axis += in[0].shape.rank() + 1;
  dims.insert(dims.begin() + axis, 1);
  out = {{in[0].dtype, Shape(dims), in[0].values}};
}
std::vector<OpSample> squeeze_samples() {
  return {{.inputs = {{.shape = {1, 3, 1}}}},
          {.inputs = {{.shape = {1, 3, 1}}}, .attributes = {{"axis", -1}}},
          {.inputs = {{.shape = {1, 1, 2}}}, .attributes = {{"axis", ints({0, 1})}}},
          {.inputs = {{.shape = {1, 0}}}},
          {.inputs = {{.shape = {}}}},
          {.inputs = {{.shape = {2, 1}}}, .attributes = {{"axis", 0}}, .error = "axis 0 has length 2, not 1"},
          {.inputs = {{.shape = {1}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"}};
}
void squeeze_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const int rank = in[0].shape.rank();
  std::vector<bool> drop(static_cast<std::size_t>(rank), !reference::has(attributes, "axis"));
  for (std::int64_t axis : reference::integers(attributes, "axis")) {
    drop[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    if (!drop[static_cast<std::size_t>(i)] || in[0].shape[i] != 1) shape.push_back(in[0].shape[i]);
  }
  out = {{in[0].dtype, shape, in[0].values}};
}
std::vector<OpSample> transpose_samples() {
  return {{.inputs = {{.shape = {2, 3}}}},
          {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"perm", ints({1, 2, 0})}}},
          {.inputs = {{.shape = {2, 1, 3, 2}}}, .attributes = {{"perm", ints({0, -1, 1, 2})}}},
          {.inputs = {{.shape = {}}}},
          {.inputs = {{.shape = {0, 3}}}},
          {.inputs = {{.shape = {35, 67}}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"perm", ints({0, 0})}}, .error = "axis 0 is given twice"},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"perm", ints({0, 2})}}, .error = "axis 2 is out of range"},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"perm", ints({0})}}, .error = "perm names 1 axes of 2"}};
}
void transpose_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const int rank = in[0].shape.rank();
  std::vector<std::int64_t> perm = reference::integers(attributes, "perm");
  if (!reference::has(attributes, "perm")) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  }
  Shape shape;
  for (std::int64_t& axis : perm) {
    if (axis < 0) axis += rank;
    shape.push_back(in[0].shape[static_cast<int>(axis)]);
  }
  out = {build(in[0].dtype, shape, [&](const Position& position) {
    Position from(position.size());
    for (std::size_t i = 0; i < position.size(); ++i) from[static_cast<std::size_t>(perm[i])] = position[i];
    return at(in[0], from);
  })};
}
std::vector<OpSample> reshape_like_samples() {
  return {{.inputs = {{.shape = {2, 3}}, {.shape = {3, 2}, .differentiable = false}}},
          {.inputs = {{.shape = {1, 1}}, {.shape = {}, .differentiable = false}}},
          {.inputs = {{.shape = {0, 2}}, {.shape = {0}, .differentiable = false}}},
          {.inputs = {{.shape = {2}}, {.shape = {3}, .differentiable = false}}, .error = "2 elements do not fill"}};
}
void reshape_like_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {{in[0].dtype, in[1].shape, in[0].values}};
}

const OpTests kShapeTests = {
    {"reshape", {.samples = reshape_samples, .reference = reshape_reference, .dtypes = reference::kEveryDType}},
    {"expand_dims",
     {.samples = expand_dims_samples, .reference = expand_dims_reference, .dtypes = reference::kEveryDType}},
    {"squeeze", {.samples = squeeze_samples, .reference = squeeze_reference, .dtypes = reference::kEveryDType}},
    {"transpose", {.samples = transpose_samples, .reference = transpose_reference, .dtypes = reference::kEveryDType}},
    {"reshape_like",
     {.samples = reshape_like_samples, .reference = reshape_like_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
