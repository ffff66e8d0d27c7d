// Order along an axis.
//
// A sort moves elements and computes nothing, so its gradient is the same move backwards: the rule finds the order
// again, which costs a sort but no memory while the tape waits. top_k keeps the positions that it has found anyway.
#include <algorithm>
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/sort.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/sort/sort.h"
#include "src/kernels/with_type.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"
#include "src/ops/rows.h"

namespace capstan {

namespace {

// --- sort, argsort ---

struct SortAttributes {
  Axis axis = -1;
  Text direction;
};

// argsort takes `stable` as well, and always is.
struct ArgsortAttributes {
  Axis axis = -1;
  Text direction;
  bool stable = true;
};

bool is_descending(std::string_view op, const Text& direction) {
  const std::string_view name = direction.text == nullptr ? "ASCENDING" : direction.view();
  CAPSTAN_CHECK(name == "ASCENDING" || name == "DESCENDING", ValueError, op,
                ": direction must be ASCENDING or DESCENDING, not ", name);
  return name == "DESCENDING";
}

// Positions are int32.
void check_length(std::string_view op, std::int64_t length) {
  CAPSTAN_CHECK(length <= INT32_MAX, ShapeError, op, ": ", length, " elements in a row are more than ", INT32_MAX);
}

void check_ordered(std::string_view op, const TensorRef& x) {
  CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, op, ": dtype ", x.dtype(), " is not supported, it has no order",
                arguments({{"x", x}}));
}

void infer_sort(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  check_ordered("sort", x);
  const auto& attributes = call.attributes<SortAttributes>();
  is_descending("sort", attributes.direction);
  outputs.hand_on(view_around("sort", x, attributes.axis));
  outputs.add(x.dtype(), x.shape());
}

void sort_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<SortAttributes>();
  sort_rows(x.dtype(), call.geometry<AxisView>(), is_descending("sort", attributes.direction), x.raw_data(),
            mutable_raw_data(outputs[0]));
}

void sort_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto& attributes = call.attributes<SortAttributes>();
  const Tensor& x = call.input(0);
  const Tensor& g = call.cotangent();
  if (x.size() == 0) {
    cotangents[0] = g;
    return;
  }
  const int axis = normalize_axis("sort", attributes.axis, x.rank());
  const Tensor order =
      argsort(rows_along(x, axis), -1,
              attributes.direction.text == nullptr ? std::string_view("ASCENDING") : attributes.direction.view());
  cotangents[0] = rows_back(take_in_rows(rows_along(g, axis), argsort(order)), x.shape(), axis);
}

void infer_argsort(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ArgsortAttributes>();
  check_ordered("argsort", x);
  is_descending("argsort", attributes.direction);
  const AxisView view = view_around("argsort", x, attributes.axis);
  check_length("argsort", view.n);
  outputs.hand_on(view);
  outputs.add(DType::kInt32, x.shape());
}

void argsort_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ArgsortAttributes>();
  argsort_rows(x.dtype(), call.geometry<AxisView>(), is_descending("argsort", attributes.direction), x.raw_data(),
               mutable_data<std::int32_t>(outputs[0]));
}

// --- top_k, in_top_k ---

struct TopKAttributes {
  std::int64_t k = 1;
  bool sorted = true;  // the result is sorted in any case
};

void infer_top_k(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const std::int64_t k = call.attributes<TopKAttributes>().k;
  check_ordered("top_k", x);
  CAPSTAN_CHECK(x.rank() > 0, ShapeError, "top_k: a scalar has no elements to choose from", arguments({{"x", x}}));
  CAPSTAN_CHECK(k >= 0 && k <= x.dim(-1), ValueError, "top_k: k is ", k, ", the last axis has ", x.dim(-1), " elements",
                arguments({{"x", x}}));
  check_length("top_k", x.dim(-1));
  Shape shape = x.shape();
  shape.set(-1, k);
  outputs.add(x.dtype(), shape);
  outputs.add(DType::kInt32, shape);
}

void top_k_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const std::int64_t n = x.dim(-1);
  top_k_rows(x.dtype(), n == 0 ? 0 : x.size() / n, n, call.attributes<TopKAttributes>().k, x.raw_data(),
             mutable_raw_data(outputs[0]), mutable_data<std::int32_t>(outputs[1]));
}

