// Samples and references of the ops in src/ops/array/mask.cc.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::build;
using reference::dtype_of;
using reference::index_input;
using reference::Position;

std::vector<OpSample> one_hot_samples() {
  return {{.inputs = {index_input({3}, {2, 0, 1})}, .attributes = {{"depth", 3}}},
          {.inputs = {index_input({}, {1}, DType::kInt64)}, .attributes = {{"depth", 2}, {"dtype", "float64"}}},
          {.inputs = {index_input({2, 2}, {0, 3, -1, 2}, DType::kInt64)},
           .attributes = {{"depth", 3}, {"axis", 1}, {"on_value", 5}, {"off_value", -1}, {"dtype", "int32"}}},
          {.inputs = {index_input({2}, {0, 1})}, .attributes = {{"depth", 0}}},
          {.inputs = {index_input({0}, {})}, .attributes = {{"depth", 2}, {"axis", 0}}},
          {.inputs = {index_input({1}, {0})}, .attributes = {{"depth", -1}}, .error = "depth is -1"},
          {.inputs = {index_input({1}, {0})}, .attributes = {{"depth", 2}, {"axis", 4}}, .error = "axis 4 is out of"}};
}
void one_hot_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  std::int64_t axis = reference::integer(attributes, "axis", -1);
  if (axis < 0) axis += in[0].shape.rank() + 1;
  dims.insert(dims.begin() + axis, reference::integer(attributes, "depth", 0));
  out = {build(dtype_of(attributes, DType::kFloat32), Shape(dims), [&](const Position& position) {
    Position from = position;
    from.erase(from.begin() + axis);
    const auto depth = static_cast<double>(position[static_cast<std::size_t>(axis)]);
    return reference::at(in[0], from) == depth ? reference::number(attributes, "on_value", 1)
                                               : reference::number(attributes, "off_value", 0);
  })};
}
SampleInput mask_input(const Shape& shape, std::vector<double> values) {
  return index_input(shape, std::move(values), DType::kBool);
}
std::vector<OpSample> where_indices_samples() {
  return {{.inputs = {mask_input({2, 2}, {1, 0, 1, 1})}},
          {.inputs = {mask_input({3}, {0, 0, 0})}},
          {.inputs = {index_input({2, 1, 2}, {0, -3, 7, 0})}},
          {.inputs = {mask_input({0, 2}, {})}},
          {.inputs = {mask_input({}, {1})}, .error = "must have an axis"}};
}
void where_indices_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {{DType::kInt64, {}, {}}};
  std::int64_t count = 0;
  reference::for_each(in[0].shape, [&](const Position& position) {
    if (reference::at(in[0], position) == 0) return;
    ++count;
    for (std::int64_t i : position) out[0].values.push_back(static_cast<double>(i));
  });
  out[0].shape = {count, in[0].shape.rank()};
}
std::vector<OpSample> boolean_mask_samples() {
  return {{.inputs = {{.shape = {4}}, mask_input({4}, {1, 0, 1, 1})}},
          {.inputs = {{.shape = {2, 3}}, mask_input({2, 3}, {1, 0, 1, 0, 1, 0})}},
          {.inputs = {{.shape = {2, 3}}, mask_input({2}, {0, 1})}},
          {.inputs = {{.shape = {2, 3}}, mask_input({3}, {1, 0, 1})}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {3}}, mask_input({3}, {0, 0, 0})}},
          {.inputs = {{.shape = {3}}, mask_input({2}, {1, 0})}, .error = "does not fit"},
          {.inputs = {{.shape = {3}}, mask_input({}, {1})}, .error = "the mask must have an axis"}};
}
void boolean_mask_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::int64_t axis = reference::integer(attributes, "axis", 0);
  if (axis < 0) axis += in[0].shape.rank();
  const int masked = in[1].shape.rank();
  std::int64_t count = 0;
  for (double value : in[1].values) count += value != 0;
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(in[0].shape[i]);
  shape.push_back(count);
  for (auto i = static_cast<int>(axis) + masked; i < in[0].shape.rank(); ++i) shape.push_back(in[0].shape[i]);
  out = {{in[0].dtype, shape, {}}};
  reference::for_each(in[0].shape, [&](const Position& position) {
    const Position place(position.begin() + axis, position.begin() + axis + masked);
    if (reference::at(in[1], place) != 0) out[0].values.push_back(reference::at(in[0], position));
  });
}
std::vector<OpSample> sequence_mask_samples() {
  return {{.inputs = {index_input({3}, {1, 3, 0})}},
          {.inputs = {index_input({2}, {1, 9}, DType::kInt64)}, .attributes = {{"maxlen", 4}, {"dtype", "float32"}}},
          {.inputs = {index_input({}, {2})}, .attributes = {{"maxlen", 2}}},
          {.inputs = {index_input({2, 2}, {0, 1, 2, 3})}, .attributes = {{"dtype", "int32"}}},
          {.inputs = {index_input({1}, {1})}, .attributes = {{"maxlen", -1}}, .error = "maxlen is -1"}};
}
void sequence_mask_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  double longest = 0;
  for (double length : in[0].values) longest = std::max(longest, length);
  Shape shape = in[0].shape;
  shape.push_back(reference::integer(attributes, "maxlen", static_cast<std::int64_t>(longest)));
  out = {build(dtype_of(attributes, DType::kBool), shape, [&](const Position& position) {
    const Position which(position.begin(), position.end() - 1);
    return static_cast<double>(position.back()) < reference::at(in[0], which) ? 1.0 : 0.0;
  })};
}

const OpTests kMaskTests = {
    {"one_hot", {.samples = one_hot_samples, .reference = one_hot_reference}},
    {"where_indices", {.samples = where_indices_samples, .reference = where_indices_reference}},
    {"boolean_mask",
     {.samples = boolean_mask_samples, .reference = boolean_mask_reference, .dtypes = reference::kEveryDType}},
    {"sequence_mask", {.samples = sequence_mask_samples, .reference = sequence_mask_reference}},
};

}  // namespace

}  // namespace capstan::testing
