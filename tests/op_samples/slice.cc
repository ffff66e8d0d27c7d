// Samples and references of the ops in src/ops/array/slice.cc.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;
using reference::Position;
using List = std::vector<AttributeValue>;

const AttributeValue none;
AttributeMap index(List items) { return {{"index", AttributeValue(std::move(items))}}; }

std::vector<OpSample> getitem_samples() {
  const std::vector<SampleInput> vector = {{.shape = {5}}};
  const std::vector<SampleInput> matrix = {{.shape = {4, 3}}};
  const std::vector<SampleInput> cube = {{.shape = {2, 3, 4}}};
  return {
      {.inputs = vector, .attributes = index({-1})},
      {.inputs = vector, .attributes = index({List{4, 0, -2}})},
      {.inputs = vector, .attributes = index({List{none, none, 2}})},
      {.inputs = vector, .attributes = index({List{-100, 100, none}})},
      {.inputs = vector, .attributes = index({List{3, 1, none}})},
      {.inputs = matrix, .attributes = index({List{1, 3, none}})},
      {.inputs = matrix, .attributes = index({List{none, none, none}, 2})},
      {.inputs = matrix, .attributes = index({1, "newaxis", List{none, none, -1}})},
      {.inputs = cube, .attributes = index({"...", 0})},
      {.inputs = cube, .attributes = index({-1, List{none, none, -2}, 3})},
      {.inputs = cube, .attributes = index({0, "...", List{1, 3, none}})},
      {.inputs = {{.shape = {}}}, .attributes = index({"newaxis", "..."})},
      {.inputs = {{.shape = {0, 3}}}, .attributes = index({List{none, none, none}, 1})},
      {.inputs = {{.shape = {1, 2, 1, 2, 1, 2, 1, 2}}},
       .attributes = index({0, List{-2, 9, 1}, 0, List{-9, -1, none}, -1, List{none, none, -1}, 0, List{1, 2, none}})},
      {.inputs = vector, .attributes = index({5}), .error = "index 5 is out of range for axis 0 of length 5"},
      {.inputs = vector, .attributes = index({-6}), .error = "index -6 is out of range"},
      {.inputs = vector, .attributes = index({0, 0}), .error = "2 indices for 1 axes"},
      {.inputs = vector, .attributes = index({List{none, none, 0}}), .error = "the step of axis 0 is 0"},
      {.inputs = vector, .attributes = index({"...", "..."}), .error = "2 ellipses"},
      {.inputs = vector, .attributes = index({"x"}), .error = "must list numbers"}};
}

// For every element of the result the position in x that it comes from, found by walking along each
// axis.
std::vector<std::size_t> selected(const Shape& x, const AttributeMap& attributes, Shape* shape) {
  const List& items = attributes.at("index").list;
  int missing = x.rank();
  for (const AttributeValue& item : items) missing -= item.kind != AttributeValue::Kind::kString;
  std::vector<std::vector<std::int64_t>> places;  // per axis of x
  std::vector<int> dropped;
  const auto all = [&] {
    std::vector<std::int64_t> every;
    for (std::int64_t i = 0; i < x[static_cast<int>(places.size())]; ++i) every.push_back(i);
    shape->push_back(static_cast<std::int64_t>(every.size()));
    places.push_back(every);
  };
  for (const AttributeValue& item : items) {
    if (item.kind == AttributeValue::Kind::kString) {
      if (item.text == "newaxis") {
        shape->push_back(1);
      } else {
        while (missing-- > 0) all();
      }
      continue;
    }
    const std::int64_t n = x[static_cast<int>(places.size())];
    if (item.kind == AttributeValue::Kind::kInt) {
      places.push_back({item.integer < 0 ? item.integer + n : item.integer});
      continue;
    }
    const auto part = [&](std::size_t i, std::int64_t fallback) {
      if (item.list[i].kind == AttributeValue::Kind::kNone) return fallback;
      return item.list[i].integer < 0 && i < 2 ? item.list[i].integer + n : item.list[i].integer;
    };
    const std::int64_t step = part(2, 1);
    const std::int64_t end = part(1, step > 0 ? n : -1);
    std::vector<std::int64_t> taken;
    std::int64_t i = part(0, step > 0 ? 0 : n - 1);
    if (step > 0 && i < 0) i = 0;
    if (step < 0 && i >= n) i = n - 1;
    for (; step > 0 ? i < end && i < n : i > end && i >= 0; i += step) taken.push_back(i);
    shape->push_back(static_cast<std::int64_t>(taken.size()));
    places.push_back(taken);
  }
  while (static_cast<int>(places.size()) < x.rank()) all();
  Shape grid;
  for (const auto& taken : places) grid.push_back(static_cast<std::int64_t>(taken.size()));
  std::vector<std::size_t> sources;
  reference::for_each(grid, [&](const Position& position) {
    Position from(position.size());
    for (std::size_t i = 0; i < position.size(); ++i) from[i] = places[i][static_cast<std::size_t>(position[i])];
    sources.push_back(reference::flat(x, from));
  });
  return sources;
}

