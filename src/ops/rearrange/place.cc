// Ops that decide by where an element is, and checks.
#include <algorithm>
#include <cstring>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/rearrange.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/array/array.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

// --- reverse_sequence ---

struct ReverseSequenceAttributes {
  Axis seq_axis = 0;
  Axis batch_axis = 0;
};

// Counted from the front.
struct SequenceAxes {
  int sequence, batch;
};

void infer_reverse_sequence(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& lengths = call.input(1);
  const auto& attributes = call.attributes<ReverseSequenceAttributes>();
  CAPSTAN_CHECK(lengths.dtype() == DType::kInt32 || lengths.dtype() == DType::kInt64, DTypeError,
                "reverse_sequence: lengths must be int32 or int64, not ", lengths.dtype(),
                arguments({{"x", x}, {"lengths", lengths}}));
  const int sequence = normalize_axis("reverse_sequence", attributes.seq_axis, x.rank());
  const int batch = normalize_axis("reverse_sequence", attributes.batch_axis, x.rank());
  CAPSTAN_CHECK(sequence != batch, IndexError, "reverse_sequence: axis ", batch,
                " is both the sequence's and the batch's", arguments({{"x", x}, {"lengths", lengths}}));
  CAPSTAN_CHECK(lengths.rank() == 1 && lengths.dim(0) == x.dim(batch), ShapeError, "reverse_sequence: lengths ",
                lengths.shape(), " must be one for each of ", x.dim(batch), " places along axis ", batch,
                arguments({{"x", x}, {"lengths", lengths}}));
  outputs.add(x.dtype(), x.shape());
  outputs.hand_on(SequenceAxes{sequence, batch});
}

void reverse_sequence_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const Shape shape = x.shape();
  const auto [sequence, batch] = call.geometry<SequenceAxes>();
  with_indices(call.input(1), [&](const auto* lengths) {
    for (std::int64_t i = 0; i < shape[batch]; ++i) {
      CAPSTAN_CHECK(lengths[i] >= 0 && lengths[i] <= shape[sequence], IndexError, "reverse_sequence: length ",
                    lengths[i], " is not from 0 to ", shape[sequence]);
    }
  });
  if (x.size() == 0) return;
  // Whole runs after the later of the two axes move together.
  const std::int64_t run = product(shape, std::max(sequence, batch) + 1, shape.rank());
  const std::int64_t sequence_step = product(shape, sequence + 1, shape.rank()) / run;
  const std::int64_t batch_step = product(shape, batch + 1, shape.rank()) / run;
  const std::size_t bytes = static_cast<std::size_t>(run) * size_of(x.dtype());
  with_indices(call.input(1), [&](const auto* lengths) {
    for (std::int64_t i = 0; i < x.size() / run; ++i) {
      const std::int64_t place = i / sequence_step % shape[sequence];
      const std::int64_t length = lengths[i / batch_step % shape[batch]];
      const std::int64_t from = place < length ? i + (length - 1 - 2 * place) * sequence_step : i;
      std::memcpy(bytes_of(outputs[0], i * run), bytes_of(x, from * run), bytes);
    }
  });
}

void reverse_sequence_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReverseSequenceAttributes>();
  if (!call.needs(0)) return;
  cotangents[0] = reverse_sequence(call.cotangent(), call.input(1), attributes.seq_axis, attributes.batch_axis);
}

bool batch_reverse_sequence(const BatchCall& call, std::vector<Tensor>& outputs) {
  const auto& item = call.attributes<ReverseSequenceAttributes>();
  if (!call.is_batched(1)) {
    const ReverseSequenceAttributes attributes{item_axis(item.seq_axis), item_axis(item.batch_axis)};
    return call_again(call, {call.input(0), call.input(1)}, &attributes, outputs);
  }
  if (!has_room(call)) return false;
  // The batches of all items are one axis, in front.
  const int rank = call.item_rank(0);
  const int sequence = normalize_axis("reverse_sequence", item.seq_axis, rank);
  const int batch = normalize_axis("reverse_sequence", item.batch_axis, rank);
  const ReverseSequenceAttributes attributes{sequence < batch ? sequence + 1 : sequence, 0};
  const Tensor x = merge_items(move_axis(with_items(call, 0), batch + 1, 1));
  call_again(call, {x, merge_items(call.input(1))}, &attributes, outputs);
  outputs[0] = move_axis(split_items(outputs[0], call.size), 1, batch + 1);
  return true;
}

// --- invert_permutation ---

void infer_invert_permutation(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64, DTypeError,
                "invert_permutation: x must be int32 or int64, not ", x.dtype(), arguments({{"x", x}}));
  CAPSTAN_CHECK(x.rank() == 1, ShapeError, "invert_permutation: x must be a vector, not of rank ", x.rank(),
                arguments({{"x", x}}));
  outputs.add(x.dtype(), x.shape());
}

void invert_permutation_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  with_indices(x, [&]<class T>(const T* data) {
    T* out = mutable_data<T>(outputs[0]);
    std::fill_n(out, x.size(), T(-1));
    for (std::int64_t i = 0; i < x.size(); ++i) {
      CAPSTAN_CHECK(data[i] >= 0 && data[i] < x.size(), ValueError, "invert_permutation: element ", data[i],
                    " is not from 0 to ", x.size() - 1);
      CAPSTAN_CHECK(out[data[i]] < 0, ValueError, "invert_permutation: ", data[i], " stands at ", out[data[i]],
                    " and at ", i);
      out[data[i]] = static_cast<T>(i);
    }
  });
}

