// Samples and references of the ops in src/ops/array/index.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::build;
using reference::index_input;
using reference::Position;

std::vector<OpSample> gather_samples() {
  const SampleInput matrix = {.shape = {4, 3}};
  const SampleInput cube = {.shape = {2, 3, 4}};
  return {{.inputs = {matrix, index_input({3}, {2, 0, 2})}},
          {.inputs = {matrix, index_input({}, {1}, DType::kInt64)}},
          {.inputs = {matrix, index_input({2, 2}, {1, 1, 3, 0})}},
          {.inputs = {matrix, index_input({0}, {})}},
          {.inputs = {{.shape = {5}}, index_input({2}, {4, 4})}},
          {.inputs = {cube, index_input({3}, {2, 0, 2})}, .attributes = {{"axis", 1}}},
          {.inputs = {cube, index_input({2}, {3, 3})}, .attributes = {{"axis", -1}}},
          {.inputs = {cube, index_input({2, 2}, {2, 0, 1, 1})}, .attributes = {{"batch_dims", 1}}},
          {.inputs = {cube, index_input({2, 2}, {2, 0, 3, 3})}, .attributes = {{"axis", 2}, {"batch_dims", 1}}},
          {.inputs = {cube, index_input({2, 3}, {0, 1, 2, 3, 3, 3})}, .attributes = {{"axis", -1}, {"batch_dims", -1}}},
          {.inputs = {matrix, index_input({3, 1}, {0, 1, 2})},
           .attributes = {{"axis", 1}, {"batch_dims", 1}},
           .error = "lengths of batch axis 0 differ, 4 and 3"},
          {.inputs = {matrix, index_input({1}, {4})}, .error = "index 4 is out of range for axis 0 of length 4"},
          {.inputs = {matrix, index_input({1}, {-1})}, .error = "index -1 is out of range"},
          {.inputs = {matrix, index_input({1}, {0})}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range"},
          {.inputs = {matrix, index_input({1}, {0}, DType::kFloat32)}, .error = "indices must be int32 or int64"},
          {.inputs = {{.shape = {}}, index_input({1}, {0})}, .error = "the rank is 0"}};
}
void gather_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const int rank = in[0].shape.rank();
  std::int64_t batch = reference::integer(attributes, "batch_dims", 0);
  if (batch < 0) batch += in[1].shape.rank();
  std::int64_t axis = reference::integer(attributes, "axis", batch);
  if (axis < 0) axis += rank;
  const std::int64_t picked = in[1].shape.rank() - batch;
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(in[0].shape[i]);
  for (auto i = static_cast<int>(batch); i < in[1].shape.rank(); ++i) shape.push_back(in[1].shape[i]);
  for (auto i = static_cast<int>(axis) + 1; i < rank; ++i) shape.push_back(in[0].shape[i]);
  out = {build(in[0].dtype, shape, [&](const Position& position) {
    Position where(position.begin(), position.begin() + batch);
    where.insert(where.end(), position.begin() + axis, position.begin() + axis + picked);
    Position from(position.begin(), position.begin() + axis);
    from.push_back(static_cast<std::int64_t>(reference::at(in[1], where)));
    from.insert(from.end(), position.begin() + axis + picked, position.end());
    return reference::at(in[0], from);
  })};
}
std::vector<OpSample> embedding_lookup_samples() {
  return {{.inputs = {{.shape = {4, 3}}, index_input({3}, {2, 0, 2})}},
          {.inputs = {{.shape = {4, 3}}, index_input({}, {3}, DType::kInt64)}},
          {.inputs = {{.shape = {4, 2}}, index_input({2, 2}, {1, 1, 3, 0})}},
          {.inputs = {{.shape = {4, 3}}, index_input({1}, {4})}, .error = "index 4 is out of range"}};
}

const OpTests kIndexTests = {
    {"gather", {.samples = gather_samples, .reference = gather_reference, .dtypes = reference::kEveryDType}},
    {"embedding_lookup",
     {.samples = embedding_lookup_samples, .reference = gather_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