void getitem_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  ReferenceTensor result{in[0].dtype, {}, {}};
  for (std::size_t source : selected(in[0].shape, attributes, &result.shape)) {
    result.values.push_back(in[0].values[source]);
  }
  out = {result};
}
std::vector<OpSample> getitem_adjoint_samples() {
  const SampleInput cube = {.shape = {2, 3, 4}, .differentiable = false};
  const SampleInput vector = {.shape = {5}, .differentiable = false};
  return {{.inputs = {{.shape = {}}, vector}, .attributes = index({-1})},
          {.inputs = {{.shape = {3}}, vector}, .attributes = index({List{none, none, -2}})},
          {.inputs = {{.shape = {0}}, vector}, .attributes = index({List{3, 1, none}})},
          {.inputs = {{.shape = {3, 4}}, cube}, .attributes = index({1})},
          {.inputs = {{.shape = {2, 3}}, cube}, .attributes = index({"...", 2})},
          {.inputs = {{.shape = {2}}, vector}, .attributes = index({2}), .error = "selects the shape [], not [2]"}};
}
void getitem_adjoint_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  Shape shape;
  const std::vector<std::size_t> sources = selected(in[1].shape, attributes, &shape);
  out = {reference::build(in[0].dtype, in[1].shape, [](const Position&) { return 0.0; })};
  for (std::size_t i = 0; i < sources.size(); ++i) out[0].values[sources[i]] = in[0].values[i];
}
std::vector<OpSample> with_slice_samples() {
  const SampleInput cube = {.shape = {2, 3, 4}};
  const SampleInput vector = {.shape = {5}};
  return {{.inputs = {vector, {.shape = {}}}, .attributes = index({-1})},
          {.inputs = {vector, {.shape = {3}}}, .attributes = index({List{none, none, -2}})},
          {.inputs = {vector, {.shape = {0}}}, .attributes = index({List{3, 1, none}})},
          {.inputs = {cube, {.shape = {3, 4}}}, .attributes = index({1})},
          {.inputs = {cube, {.shape = {2, 3}}}, .attributes = index({"...", 2})},
          {.inputs = {cube, {.shape = {}}}, .attributes = index({0, List{1, 3, none}, -1})},
          {.inputs = {cube, {.shape = {2, 1}}}, .attributes = index({0, List{1, 3, none}, -1, "newaxis"})},
          {.inputs = {vector, {.shape = {2}}}, .attributes = index({2}), .error = "does not broadcast"},
          {.inputs = {vector, {.shape = {}}}, .attributes = index({5}), .error = "index 5 is out of range"}};
}
void with_slice_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  Shape shape;
  const std::vector<std::size_t> sources = selected(in[0].shape, attributes, &shape);
  out = {in[0]};
  const bool one = in[1].values.size() == 1;
  for (std::size_t i = 0; i < sources.size(); ++i) out[0].values[sources[i]] = in[1].values[one ? 0 : i];
}
std::vector<OpSample> slice_samples() {
  const std::vector<SampleInput> vector = {{.shape = {5}}};
  return {{.inputs = vector, .attributes = {{"begin", ints({1})}, {"size", ints({3})}}},
          {.inputs = vector, .attributes = {{"begin", ints({5})}, {"size", ints({-1})}}},
          {.inputs = {{.shape = {3, 4}}}, .attributes = {{"begin", ints({1, 0})}, {"size", ints({-1, 2})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"begin", ints({})}, {"size", ints({})}}},
          {.inputs = vector,
           .attributes = {{"begin", ints({3})}, {"size", ints({3})}},
           .error = "begin 3 and size 3 exceed length 5 at axis 0"},
          {.inputs = vector,
           .attributes = {{"begin", ints({-1})}, {"size", ints({1})}},
           .error = "begin -1 is out of range for axis 0"},
          {.inputs = vector,
           .attributes = {{"begin", ints({0, 0})}, {"size", ints({1, 1})}},
           .error = "2 begins and 2 sizes for 1 axes"}};
}
void slice_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Position begin = reference::integers(attributes, "begin");
  Shape shape(reference::integers(attributes, "size"));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) shape.set(i, in[0].shape[i] - begin[static_cast<std::size_t>(i)]);
  }
  out = {reference::build(in[0].dtype, shape, [&](const Position& position) {
    Position from = position;
    for (std::size_t i = 0; i < from.size(); ++i) from[i] += begin[i];
    return reference::at(in[0], from);
  })};
}
std::vector<OpSample> strided_slice_samples() {
  const std::vector<SampleInput> matrix = {{.shape = {4, 4}}};
  return {{.inputs = matrix, .attributes = {{"begin", ints({0, 1})}, {"end", ints({4, 4})}, {"strides", ints({2, 1})}}},
          {.inputs = matrix,
           .attributes = {{"begin", ints({1, 0})}, {"end", ints({2, 3})}, {"begin_mask", 2}, {"shrink_axis_mask", 1}}},
          {.inputs = {{.shape = {5}}},
           .attributes = {{"begin", ints({4})}, {"end", ints({0})}, {"strides", ints({-1})}, {"end_mask", 1}}},
          {.inputs = {{.shape = {2, 3}}},
           .attributes =
               {{"begin", ints({0, 0, 1})}, {"end", ints({0, 0, 2})}, {"ellipsis_mask", 1}, {"new_axis_mask", 2}}},
          {.inputs = matrix,
           .attributes = {{"begin", ints({0, 1})}, {"end", ints({4})}},
           .error = "2 begins, 1 ends and 2 strides"}};
}
void strided_slice_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Position begin = reference::integers(attributes, "begin");
  const Position end = reference::integers(attributes, "end");
  const Position strides = reference::integers(attributes, "strides");
  const auto masked = [&](const char* mask, std::size_t i) {
    return (reference::integer(attributes, mask, 0) >> i & 1) != 0;
  };
  List items;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (masked("ellipsis_mask", i)) {
      items.emplace_back("...");
    } else if (masked("new_axis_mask", i)) {
      items.emplace_back("newaxis");
    } else if (masked("shrink_axis_mask", i)) {
      items.emplace_back(begin[i]);
    } else {
      items.emplace_back(List{masked("begin_mask", i) ? none : AttributeValue(begin[i]),
                              masked("end_mask", i) ? none : AttributeValue(end[i]),
                              strides.empty() ? none : AttributeValue(strides[i])});
    }
  }
  getitem_reference(in, index(items), out);
}

const OpTests kSliceTests = {
    {"getitem", {.samples = getitem_samples, .reference = getitem_reference, .dtypes = reference::kEveryDType}},
    {"getitem_adjoint",
     {.samples = getitem_adjoint_samples, .reference = getitem_adjoint_reference, .dtypes = reference::kEveryDType}},
    {"with_slice",
     {.samples = with_slice_samples, .reference = with_slice_reference, .dtypes = reference::kEveryDType}},
    {"slice", {.samples = slice_samples, .reference = slice_reference, .dtypes = reference::kEveryDType}},
    {"strided_slice",
     {.samples = strided_slice_samples, .reference = strided_slice_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
