// Samples and references of the ops in src/ops/sort/sort.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::index_input;
using reference::Position;

std::vector<OpSample> sort_samples() {
  std::vector<double> apart;  // far enough from each other for differences
  for (int i = 0; i < 600; ++i) apart.push_back(i * 371 % 601);
  return {{.inputs = {{.shape = {5}}}},
          {.inputs = {{.shape = {2, 7}}}, .attributes = {{"direction", "DESCENDING"}}},
          {.inputs = {{.shape = {3, 4, 2}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {300, 2}, .values = apart}}, .attributes = {{"axis", 0}, {"direction", "DESCENDING"}}},
          {.inputs = {{.shape = {2, 0}}}},
          {.inputs = {{.shape = {1}}}, .attributes = {{"axis", 0}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"direction", "UP"}}, .error = "not UP"},
          {.inputs = {{.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"},
          {.inputs = {{.shape = {}}}, .error = "axis -1 is out of range for rank 0"}};
}

// Where the elements of a sorted tensor come from, as positions along the axis.
ReferenceTensor order_of(const ReferenceTensor& x, const AttributeMap& attributes) {
  const int rank = x.shape.rank();
  std::int64_t axis = reference::integer(attributes, "axis", -1);
  if (axis < 0) axis += rank;
  const auto along = static_cast<std::size_t>(axis);
  const bool descending = reference::has(attributes, "direction") && attributes.at("direction").text == "DESCENDING";
  ReferenceTensor order{DType::kInt32, x.shape, std::vector<double>(x.values.size())};
  reference::for_each(x.shape, [&](const Position& position) {
    const double mine = reference::at(x, position);
    std::int64_t before = 0;
    Position other = position;
    for (std::int64_t i = 0; i < x.shape[static_cast<int>(axis)]; ++i) {
      other[along] = i;
      const double value = reference::at(x, other);
      before += value != mine ? (value < mine) != descending : i < position[along];
    }
    other[along] = before;
    order.values[reference::flat(x.shape, other)] = static_cast<double>(position[along]);
  });
  return order;
}
void argsort_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {order_of(in[0], attributes)};
}
void sort_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const ReferenceTensor order = order_of(in[0], attributes);
  std::int64_t axis = reference::integer(attributes, "axis", -1);
  if (axis < 0) axis += in[0].shape.rank();
  out = {reference::build(in[0].dtype, in[0].shape, [&](Position position) {
    position[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(reference::at(order, position));
    return reference::at(in[0], position);
  })};
}
std::vector<OpSample> top_k_samples() {
  return {{.inputs = {{.shape = {5}}}, .attributes = {{"k", 2}}},
          {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"k", 4}}},
          {.inputs = {{.shape = {2, 40}}}, .attributes = {{"k", 3}, {"sorted", false}}},
          {.inputs = {{.shape = {3}}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"k", 0}}},
          {.inputs = {{.shape = {0, 3}}}, .attributes = {{"k", 2}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"k", 4}}, .error = "k is 4, the last axis has 3"},
          {.inputs = {{.shape = {3}}}, .attributes = {{"k", -1}}, .error = "k is -1"},
          {.inputs = {{.shape = {}}}, .error = "a scalar has no elements"}};
}
void top_k_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const ReferenceTensor order = order_of(in[0], {{"direction", "DESCENDING"}});
  Shape shape = in[0].shape;
  shape.set(-1, reference::integer(attributes, "k", 1));
  const auto place = [&](const Position& position) { return reference::at(order, position); };
  out = {reference::build(in[0].dtype, shape,
                          [&](Position position) {
                            position.back() = static_cast<std::int64_t>(place(position));
                            return reference::at(in[0], position);
                          }),
         reference::build(DType::kInt32, shape, place)};
}
std::vector<OpSample> in_top_k_samples() {
  const SampleInput rows = {.shape = {3, 3}, .values = {0.1, 0.9, 0.3, 0.5, 0.2, 0.5, 1, 2, 3}};
  return {{.inputs = {index_input({3}, {0, 2, 1}), rows}, .attributes = {{"k", 1}}},
          {.inputs = {index_input({3}, {2, 1, 3}, DType::kInt64), rows}, .attributes = {{"k", 2}}},
          {.inputs = {index_input({0}, {}), {.shape = {0, 3}}}, .attributes = {{"k", 2}}},
          {.inputs = {index_input({2}, {0, 0}), rows}, .attributes = {{"k", 1}}, .error = "must be [batch] and"},
          {.inputs = {index_input({3}, {0, 0, 0}, DType::kFloat32), rows},
           .attributes = {{"k", 1}},
           .error = "targets must be int32 or int64"}};
}
void in_top_k_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {reference::build(DType::kBool, in[0].shape, [&](const Position& position) {
    const auto target = static_cast<std::int64_t>(reference::at(in[0], position));
    if (target < 0 || target >= in[1].shape[1]) return 0.0;
    std::int64_t larger = 0;
    for (std::int64_t i = 0; i < in[1].shape[1]; ++i) {
      larger += reference::at(in[1], {position[0], i}) > reference::at(in[1], {position[0], target});
    }
    return larger < reference::integer(attributes, "k", 1) ? 1.0 : 0.0;
  })};
}
std::vector<OpSample> searchsorted_samples() {
  const SampleInput sorted = {.shape = {4}, .values = {0, 1, 1, 3}};
  const SampleInput values = {.shape = {5}, .values = {1, 0, 4, 3, 2}};
  return {{.inputs = {sorted, values}},
          {.inputs = {sorted, values}, .attributes = {{"side", "right"}, {"out_type", "int64"}}},
          {.inputs = {{.shape = {2, 2}, .values = {0, 1, 2, 3}}, {.shape = {2, 1}, .values = {1, 1}}}},
          {.inputs = {{.shape = {0}}, values}},
          {.inputs = {sorted, {.shape = {0}}}},
          {.inputs = {sorted, {.shape = {2, 2}}}, .error = "leading axes differ, [4] and [2, 2]"},
          {.inputs = {sorted, values}, .attributes = {{"side", "middle"}}, .error = "not middle"}};
}
void searchsorted_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const bool right = reference::has(attributes, "side") && attributes.at("side").text == "right";
  const DType dtype = reference::has(attributes, "out_type") ? DType::kInt64 : DType::kInt32;
  out = {reference::build(dtype, in[1].shape, [&](Position position) {
    const double value = reference::at(in[1], position);
    double before = 0;
    for (std::int64_t i = 0; i < in[0].shape[-1]; ++i) {
      position.back() = i;
      const double x = reference::at(in[0], position);
      before += x < value || (right && x == value);
    }
    return before;
  })};
}

const OpTests kSortTests = {
    {"sort", {.samples = sort_samples, .reference = sort_reference, .dtypes = reference::kOrderedDTypes}},
    {"argsort", {.samples = sort_samples, .reference = argsort_reference, .dtypes = reference::kOrderedDTypes}},
    {"top_k", {.samples = top_k_samples, .reference = top_k_reference, .dtypes = reference::kRealDTypes}},
    {"in_top_k", {.samples = in_top_k_samples, .reference = in_top_k_reference}},
    {"searchsorted",
     {.samples = searchsorted_samples, .reference = searchsorted_reference, .dtypes = reference::kRealDTypes}},
};

}  // namespace

}  // namespace capstan::testing
