// Reductions by segments: rows with the same id.
//
// The sorted kinds are the unsorted ones after a check; they differ only in what is in segments without rows.
//
// The cotangent of a factor is the product of the others in its segment. Division would fail at zeros, so the products
// before and after a row are two linear recurrences over the rows sorted by id, which have derivatives of every order.
#include "capstan/ops/segment.h"

#include <type_traits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/segment/segment.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"
#include "src/ops/rows.h"

namespace capstan {

namespace {

struct SegmentAttributes {
  std::int64_t num_segments = 0;
};

void check_segments(std::string_view op, const TensorRef& x, const TensorRef& ids, std::int64_t count) {
  CAPSTAN_CHECK(x.dtype() != DType::kBool, DTypeError, op, ": dtype bool is not supported",
                arguments({{"x", x}, {"segment_ids", ids}}));
  CAPSTAN_CHECK(ids.dtype() == DType::kInt32 || ids.dtype() == DType::kInt64, DTypeError, op,
                ": segment_ids must be int32 or int64, not ", ids.dtype(), arguments({{"x", x}, {"segment_ids", ids}}));
  CAPSTAN_CHECK(count >= 0, ValueError, op, ": num_segments is negative, ", count);
  const Shape shape = x.shape();
  const Shape leading = ids.shape();
  bool fits = leading.rank() <= shape.rank();
  for (int i = 0; fits && i < leading.rank(); ++i) fits = leading[i] == shape[i];
  CAPSTAN_CHECK(fits, ShapeError, op, ": segment_ids ", leading, " are not the leading axes of ", shape,
                arguments({{"x", x}, {"segment_ids", ids}}));
}

void check_ids(std::string_view op, const TensorRef& ids, std::int64_t count) {
  with_indices(ids, [&](const auto* data) {
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      CAPSTAN_CHECK(data[i] < count, IndexError, op, ": id ", data[i], " at position ", i,
                    " is not below num_segments, ", count);
    }
  });
}

template <Segments kJoin>
void infer_segments(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(!needs_order(kJoin) || !is_complex(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(),
                " is not supported", arguments({{"x", x}, {"segment_ids", call.input(1)}}));
  const std::int64_t count = call.attributes<SegmentAttributes>().num_segments;
  check_segments(call.op.name, x, call.input(1), count);
  Shape result{count};
  for (int i = call.input(1).rank(); i < x.rank(); ++i) result.push_back(x.dim(i));
  outputs.add(x.dtype(), result);
}

template <Segments kJoin>
void run_segments(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& ids = call.input(1);
  const std::int64_t count = call.attributes<SegmentAttributes>().num_segments;
  check_ids(call.op.name, ids, count);
  const std::int64_t rows = ids.size();
  with_indices(ids, [&](const auto* id) {
    join_segments(kJoin, x.dtype(), id, rows, rows == 0 ? 0 : x.size() / rows, outputs[0].size(), x.raw_data(),
                  mutable_raw_data(outputs[0]));
  });
}

// --- Gradients ---

// Rows of `segments` by id, in the shape of x; zeros for rows that were dropped. There is at least one segment.
Tensor at_rows(const Tensor& segments, const Tensor& ids, const Tensor& x) {
  Tensor kept = greater_equal(ids, 0);
  for (int i = ids.rank(); i < x.rank(); ++i) kept = expand_dims(kept, i);
  return where(kept, gather(segments, maximum(ids, 0)), 0.0);
}

void segment_sum_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Tensor& x = call.input(0);
  const bool none = call.attributes<SegmentAttributes>().num_segments == 0;
  cotangents[0] = none ? zeros_like(x) : at_rows(call.cotangent(), call.input(1), x);
}

// Everyone who holds the extremum of a segment has an equal share of its gradient.
void segment_extremum_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Tensor& x = call.input(0);
  const Tensor& ids = call.input(1);
  const std::int64_t count = call.attributes<SegmentAttributes>().num_segments;
  if (count == 0) {
    cotangents[0] = zeros_like(x);
    return;
  }
  const Tensor holds = cast(equal(x, at_rows(call.output(), ids, x)), x.dtype());
  // Segments without rows have no holders; theirs is a share of nothing.
  const Tensor holders = maximum(unsorted_segment_sum(holds, ids, count), 1);
  cotangents[0] = multiply(at_rows(divide(call.cotangent(), holders), ids, x), holds);
}

