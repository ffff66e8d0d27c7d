// Samples and references of the ops in src/ops/rearrange/place.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::index_input;
using reference::ints;
using reference::Position;

std::vector<OpSample> reverse_sequence_samples() {
  return {
      {.inputs = {{.shape = {3, 4}}, index_input({3}, {4, 0, 2})}, .attributes = {{"seq_axis", 1}}},
      {.inputs = {{.shape = {3, 2, 2}}, index_input({2}, {3, 2}, DType::kInt64)},
       .attributes = {{"seq_axis", 0}, {"batch_axis", 1}}},
      {.inputs = {{.shape = {2, 2, 3}}, index_input({2}, {1, 3})}, .attributes = {{"seq_axis", -1}, {"batch_axis", 1}}},
      {.inputs = {{.shape = {0, 3}}, index_input({0}, {})}, .attributes = {{"seq_axis", 1}}},
      {.inputs = {{.shape = {2, 3}}, index_input({2}, {1, 4})},
       .attributes = {{"seq_axis", 1}},
       .error = "length 4 is not from 0 to 3"},
      {.inputs = {{.shape = {2, 3}}, index_input({3}, {1, 1, 1})},
       .attributes = {{"seq_axis", 1}},
       .error = "must be one for each of 2 places"},
      {.inputs = {{.shape = {2, 3}}, index_input({2}, {1, 1})},
       .attributes = {{"seq_axis", 0}},
       .error = "axis 0 is both"}};
}
void reverse_sequence_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const int rank = in[0].shape.rank();
  const auto axis = [&](const char* name) {
    const std::int64_t given = reference::integer(attributes, name, 0);
    return static_cast<std::size_t>(given < 0 ? given + rank : given);
  };
  out = {reference::build(in[0].dtype, in[0].shape, [&](Position position) {
    const auto length = static_cast<std::int64_t>(reference::at(in[1], {position[axis("batch_axis")]}));
    std::int64_t& place = position[axis("seq_axis")];
    if (place < length) place = length - 1 - place;
    return reference::at(in[0], position);
  })};
}
std::vector<OpSample> invert_permutation_samples() {
  return {{.inputs = {index_input({4}, {2, 0, 3, 1})}},
          {.inputs = {index_input({3}, {0, 2, 1}, DType::kInt64)}},
          {.inputs = {index_input({0}, {})}},
          {.inputs = {index_input({3}, {0, 2, 0})}, .error = "0 stands at 0 and at 2"},
          {.inputs = {index_input({2}, {0, 2})}, .error = "element 2 is not from 0 to 1"},
          {.inputs = {index_input({1, 1}, {0})}, .error = "x must be a vector"}};
}
void invert_permutation_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {in[0]};
  for (std::size_t i = 0; i < in[0].values.size(); ++i) {
    out[0].values[static_cast<std::size_t>(in[0].values[i])] = static_cast<double>(i);
  }
}
std::vector<OpSample> ensure_shape_samples() {
  return {{.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({2, -1})}}},
          {.inputs = {{.shape = {}}}, .attributes = {{"shape", ints({})}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({2, 4})}}, .error = "[2, 3] is not [2, 4]"},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"shape", ints({2})}}, .error = "[2, 3] is not [2]"}};
}
std::vector<OpSample> one_hot_of_samples() {
  return {{.inputs = {index_input({3}, {0, 2, 7}), {.shape = {}}, {.shape = {}}}, .attributes = {{"depth", 3}}},
          {.inputs = {index_input({2, 2}, {0, 1, -1, 1}), {.shape = {}}, {.shape = {}}},
           .attributes = {{"depth", 2}, {"axis", 1}}},
          {.inputs = {index_input({1}, {0}), {.shape = {2}}, {.shape = {}}},
           .attributes = {{"depth", 2}},
           .error = "the values must be scalars"},
          {.inputs = {index_input({1}, {0}), {.shape = {}}, {.shape = {}}},
           .attributes = {{"depth", -1}},
           .error = "depth is -1"}};
}
void one_hot_of_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  std::int64_t axis = reference::integer(attributes, "axis", -1);
  if (axis < 0) axis += in[0].shape.rank() + 1;
  dims.insert(dims.begin() + axis, attributes.at("depth").integer);
  out = {reference::build(in[1].dtype, Shape(dims), [&](const Position& position) {
    Position from = position;
    from.erase(from.begin() + axis);
    const auto depth = static_cast<double>(position[static_cast<std::size_t>(axis)]);
    return reference::at(in[0], from) == depth ? in[1].values[0] : in[2].values[0];
  })};
}
std::vector<OpSample> range_of_samples() {
  const auto number = [](double value) { return SampleInput{.shape = {}, .values = {value}}; };
  return {{.inputs = {number(0.5), number(3), number(1)}},
          {.inputs = {number(2), number(2), number(-1)}},
          {.inputs = {number(2), number(-2), number(-2)}},
          {.inputs = {number(0), number(2), number(0)}, .error = "delta is 0"},
          {.inputs = {{.shape = {2}}, number(2), number(1)}, .error = "must be scalars"}};
}
void range_of_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {{in[0].dtype, {}, {}}};
  const double delta = in[2].values[0];
  for (double x = in[0].values[0]; delta > 0 ? x < in[1].values[0] : x > in[1].values[0]; x += delta) {
    out[0].values.push_back(x);
  }
  out[0].shape = {static_cast<std::int64_t>(out[0].values.size())};
}

const OpTests kPlaceTests = {
    {"reverse_sequence",
     {.samples = reverse_sequence_samples, .reference = reverse_sequence_reference, .dtypes = reference::kEveryDType}},
    {"invert_permutation", {.samples = invert_permutation_samples, .reference = invert_permutation_reference}},
    {"ensure_shape",
     {.samples = ensure_shape_samples,
      .reference = [](const Inputs& in, const AttributeMap&, Outputs& out) { out = in; }}},
    {"one_hot_of", {.samples = one_hot_of_samples, .reference = one_hot_of_reference}},
    {"range_of", {.samples = range_of_samples, .reference = range_of_reference}},
};

}  // namespace

}  // namespace capstan::testing
