// Samples and references of the ops in src/ops/array/arrange.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::build;
using reference::ints;
using reference::Position;

std::vector<OpSample> tile_samples() {
  return {{.inputs = {{.shape = {2}}}, .attributes = {{"multiples", ints({3})}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"multiples", ints({2, 2})}}},
          {.inputs = {{.shape = {2, 1, 2}}}, .attributes = {{"multiples", ints({1, 3, 2})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"multiples", ints({})}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"multiples", ints({0})}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"multiples", ints({2})}}, .error = "1 multiples for 2 axes"},
          {.inputs = {{.shape = {2}}}, .attributes = {{"multiples", ints({-1})}}, .error = "negative multiple -1"}};
}
void tile_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  Shape shape(reference::integers(attributes, "multiples"));
  for (int i = 0; i < shape.rank(); ++i) shape.set(i, shape[i] * in[0].shape[i]);
  out = {build(in[0].dtype, shape, [&](Position position) {
    for (int i = 0; i < shape.rank(); ++i) position[static_cast<std::size_t>(i)] %= in[0].shape[i];
    return reference::at(in[0], position);
  })};
}
std::vector<OpSample> repeat_samples() {
  return {{.inputs = {{.shape = {3}}}, .attributes = {{"repeats", 2}}},
          {.inputs = {{.shape = {2, 2}}}, .attributes = {{"repeats", 3}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"repeats", 2}, {"axis", -1}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"repeats", ints({1, 2, 0})}, {"axis", 1}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"repeats", ints({2, 1})}, {"axis", 0}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"repeats", 3}}},
          {.inputs = {{.shape = {3}}},
           .attributes = {{"repeats", ints({1, 2})}, {"axis", 0}},
           .error = "2 repeats for length 3 of axis 0"},
          {.inputs = {{.shape = {3}}}, .attributes = {{"repeats", -1}}, .error = "negative number of repeats"}};
}
void repeat_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  ReferenceTensor x = in[0];
  if (!reference::has(attributes, "axis")) x.shape = {x.shape.size()};
  std::int64_t axis = reference::integer(attributes, "axis", 0);
  if (axis < 0) axis += x.shape.rank();
  const std::vector<std::int64_t> repeats = reference::integers(attributes, "repeats");
  Position places;
  for (std::int64_t i = 0; i < x.shape[static_cast<int>(axis)]; ++i) {
    const std::int64_t times = repeats.size() == 1 ? repeats[0] : repeats[static_cast<std::size_t>(i)];
    places.insert(places.end(), static_cast<std::size_t>(times), i);
  }
  Shape shape = x.shape;
  shape.set(static_cast<int>(axis), static_cast<std::int64_t>(places.size()));
  out = {build(x.dtype, shape, [&](Position position) {
    std::int64_t& along = position[static_cast<std::size_t>(axis)];
    along = places[static_cast<std::size_t>(along)];
    return reference::at(x, position);
  })};
}
std::vector<OpSample> reverse_samples() {
  return {{.inputs = {{.shape = {3}}}, .attributes = {{"axis", ints({0})}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", ints({-1})}}},
          {.inputs = {{.shape = {2, 3, 2}}}, .attributes = {{"axis", ints({0, 2})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"axis", ints({})}}},
          {.inputs = {{.shape = {0, 2}}}, .attributes = {{"axis", 0}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", ints({2})}}, .error = "axis 2 is out of range"},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", ints({1, -1})}}, .error = "axis 1 is given twice"}};
}
void reverse_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {build(in[0].dtype, in[0].shape, [&](Position position) {
    for (std::int64_t axis : reference::integers(attributes, "axis")) {
      if (axis < 0) axis += in[0].shape.rank();
      std::int64_t& along = position[static_cast<std::size_t>(axis)];
      along = in[0].shape[static_cast<int>(axis)] - 1 - along;
    }
    return reference::at(in[0], position);
  })};
}
std::vector<OpSample> roll_samples() {
  return {{.inputs = {{.shape = {4}}}, .attributes = {{"shift", 1}, {"axis", 0}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shift", ints({-1, 2})}, {"axis", ints({0, -1})}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shift", ints({1, 1})}, {"axis", ints({1, 1})}}},
          {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"shift", ints({3, -13})}, {"axis", ints({2, 0})}}},
          {.inputs = {{.shape = {0}}}, .attributes = {{"shift", 1}, {"axis", 0}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"shift", 1}, {"axis", 1}}, .error = "axis 1 is out of range"},
          {.inputs = {{.shape = {3}}},
           .attributes = {{"shift", ints({1, 2})}, {"axis", 0}},
           .error = "2 shifts for 1 axes"}};
}
void roll_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Position shifts = reference::integers(attributes, "shift");
  const Position axes = reference::integers(attributes, "axis");
  out = {build(in[0].dtype, in[0].shape, [&](Position position) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t axis = axes[i] < 0 ? axes[i] + in[0].shape.rank() : axes[i];
      const std::int64_t length = in[0].shape[static_cast<int>(axis)];
      std::int64_t& along = position[static_cast<std::size_t>(axis)];
      along = ((along - shifts[i]) % length + length) % length;
    }
    return reference::at(in[0], position);
  })};
}
std::vector<OpSample> meshgrid_samples() {
  return {{.inputs = {{.shape = {2}}, {.shape = {3}}}},
          {.inputs = {{.shape = {2}}, {.shape = {3}}, {.shape = {2}}}, .attributes = {{"indexing", "ij"}}},
          {.inputs = {{.shape = {}}, {.shape = {3}}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"indexing", "yx"}}, .error = "must be \"xy\" or \"ij\""},
          {.inputs = {{.shape = {2, 2}}}, .error = "argument 0 has rank 2"}};
}
void meshgrid_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const bool swapped = !reference::has(attributes, "indexing") && in.size() > 1;
  const auto axis_of = [&](std::size_t i) { return swapped && i < 2 ? 1 - i : i; };
  std::vector<std::int64_t> dims(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) dims[axis_of(i)] = in[i].shape.size();
  out.clear();
  for (std::size_t i = 0; i < in.size(); ++i) {
    out.push_back(build(in[i].dtype, Shape(dims), [&](const Position& position) {
      return in[i].values[static_cast<std::size_t>(position[axis_of(i)])];
    }));
  }
}

const OpTests kArrangeTests = {
    {"tile", {.samples = tile_samples, .reference = tile_reference, .dtypes = reference::kEveryDType}},
    {"repeat", {.samples = repeat_samples, .reference = repeat_reference, .dtypes = reference::kEveryDType}},
    {"reverse", {.samples = reverse_samples, .reference = reverse_reference, .dtypes = reference::kEveryDType}},
    {"roll", {.samples = roll_samples, .reference = roll_reference, .dtypes = reference::kEveryDType}},
    {"meshgrid", {.samples = meshgrid_samples, .reference = meshgrid_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
