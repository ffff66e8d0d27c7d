// Samples and references of the ops in src/ops/array/scatter.cc.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::build;
using reference::index_input;
using reference::ints;
using reference::Position;

std::vector<OpSample> gather_nd_samples() {
  const SampleInput matrix = {.shape = {2, 3}};
  return {{.inputs = {matrix, index_input({2, 2}, {0, 1, 1, 2})}},
          {.inputs = {matrix, index_input({3, 1}, {1, 0, 1})}},
          {.inputs = {matrix, index_input({2}, {1, 1}, DType::kInt64)}},
          {.inputs = {matrix, index_input({2, 0}, {})}},
          {.inputs = {{.shape = {2, 3, 4}}, index_input({2, 1}, {2, 0})}, .attributes = {{"batch_dims", 1}}},
          {.inputs = {{.shape = {2, 3, 4}}, index_input({2, 2, 2}, {2, 0, 0, 0, 1, 3, 1, 3})},
           .attributes = {{"batch_dims", 1}}},
          {.inputs = {matrix, index_input({1, 2}, {0, 3})}, .error = "index 3 is out of range for axis 1 of length 3"},
          {.inputs = {matrix, index_input({1, 3}, {0, 0, 0})}, .error = "3 coordinates for 2 axes"},
          {.inputs = {matrix, index_input({3, 1}, {0, 0, 0})},
           .attributes = {{"batch_dims", 1}},
           .error = "lengths of batch axis 0 differ, 2 and 3"}};
}
// The position in params that an index row leads to, followed by the rest of `position`.
Position place(const ReferenceTensor& indices, const Position& position, std::int64_t batch) {
  const int leading = indices.shape.rank() - 1;
  Position from(position.begin(), position.begin() + batch);
  Position row(position.begin(), position.begin() + leading);
  row.push_back(0);
  for (std::int64_t d = 0; d < indices.shape[-1]; ++d) {
    row.back() = d;
    from.push_back(static_cast<std::int64_t>(reference::at(indices, row)));
  }
  from.insert(from.end(), position.begin() + leading, position.end());
  return from;
}
void gather_nd_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t batch = reference::integer(attributes, "batch_dims", 0);
  Shape shape;
  for (int i = 0; i + 1 < in[1].shape.rank(); ++i) shape.push_back(in[1].shape[i]);
  for (auto i = static_cast<int>(batch + in[1].shape[-1]); i < in[0].shape.rank(); ++i) shape.push_back(in[0].shape[i]);
  out = {build(in[0].dtype, shape,
               [&](const Position& position) { return reference::at(in[0], place(in[1], position, batch)); })};
}
std::vector<OpSample> scatter_nd_samples() {
  return {{.inputs = {index_input({2, 1}, {1, 3}), {.shape = {2}}}, .attributes = {{"shape", ints({4})}}},
          {.inputs = {index_input({3, 1}, {1, 0, 1}), {.shape = {3, 2}}}, .attributes = {{"shape", ints({3, 2})}}},
          {.inputs = {index_input({2, 2}, {0, 1, 1, 2}, DType::kInt64), {.shape = {2}}},
           .attributes = {{"shape", ints({2, 3})}}},
          {.inputs = {index_input({1}, {1}), {.shape = {}}}, .attributes = {{"shape", ints({2})}}},
          {.inputs = {index_input({0, 1}, {}), {.shape = {0, 2}}}, .attributes = {{"shape", ints({3, 2})}}},
          {.inputs = {index_input({1, 1}, {5}), {.shape = {1}}},
           .attributes = {{"shape", ints({4})}},
           .error = "index 5 is out of range for axis 0 of length 4"},
          {.inputs = {index_input({2, 1}, {1, 2}), {.shape = {3}}},
           .attributes = {{"shape", ints({4})}},
           .error = "updates must have the shape [2], not [3]"}};
}
template <class Combine>
void scatter(const ReferenceTensor& indices, const ReferenceTensor& updates, ReferenceTensor& out,
             const Combine& combine) {
  reference::for_each(updates.shape, [&](const Position& position) {
    double& target = out.values[reference::flat(out.shape, place(indices, position, 0))];
    target = combine(target, reference::at(updates, position));
  });
}
void scatter_nd_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {build(in[1].dtype, Shape(reference::integers(attributes, "shape")), [](const Position&) { return 0.0; })};
  scatter(in[0], in[1], out[0], [](double a, double b) { return a + b; });
}
// Rows are named once unless `repeats`: of two updates of one element only one can win.
template <bool repeats>
std::vector<OpSample> tensor_scatter_samples() {
  const double other = repeats ? 2 : 0;
  return {{.inputs = {{.shape = {4}}, index_input({2, 1}, {1, 3}), {.shape = {2}}}},
          {.inputs = {{.shape = {3, 2}}, index_input({2, 1}, {2, other}), {.shape = {2, 2}}}},
          {.inputs = {{.shape = {2, 3}}, index_input({2, 2}, {0, 1, 1, 2}, DType::kInt64), {.shape = {2}}}},
          {.inputs = {{.shape = {3}}, index_input({0, 1}, {}), {.shape = {0}}}},
          {.inputs = {{.shape = {3}}, index_input({1, 1}, {3}), {.shape = {1}}},
           .error = "index 3 is out of range for axis 0 of length 3"},
          {.inputs = {{.shape = {3, 2}}, index_input({1, 1}, {0}), {.shape = {1, 3}}},
           .error = "updates must have the shape [1, 2], not [1, 3]"}};
}
enum class Scatter : std::uint8_t { kAdd, kSubtract, kUpdate, kMaximum, kMinimum };
template <Scatter mode>
void tensor_scatter_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {in[0]};
  scatter(in[1], in[2], out[0], [](double a, double b) {
    return mode == Scatter::kAdd        ? a + b
           : mode == Scatter::kSubtract ? a - b
           : mode == Scatter::kMaximum  ? std::max(a, b)
           : mode == Scatter::kMinimum  ? std::min(a, b)
                                        : b;
  });
}
// Without uint8, whose results would be negative numbers.

const OpTests kScatterTests = {
    {"gather_nd", {.samples = gather_nd_samples, .reference = gather_nd_reference, .dtypes = reference::kEveryDType}},
    {"scatter_nd",
     {.samples = scatter_nd_samples, .reference = scatter_nd_reference, .dtypes = reference::kEveryNumber}},
    {"tensor_scatter_nd_add",
     {.samples = tensor_scatter_samples<true>,
      .reference = tensor_scatter_reference<Scatter::kAdd>,
      .dtypes = reference::kEveryNumber}},
    {"tensor_scatter_nd_sub",
     {.samples = tensor_scatter_samples<true>,
      .reference = tensor_scatter_reference<Scatter::kSubtract>,
      .dtypes = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32, DType::kInt64}}},
    {"tensor_scatter_nd_update",
     {.samples = tensor_scatter_samples<false>,
      .reference = tensor_scatter_reference<Scatter::kUpdate>,
      .dtypes = reference::kEveryDType}},
    {"tensor_scatter_nd_max",
     {.samples = tensor_scatter_samples<true>,
      .reference = tensor_scatter_reference<Scatter::kMaximum>,
      .dtypes = {float32, float64, bfloat16, int32, int64, uint8}}},
    {"tensor_scatter_nd_min",
     {.samples = tensor_scatter_samples<true>,
      .reference = tensor_scatter_reference<Scatter::kMinimum>,
      .dtypes = {float32, float64, bfloat16, int32, int64, uint8}}},
};

}  // namespace

}  // namespace capstan::testing