// [n, 1] in the dtype of the rows: 1 where a row has another id than its neighbour before it (after it if `behind`).
Tensor run_ends(const Tensor& ids, bool behind, DType dtype) {
  const std::int64_t n = ids.size();
  const Tensor changes = not_equal(slice(ids, {1}, {n - 1}), slice(ids, {0}, {n - 1}));
  const Tensor end = ones({1}, DType::kBool);
  return reshape(cast(behind ? concat({changes, end}, 0) : concat({end, changes}, 0), dtype), {n, 1});
}

// For each row the product of those before it (after it if `behind`) in its run of equal ids; 1 for the first.
Tensor product_before(const Tensor& rows, const Tensor& ids, bool behind) {
  const std::int64_t n = rows.dim(0);
  const Tensor first = run_ends(ids, behind, rows.dtype());
  // The row before, with any number before the very first, which starts a run and so is multiplied by 0.
  const Tensor inner = slice(rows, {behind ? 1 : 0, 0}, {n - 1, -1});
  const Tensor one = ones({1, rows.dim(1)}, rows.dtype());
  const Tensor previous = behind ? concat({inner, one}, 0) : concat({one, inner}, 0);
  const Tensor factors = where(cast(first, DType::kBool), 0.0, previous);
  return linear_recurrence(factors, broadcast_to(first, rows.shape()), 0, {.reverse = behind});
}

void segment_product_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Tensor& x = call.input(0);
  if (x.size() == 0 || call.attributes<SegmentAttributes>().num_segments == 0) {
    cotangents[0] = zeros_like(x);
    return;
  }
  const Tensor ids = reshape(call.input(1), {-1});
  const Tensor order = argsort(ids);
  const Tensor sorted_ids = gather(ids, order);
  const Tensor factors = is_complex(x.dtype()) ? conj(x) : x;
  const Tensor rows = take_rows(reshape(factors, {ids.size(), x.size() / ids.size()}), order);
  const Tensor others = multiply(product_before(rows, sorted_ids, false), product_before(rows, sorted_ids, true));
  const Tensor in_place = reshape_like(take_rows(others, argsort(order)), x);
  cotangents[0] = multiply(at_rows(call.cotangent(), call.input(1), x), in_place);
}

bool batch_segments(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (!has_room(call)) return false;
  SegmentAttributes attributes = call.attributes<SegmentAttributes>();
  const Tensor ids = ids_of_all(with_items(call, 1), attributes.num_segments);
  attributes.num_segments *= call.size;
  call_again(call, {with_items(call, 0), ids}, &attributes, outputs);
  outputs[0] = split_items(outputs[0], call.size);
  return true;
}

// --- The ops ---

template <Segments kJoin>
constexpr OpDef unsorted_op(std::string_view name, std::string_view text, Saves saves, Vjp vjp) {
  return {.name = name,
          .text = text,
          .flags = static_cast<std::uint16_t>(kTakesAnyDTypes | (kJoin == Segments::kSum ? kLinear : kNoFlags)),
          .inputs = "x, segment_ids",
          .attributes = &attribute_table<SegmentAttributes, "num_segments", 1>,
          .infer = infer_segments<kJoin>,
          .kernel = run_segments<kJoin>,
          .saves = saves,
          .vjp = vjp,
          .batch = batch_segments};
}

constexpr OpDef kUnsortedSegmentSum =
    unsorted_op<Segments::kSum>("unsorted_segment_sum", "Sums of the rows with the same id; negative ids are dropped.",
                                {.inputs = 0b10}, segment_sum_vjp);
constexpr OpDef kUnsortedSegmentProd = unsorted_op<Segments::kProduct>(
    "unsorted_segment_prod", "Products of the rows with the same id; negative ids are dropped.", {.inputs = 0b11},
    segment_product_vjp);
constexpr OpDef kUnsortedSegmentMax = unsorted_op<Segments::kMaximum>(
    "unsorted_segment_max", "The largest elements of the rows with the same id; negative ids are dropped.",
    {.inputs = 0b11, .outputs = 0b1}, segment_extremum_vjp);
