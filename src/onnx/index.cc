// Elements by their place: gathers, scatters, orders.
#include <algorithm>
#include <numeric>

#include "capstan/ops/math.h"
#include "capstan/ops/rearrange.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// Indices that count from the end where they are negative, as ones that count from the front.
Tensor from_front(const Tensor& indices, std::int64_t length) {
  const Tensor wide = cast(indices, int64);
  return where(wide < 0, wide + length, wide);
}

void run_gather(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis_attribute(0, x.rank());
  call.give(gather(x, from_front(call.tensor(1), x.dim(axis)), axis));
}

// The coordinates [..., rank] of the elements that `indices` selects along an axis.
Tensor coordinates(const Tensor& indices, std::int64_t length, int axis) {
  const Shape shape = indices.shape();
  std::vector<Tensor> parts;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i == axis) {
      parts.push_back(from_front(indices, length));
      continue;
    }
    Shape along;
    for (int k = 0; k < shape.rank(); ++k) along.push_back(k == i ? shape[i] : 1);
    parts.push_back(broadcast_to(reshape(cast(range(shape[i]), int64), along), shape));
  }
  return stack(parts, -1);
}

void gather_elements(NodeCall& call) {
  const Tensor x = call.tensor(0), indices = call.tensor(1);
  CAPSTAN_CHECK(x.rank() == indices.rank(), ShapeError, "onnx: data and indices have ", x.rank(), " and ",
                indices.rank(), " axes");
  const int axis = call.axis_attribute(0, x.rank());
  call.give(gather_nd(x, coordinates(indices, x.dim(axis), axis)));
}

// Coordinates that count from the front on every axis from `first` on.
Tensor coordinates_from_front(const Tensor& indices, const Tensor& x, int first) {
  CAPSTAN_CHECK(indices.rank() >= 1 && indices.dim(-1) + first <= x.rank(), ShapeError,
                "onnx: the indices have more coordinates than there are axes");
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < static_cast<int>(indices.dim(-1)); ++i) lengths.push_back(x.dim(first + i));
  const Tensor wide = cast(indices, int64);
  return where(wide < 0, wide + constant(lengths), wide);
}

void run_gather_nd(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const auto batch = static_cast<int>(call.integer("batch_dims", 0));
  call.give(gather_nd(x, coordinates_from_front(call.tensor(1), x, batch), batch));
}

Tensor scattered(const Tensor& x, const Tensor& places, const Tensor& updates, const std::string& how) {
  if (how == "none") return tensor_scatter_nd_update(x, places, updates);
  if (how == "add") return tensor_scatter_nd_add(x, places, updates);
  if (how == "max") return tensor_scatter_nd_max(x, places, updates);
  if (how == "min") return tensor_scatter_nd_min(x, places, updates);
  if (how != "mul") not_supported("reduction " + how);
  // Products of what falls on one place, one update after the other: each is a tensor of ones but there.
  const std::int64_t coordinates = places.dim(-1);
  const Tensor rows = reshape(places, {-1, coordinates});
  Shape update_shape = {-1};
  for (int i = static_cast<int>(coordinates); i < x.rank(); ++i) update_shape.push_back(x.dim(i));
  const Tensor values = reshape(updates, update_shape);
  Tensor product = x;
  for (std::int64_t i = 0; i < rows.dim(0); ++i) {
    const Tensor row = rows(slice(i, i + 1)), value = values(slice(i, i + 1));
    product = product * tensor_scatter_nd_update(ones_like(x), row, value);
  }
  return product;
}

void scatter_elements(NodeCall& call) {
  const Tensor x = call.tensor(0), indices = call.tensor(1);
  CAPSTAN_CHECK(x.rank() == indices.rank(), ShapeError, "onnx: data and indices have ", x.rank(), " and ",
                indices.rank(), " axes");
  const int axis = call.axis_attribute(0, x.rank());
  call.give(scattered(x, coordinates(indices, x.dim(axis), axis), call.tensor(2), call.text("reduction", "none")));
}