bool batch_invert_permutation(const BatchCall& call, std::vector<Tensor>& outputs) {
  const Tensor& x = call.input(0);
  const std::int64_t n = x.dim(1);
  const Tensor places = invert_permutation(merge_items(ids_of_all(x, n)));
  const Tensor divisor = scalar(static_cast<double>(std::max<std::int64_t>(n, 1)), DType::kInt64);
  outputs = {cast(floormod(split_items(places, call.size), divisor), x.dtype())};
  return true;
}

// --- ensure_shape, one_hot_of ---

// As a dynamic value: a list of lengths, of which none fits any.
struct PartialShape {
  Lengths lengths;
};
void set_field(PartialShape& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  AttributeValue known = value;
  for (AttributeValue& item : known.list) {
    if (item.kind == AttributeValue::Kind::kNone) item = AttributeValue(-1);
  }
  set_field(field.lengths, known, op, name);
}
AttributeValue get_field(const PartialShape& field) { return get_field(field.lengths); }

Tensor ensure_shape_by_name(Operand x, const PartialShape& shape) { return ensure_shape(x, shape.lengths.shape()); }

// --- The ops ---

constexpr OpDef kReverseSequence = {
    .name = "reverse_sequence",
    .text = "The first elements along an axis in opposite order, as many as each batch's length says.",
    .flags = kTakesAnyDTypes | kLinear,
    .inputs = "x, lengths",
    .attributes = &attribute_table<ReverseSequenceAttributes, "seq_axis, batch_axis", 1>,
    .infer = infer_reverse_sequence,
    .kernel = reverse_sequence_kernel,
    .saves = {.inputs = 0b10},
    .vjp = reverse_sequence_vjp,
    .batch = batch_reverse_sequence,
};
constexpr OpDef kInvertPermutation = {
    .name = "invert_permutation",
    .text = "Where each of 0 ... n - 1 stands in a permutation of them.",
    .flags = kNotDifferentiable,
    .infer = infer_invert_permutation,
    .kernel = invert_permutation_kernel,
    .batch = batch_invert_permutation,
};
constexpr OpDef kEnsureShape = composite<&ensure_shape_by_name, "x, shape">(
    "ensure_shape", "The same tensor, once its shape is found to be the given one.");
constexpr OpDef kOneHotOf = composite<&one_hot_of, "indices, on_value, off_value, depth, axis", -1>(
    "one_hot_of", "Along a new axis, one value at the index and another everywhere else; the values are tensors.",
    kNotDifferentiable);
constexpr OpDef kRangeOf = composite<&range_of, "start, limit, delta">(
    "range_of", "start, start + delta, ... up to a limit that is left out; the three are tensors.", kNotDifferentiable);

}  // namespace

Tensor reverse_sequence(Operand x, Operand lengths, int seq_axis, int batch_axis) {
  const ReverseSequenceAttributes attributes{seq_axis, batch_axis};
  return apply(kReverseSequence, x, lengths, &attributes);
}
Tensor invert_permutation(Operand x) { return apply(kInvertPermutation, x); }

Tensor ensure_shape(Operand x, const Shape& shape) try {
  Tensor value = to_tensor(x);
  bool fits = shape.rank() == value.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = shape[i] == -1 || shape[i] == value.dim(i);
  CAPSTAN_CHECK(fits, ShapeError, "ensure_shape: the shape ", value.shape(), " is not ", shape,
                arguments({{"x", value}}));
  return identity(value);
} catch (const Error&) {
  rethrow_as("ensure_shape");
}

Tensor one_hot_of(Operand indices, Operand on_value, Operand off_value, std::int64_t depth, int axis) try {
  const Tensor on = stop_gradient(on_value);
  const Tensor off = stop_gradient(off_value);
  CAPSTAN_CHECK(on.rank() == 0 && off.rank() == 0, ShapeError, "one_hot_of: the values must be scalars, not ",
                on.shape(), " and ", off.shape(), arguments({{"on_value", on}, {"off_value", off}}));
  return where(one_hot(indices, depth, 1, 0, axis, DType::kBool), on, off);
} catch (const Error&) {
  rethrow_as("one_hot_of");
}

Tensor range_of(Operand start, Operand limit, Operand delta) try {
  const Tensor from = to_tensor(start);
  const Tensor to = to_tensor(limit);
  const Tensor by = to_tensor(delta);
  CAPSTAN_CHECK(from.rank() == 0 && to.rank() == 0 && by.rank() == 0, ShapeError,
                "range_of: start, limit and delta must be scalars, not ", from.shape(), ", ", to.shape(), " and ",
                by.shape(), arguments({{"start", from}, {"limit", to}, {"delta", by}}));
  return range(from, to, by);
} catch (const Error&) {
  rethrow_as("range_of");
}

CAPSTAN_OPS(place, &kReverseSequence, &kInvertPermutation, &kEnsureShape, &kOneHotOf, &kRangeOf);

}  // namespace capstan