constexpr OpDef kUnsortedSegmentMin = unsorted_op<Segments::kMinimum>(
    "unsorted_segment_min", "The smallest elements of the rows with the same id; negative ids are dropped.",
    {.inputs = 0b11, .outputs = 0b1}, segment_extremum_vjp);
constexpr OpDef kUnsortedSegmentMean = composite<&unsorted_segment_mean, "x, segment_ids, num_segments">(
    "unsorted_segment_mean", "Means of the rows with the same id; segments without rows are 0.");
constexpr OpDef kUnsortedSegmentSqrtN = composite<&unsorted_segment_sqrt_n, "x, segment_ids, num_segments">(
    "unsorted_segment_sqrt_n", "Sums of the rows with the same id, divided by the square root of their number.");
constexpr OpDef kSegmentSum =
    composite<&segment_sum, "x, segment_ids">("segment_sum", "Sums of the rows with the same id; ids never go down.");
constexpr OpDef kSegmentMean = composite<&segment_mean, "x, segment_ids">(
    "segment_mean", "Means of the rows with the same id; ids never go down.");
constexpr OpDef kSegmentProd = composite<&segment_prod, "x, segment_ids">(
    "segment_prod", "Products of the rows with the same id; ids never go down.");
constexpr OpDef kSegmentMax = composite<&segment_max, "x, segment_ids">(
    "segment_max", "The largest elements of the rows with the same id; ids never go down.");
constexpr OpDef kSegmentMin = composite<&segment_min, "x, segment_ids">(
    "segment_min", "The smallest elements of the rows with the same id; ids never go down.");

Tensor apply_unsorted(const OpDef& op, Operand x, Operand ids, std::int64_t num_segments) {
  const SegmentAttributes attributes{num_segments};
  return apply(op, x, ids, &attributes);
}

// How many rows each segment has, at least 1, with axes of length 1 up to the rank of the result.
Tensor row_counts(const Tensor& x, const Tensor& ids, std::int64_t num_segments) {
  const Tensor ones_of = ones(ids.shape(), real_dtype(x.dtype()));
  Tensor counts = cast(maximum(unsorted_segment_sum(ones_of, ids, num_segments), 1), x.dtype());
  for (int i = ids.rank(); i < x.rank(); ++i) counts = expand_dims(counts, i - ids.rank() + 1);
  return counts;
}

// The number of segments that sorted ids ask for.
std::int64_t sorted_count(std::string_view op, const Tensor& x, const Tensor& ids) {
  CAPSTAN_CHECK(ids.dtype() == DType::kInt32 || ids.dtype() == DType::kInt64, DTypeError, op,
                ": segment_ids must be int32 or int64, not ", ids.dtype(), arguments({{"x", x}, {"segment_ids", ids}}));
  CAPSTAN_CHECK(ids.rank() == 1 && x.rank() > 0 && ids.dim(0) == x.dim(0), ShapeError, op, ": segment_ids ",
                ids.shape(), " must be one for each of the rows of ", x.shape(),
                arguments({{"x", x}, {"segment_ids", ids}}));
  std::int64_t last = -1;
  with_indices(ids, [&](const auto* id) {
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      CAPSTAN_CHECK(i > 0 || id[i] >= 0, ValueError, op, ": the first id is negative, ", id[i]);
      CAPSTAN_CHECK(id[i] >= last, ValueError, op, ": ids go down from ", last, " to ", id[i], " at position ", i);
      last = id[i];
    }
  });
  CAPSTAN_CHECK(last < UINT32_MAX - 1, ShapeError, op, ": id ", last, " asks for more segments than a tensor can have");
  return last + 1;
}

// Extrema of sorted ids are 0 in segments without rows.
Tensor sorted_extremum(const OpDef& op, std::string_view name, Operand x, Operand segment_ids) {
  const Tensor value = to_tensor(x);
  const Tensor ids = to_tensor(segment_ids);
  const std::int64_t count = sorted_count(name, value, ids);
  check_segments(name, value, ids, count);
  const Tensor found = apply_unsorted(op, value, ids, count);
  Tensor empty = equal(unsorted_segment_sum(ones(ids.shape(), DType::kInt32), ids, count), 0);
  for (int i = 1; i < value.rank(); ++i) empty = expand_dims(empty, i);
  return where(empty, 0, found);
}