void top_k_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Tensor& x = call.input(0);
  const std::int64_t k = call.attributes<TopKAttributes>().k;
  if (k == 0 || x.size() == 0) {
    cotangents[0] = zeros_like(x);
    return;
  }
  const std::int64_t n = x.dim(-1);
  const std::int64_t rows = x.size() / n;
  const Tensor columns = cast(reshape(call.output(1), {rows, k}), DType::kInt64);
  const Tensor first = reshape(cast(range(static_cast<long>(rows)), DType::kInt64), {rows, 1});
  const Tensor places = stack({broadcast_to(first, {rows, k}), columns}, 2);
  cotangents[0] = reshape_like(scatter_nd(places, reshape(call.cotangent(), {rows, k}), {rows, n}), x);
}

struct InTopKAttributes {
  std::int64_t k = 1;
};

void infer_in_top_k(const Call& call, OutputSpecs& outputs) {
  const TensorRef& targets = call.input(0);
  const TensorRef& predictions = call.input(1);
  CAPSTAN_CHECK(targets.dtype() == DType::kInt32 || targets.dtype() == DType::kInt64, DTypeError,
                "in_top_k: targets must be int32 or int64, not ", targets.dtype(),
                arguments({{"targets", targets}, {"predictions", predictions}}));
  CAPSTAN_CHECK(is_floating(predictions.dtype()), DTypeError, "in_top_k: dtype ", predictions.dtype(),
                " is not supported", arguments({{"targets", targets}, {"predictions", predictions}}));
  CAPSTAN_CHECK(targets.rank() == 1 && predictions.rank() == 2 && targets.dim(0) == predictions.dim(0), ShapeError,
                "in_top_k: targets ", targets.shape(), " and predictions ", predictions.shape(),
                " must be [batch] and [batch, classes]",
                arguments({{"targets", targets}, {"predictions", predictions}}));
  outputs.add(DType::kBool, targets.shape());
}

template <class T>
bool is_in_top_k(const T* row, std::int64_t classes, std::int64_t target, std::int64_t k) {
  if (target < 0 || target >= classes) return false;
  std::int64_t larger = 0;
  for (std::int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(static_cast<double>(row[i]))) return false;
    larger += static_cast<double>(row[i]) > static_cast<double>(row[target]);
  }
  return larger < k;
}

void in_top_k_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& predictions = call.input(1);
  const std::int64_t classes = predictions.dim(1);
  const std::int64_t k = call.attributes<InTopKAttributes>().k;
  auto* out = mutable_data<bool>(outputs[0]);
  with_real_type(predictions.dtype(), [&]<class T>(T) {
    const T* rows = predictions.data<T>();
    with_indices(call.input(0), [&](const auto* targets) {
      for (std::int64_t i = 0; i < outputs[0].size(); ++i) {
        out[i] = is_in_top_k(rows + i * classes, classes, targets[i], k);
      }
    });
  });
}

bool batch_in_top_k(const BatchCall& call, std::vector<Tensor>& outputs) {
  call_again(call, {merge_items(with_items(call, 0)), merge_items(with_items(call, 1))}, call.attribute_data, outputs);
  outputs[0] = split_items(outputs[0], call.size);
  return true;
}

// --- searchsorted ---

struct SearchAttributes {
  Text side;
  DType out_type = DType::kInt32;
};

bool is_right(const Text& side) {
  const std::string_view name = side.text == nullptr ? "left" : side.view();
  CAPSTAN_CHECK(name == "left" || name == "right", ValueError, "searchsorted: side must be left or right, not ", name);
  return name == "right";
}

void infer_searchsorted(const Call& call, OutputSpecs& outputs) {
  const TensorRef& sorted = call.input(0);
  const TensorRef& values = call.input(1);
  const auto& attributes = call.attributes<SearchAttributes>();
  is_right(attributes.side);
  check_ordered("searchsorted", sorted);
  CAPSTAN_CHECK(attributes.out_type == DType::kInt32 || attributes.out_type == DType::kInt64, DTypeError,
                "searchsorted: out_type must be int32 or int64, not ", attributes.out_type);
  bool fits = sorted.rank() > 0 && sorted.rank() == values.rank();
  for (int i = 0; fits && i + 1 < sorted.rank(); ++i) fits = sorted.dim(i) == values.dim(i);
  CAPSTAN_CHECK(fits, ShapeError, "searchsorted: leading axes differ, ", sorted.shape(), " and ", values.shape(),
                arguments({{"sorted_sequence", sorted}, {"values", values}}));
  check_length("searchsorted", sorted.dim(-1));
  outputs.add(attributes.out_type, values.shape());
}