void run_scatter_nd(NodeCall& call) {
  const Tensor x = call.tensor(0);
  call.give(scattered(x, coordinates_from_front(call.tensor(1), x, 0), call.tensor(2), call.text("reduction", "none")));
}

void run_one_hot(NodeCall& call) {
  const Tensor indices = call.tensor(0), values = call.tensor(2);
  const std::int64_t depth = call.integer_of(1);
  const int axis = call.axis(call.integer("axis", -1), indices.rank() + 1);
  Tensor wide = cast(indices, int64);
  wide = where(wide < 0, wide + depth, wide);
  const Tensor hit = one_hot(wide, depth, 1, 0, axis, bool_);
  call.give(where(hit, values[1], values[0]));
}

void non_zero(NodeCall& call) {
  const Tensor x = call.tensor(0);
  call.give(transpose(where_indices(x)));
}

void compress(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const Tensor mask = call.tensor(1);
  if (!call.has_attribute("axis")) {
    const Tensor flat = reshape(x, {-1});
    return call.give(boolean_mask(flat(slice(0, mask.dim(0))), mask));
  }
  const int axis = call.axis(call.integer("axis"), x.rank());
  const Tensor rows = reshape(where_indices(mask), {-1});
  call.give(gather(x, rows, axis));
}

void run_top_k(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const std::int64_t k = call.opset() < 10 ? call.integer("k") : call.integer_of(1);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  CAPSTAN_CHECK(k >= 0 && k <= x.dim(axis), ValueError, "onnx: k is ", k, ", but the axis has length ", x.dim(axis));
  const bool largest = call.integer("largest", 1) != 0;
  const Tensor order = argsort(x, axis, largest ? "DESCENDING" : "ASCENDING");
  Shape begin, size;
  for (int i = 0; i < x.rank(); ++i) {
    begin.push_back(0);
    size.push_back(i == axis ? k : x.dim(i));
  }
  const Tensor places = cast(slice(order, begin, size), int64);
  call.give(gather_nd(x, coordinates(places, x.dim(axis), axis)));
  call.give(places);
}

void run_unique(NodeCall& call) {
  if (call.has_attribute("axis")) not_supported("axis");
  const Tensor x = reshape(call.tensor(0), {-1});
  const Unique found = unique_with_counts(x, int64);
  const std::int64_t count = found.y.size();
  // The first place of each value.
  const Tensor places = cast(range(x.size()), int64);
  const Tensor last = fill({count}, cast(constant(x.size()), int64));
  Tensor first = tensor_scatter_nd_min(last, expand_dims(found.idx, 1), places);
  Tensor values = found.y, counts = found.counts, numbers = found.idx;
  if (call.integer("sorted", 1) != 0) {
    const Tensor order = cast(argsort(values), int64);
    numbers = gather(invert_permutation(order), numbers);
    values = gather(values, order);
    counts = gather(counts, order);
    first = gather(first, order);
  }
  call.give(values);
  call.give(first);
  call.give(numbers);
  call.give(counts);
}

void run_reverse_sequence(NodeCall& call) {
  const Tensor x = call.tensor(0);
  call.give(reverse_sequence(x, call.tensor(1), static_cast<int>(call.integer("time_axis", 0)),
                             static_cast<int>(call.integer("batch_axis", 1))));
}

constexpr Operator kIndexOperators[] = {
    {"Compress", compress},
    {"Gather", run_gather},
    {"GatherElements", gather_elements},
    {"GatherND", run_gather_nd},
    {"NonZero", non_zero},
    {"OneHot", run_one_hot},
    {"ReverseSequence", run_reverse_sequence},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", run_scatter_nd},
    {"TopK", run_top_k},
    {"Unique", run_unique},
};

}  // namespace

std::span<const Operator> index_operators() { return kIndexOperators; }

}  // namespace capstan::onnx