template <class Function>
Tensor sorted_sums(std::string_view name, Operand x, Operand segment_ids, const Function& function) {
  const Tensor value = to_tensor(x);
  const Tensor ids = to_tensor(segment_ids);
  const std::int64_t count = sorted_count(name, value, ids);
  check_segments(name, value, ids, count);
  return function(value, ids, count);
}

}  // namespace

Tensor unsorted_segment_sum(Operand x, Operand segment_ids, std::int64_t num_segments) {
  return apply_unsorted(kUnsortedSegmentSum, x, segment_ids, num_segments);
}
Tensor unsorted_segment_prod(Operand x, Operand segment_ids, std::int64_t num_segments) {
  return apply_unsorted(kUnsortedSegmentProd, x, segment_ids, num_segments);
}
Tensor unsorted_segment_max(Operand x, Operand segment_ids, std::int64_t num_segments) {
  return apply_unsorted(kUnsortedSegmentMax, x, segment_ids, num_segments);
}
Tensor unsorted_segment_min(Operand x, Operand segment_ids, std::int64_t num_segments) {
  return apply_unsorted(kUnsortedSegmentMin, x, segment_ids, num_segments);
}
Tensor unsorted_segment_mean(Operand x, Operand segment_ids, std::int64_t num_segments) try {
  const Tensor value = to_tensor(x);
  const Tensor ids = to_tensor(segment_ids);
  check_segments("unsorted_segment_mean", value, ids, num_segments);
  return divide(unsorted_segment_sum(value, ids, num_segments), row_counts(value, ids, num_segments));
} catch (const Error&) {
  rethrow_as("unsorted_segment_mean");
}
Tensor unsorted_segment_sqrt_n(Operand x, Operand segment_ids, std::int64_t num_segments) try {
  const Tensor value = to_tensor(x);
  const Tensor ids = to_tensor(segment_ids);
  check_segments("unsorted_segment_sqrt_n", value, ids, num_segments);
  CAPSTAN_CHECK(is_floating(value.dtype()), DTypeError, "unsorted_segment_sqrt_n: dtype ", value.dtype(),
                " is not supported", arguments({{"x", value}}));
  return divide(unsorted_segment_sum(value, ids, num_segments), sqrt(row_counts(value, ids, num_segments)));
} catch (const Error&) {
  rethrow_as("unsorted_segment_sqrt_n");
}

Tensor segment_sum(Operand x, Operand segment_ids) try {
  return sorted_sums("segment_sum", x, segment_ids, unsorted_segment_sum);
} catch (const Error&) {
  rethrow_as("segment_sum");
}
Tensor segment_mean(Operand x, Operand segment_ids) try {
  // TensorFlow's mean of integers is one here, though not in unsorted_segment_mean.
  return sorted_sums("segment_mean", x, segment_ids, [](const Tensor& rows, const Tensor& ids, std::int64_t count) {
    if (!is_integer(rows.dtype())) return unsorted_segment_mean(rows, ids, count);
    const Tensor wide = cast(rows, int64);
    return cast(truncatediv(unsorted_segment_sum(wide, ids, count), row_counts(wide, ids, count)), rows.dtype());
  });
} catch (const Error&) {
  rethrow_as("segment_mean");
}
Tensor segment_prod(Operand x, Operand segment_ids) try {
  return sorted_sums("segment_prod", x, segment_ids, unsorted_segment_prod);
} catch (const Error&) {
  rethrow_as("segment_prod");
}
Tensor segment_max(Operand x, Operand segment_ids) try {
  return sorted_extremum(kUnsortedSegmentMax, "segment_max", x, segment_ids);
} catch (const Error&) {
  rethrow_as("segment_max");
}
Tensor segment_min(Operand x, Operand segment_ids) try {
  return sorted_extremum(kUnsortedSegmentMin, "segment_min", x, segment_ids);
} catch (const Error&) {
  rethrow_as("segment_min");
}

CAPSTAN_OPS(segment, &kUnsortedSegmentSum, &kUnsortedSegmentMean, &kUnsortedSegmentSqrtN, &kUnsortedSegmentProd,
            &kUnsortedSegmentMax, &kUnsortedSegmentMin, &kSegmentSum, &kSegmentMean, &kSegmentProd, &kSegmentMax,
            &kSegmentMin);

}  // namespace capstan