void searchsorted_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& sorted = call.input(0);
  const TensorRef& values = call.input(1);
  const Tensor& out = outputs[0];
  const std::int64_t m = values.dim(-1);
  if (out.size() == 0) return;
  const Tensor narrow = out.dtype() == DType::kInt32 ? out : new_tensor(DType::kInt32, values.shape());
  search_rows(sorted.dtype(), values.size() / m, sorted.dim(-1), m, is_right(call.attributes<SearchAttributes>().side),
              sorted.raw_data(), values.raw_data(), mutable_data<std::int32_t>(narrow));
  if (out.dtype() == DType::kInt64) {
    const auto* from = narrow.data<std::int32_t>();
    std::copy(from, from + narrow.size(), mutable_data<std::int64_t>(out));
  }
}

// One row that serves all items is not repeated.
bool batch_searchsorted(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.is_batched(0) || call.item_rank(0) > 1) return batch_leading(call, outputs);
  call_again(call, {call.input(0), merge_items(call.input(1))}, call.attribute_data, outputs);
  outputs[0] = split_items(outputs[0], call.size);
  return true;
}

// --- The ops ---

constexpr OpDef kSort = {
    .name = "sort",
    .text = "The elements along an axis in ascending or descending order.",
    .attributes = &attribute_table<SortAttributes, "axis, direction">,
    .infer = infer_sort,
    .kernel = sort_kernel,
    .saves = {.inputs = 0b1},
    .vjp = sort_vjp,
    .batch = batch_axis<&SortAttributes::axis>,
};
constexpr OpDef kArgsort = {
    .name = "argsort",
    .text = "The places of the elements along an axis in ascending or descending order.",
    .flags = kNotDifferentiable,
    .attributes = &attribute_table<ArgsortAttributes, "axis, direction, stable">,
    .infer = infer_argsort,
    .kernel = argsort_kernel,
    .batch = batch_axis<&ArgsortAttributes::axis>,
};
constexpr OpDef kTopK = {
    .name = "top_k",
    .text = "The k largest elements along the last axis, largest first, and their places.",
    .outputs = 2,
    .attributes = &attribute_table<TopKAttributes, "k, sorted">,
    .infer = infer_top_k,
    .kernel = top_k_kernel,
    .saves = {.outputs = 0b10},
    .vjp = top_k_vjp,
    .batch = batch_leading,
};
constexpr OpDef kInTopK = {
    .name = "in_top_k",
    .text = "Whether the prediction for the target is among the k largest of its row.",
    .flags = kNotDifferentiable | kTakesAnyDTypes,
    .inputs = "targets, predictions",
    .attributes = &attribute_table<InTopKAttributes, "k", 1>,
    .infer = infer_in_top_k,
    .kernel = in_top_k_kernel,
    .batch = batch_in_top_k,
};
constexpr OpDef kSearchsorted = {
    .name = "searchsorted",
    .text = "The places at which values would be inserted into sorted rows.",
    .flags = kNotDifferentiable,
    .inputs = "sorted_sequence, values",
    .attributes = &attribute_table<SearchAttributes, "side, out_type">,
    .infer = infer_searchsorted,
    .kernel = searchsorted_kernel,
    .batch = batch_searchsorted,
};

}  // namespace

Tensor sort(Operand x, int axis, std::string_view direction) {
  const SortAttributes attributes{axis, intern(direction)};
  return apply(kSort, x, &attributes);
}
Tensor argsort(Operand x, int axis, std::string_view direction) {
  const ArgsortAttributes attributes{axis, intern(direction), true};
  return apply(kArgsort, x, &attributes);
}
TopK top_k(Operand x, std::int64_t k) {
  const TopKAttributes attributes{k, true};
  std::vector<Tensor> outputs = apply_all(kTopK, std::span(&x, 1), &attributes);
  return {std::move(outputs[0]), std::move(outputs[1])};
}
Tensor in_top_k(Operand targets, Operand predictions, std::int64_t k) {
  const InTopKAttributes attributes{k};
  return apply(kInTopK, targets, predictions, &attributes);
}
Tensor searchsorted(Operand sorted_sequence, Operand values, std::string_view side, DType out_type) {
  const SearchAttributes attributes{intern(side), out_type};
  return apply(kSearchsorted, sorted_sequence, values, &attributes);
}

CAPSTAN_OPS(sort, &kSort, &kArgsort, &kTopK, &kInTopK, &kSearchsorted);

}  // namespace capstan
