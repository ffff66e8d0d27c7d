// Samples and references of the ops in src/ops/array/array.cc.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;
using reference::Position;

// An axis that may count from the end of `rank` axes.
std::int64_t axis_of(const AttributeMap& attributes, int rank) {
  const std::int64_t axis = reference::integer(attributes, "axis", 0);
  return axis < 0 ? axis + rank : axis;
}

std::vector<OpSample> concat_samples() {
  return {{.inputs = {{.shape = {2}}, {.shape = {3}}}, .attributes = {{"axis", 0}}},
          {.inputs = {{.shape = {2, 3}}, {.shape = {2, 1}}, {.shape = {2, 2}}}, .attributes = {{"axis", -1}}},
          {.inputs = {{.shape = {2, 1, 2}}, {.shape = {2, 3, 2}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {0, 2}}, {.shape = {1, 2}}}, .attributes = {{"axis", 0}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"axis", 0}}},
          {.inputs = {}, .attributes = {{"axis", 0}}, .error = "there are no tensors"},
          {.inputs = {{.shape = {}}}, .attributes = {{"axis", 0}}, .error = "scalars have no axis"},
          {.inputs = {{.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"},
          {.inputs = {{.shape = {2, 2}}, {.shape = {2, 3}}},
           .attributes = {{"axis", 0}},
           .error = "shapes differ beside axis 0, [2, 2] and [2, 3]"}};
}
void concat_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const auto axis = static_cast<int>(axis_of(attributes, in[0].shape.rank()));
  Shape shape = in[0].shape;
  for (std::size_t i = 1; i < in.size(); ++i) shape.set(axis, shape[axis] + in[i].shape[axis]);
  out = {reference::build(in[0].dtype, shape, [&](Position position) {
    std::int64_t& along = position[static_cast<std::size_t>(axis)];
    std::size_t i = 0;
    while (along >= in[i].shape[axis]) along -= in[i++].shape[axis];
    return reference::at(in[i], position);
  })};
}
std::vector<OpSample> stack_samples() {
  return {{.inputs = {{.shape = {}}, {.shape = {}}, {.shape = {}}}},
          {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}, .attributes = {{"axis", -1}}},
          {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {0}}, {.shape = {0}}}},
          {.inputs = {{.shape = {2}}, {.shape = {3}}}, .error = "shapes differ, [2] and [3]"},
          {.inputs = {{.shape = {2}}}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range for rank 2"}};
}
void stack_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t axis = axis_of(attributes, in[0].shape.rank() + 1);
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  dims.insert(dims.begin() + axis, static_cast<std::int64_t>(in.size()));
  out = {reference::build(in[0].dtype, Shape(dims), [&](Position position) {
    const auto which = static_cast<std::size_t>(position[static_cast<std::size_t>(axis)]);
    position.erase(position.begin() + axis);
    return reference::at(in[which], position);
  })};
}
std::vector<OpSample> unstack_samples() {
  return {{.inputs = {{.shape = {3}}}},
          {.inputs = {{.shape = {2, 3}}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {2, 3, 2}}}, .attributes = {{"axis", -2}, {"num", 3}}},
          {.inputs = {{.shape = {2, 0}}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"num", 5}}, .error = "num is 5, the length of axis 0 is 3"},
          {.inputs = {{.shape = {}}}, .error = "a scalar has no axis"},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range for rank 2"}};
}
void unstack_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t axis = axis_of(attributes, in[0].shape.rank());
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  const std::int64_t count = dims[static_cast<std::size_t>(axis)];
  dims.erase(dims.begin() + axis);
  out.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    out.push_back(reference::build(in[0].dtype, Shape(dims), [&](Position position) {
      position.insert(position.begin() + axis, i);
      return reference::at(in[0], position);
    }));
  }
}
std::vector<OpSample> split_samples() {
  return {
      {.inputs = {{.shape = {4}}}, .attributes = {{"sizes", 2}}},
      {.inputs = {{.shape = {2, 6}}}, .attributes = {{"sizes", 3}, {"axis", -1}}},
      {.inputs = {{.shape = {4, 2}}}, .attributes = {{"sizes", ints({1, 3})}}},
      {.inputs = {{.shape = {2, 5}}}, .attributes = {{"sizes", ints({2, -1})}, {"axis", 1}}},
      {.inputs = {{.shape = {4}}}, .attributes = {{"sizes", ints({0, 4})}}},
      {.inputs = {{.shape = {5}}}, .attributes = {{"sizes", 2}}, .error = "length 5 of axis 0 does not divide into 2"},
      {.inputs = {{.shape = {5}}}, .attributes = {{"sizes", 0}}, .error = "0 parts"},
      {.inputs = {{.shape = {5}}}, .attributes = {{"sizes", ints({2, 2})}}, .error = "the sizes add up to 4"},
      {.inputs = {{.shape = {5}}}, .attributes = {{"sizes", ints({-1, -1})}}, .error = "more than one size is -1"}};
}
void split_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const auto axis = static_cast<std::size_t>(axis_of(attributes, in[0].shape.rank()));
  const std::int64_t length = in[0].shape[static_cast<int>(axis)];
  std::vector<std::int64_t> sizes = reference::integers(attributes, "sizes");
  if (attributes.at("sizes").kind == AttributeValue::Kind::kInt) {
    sizes.assign(static_cast<std::size_t>(sizes[0]), length / sizes[0]);
  }
  std::int64_t rest = length;
  for (std::int64_t size : sizes) rest -= std::max<std::int64_t>(size, 0);
  out.clear();
  std::int64_t begin = 0;
  for (std::int64_t size : sizes) {
    Shape shape = in[0].shape;
    shape.set(static_cast<int>(axis), size == -1 ? rest : size);
    out.push_back(reference::build(in[0].dtype, shape, [&](Position position) {
      position[axis] += begin;
      return reference::at(in[0], position);
    }));
    begin += shape[static_cast<int>(axis)];
  }
}

const OpTests kArrayTests = {
    {"concat", {.samples = concat_samples, .reference = concat_reference, .dtypes = reference::kEveryDType}},
    {"stack", {.samples = stack_samples, .reference = stack_reference, .dtypes = reference::kEveryDType}},
    {"unstack", {.samples = unstack_samples, .reference = unstack_reference, .dtypes = reference::kEveryDType}},
    {"split", {.samples = split_samples, .reference = split_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
