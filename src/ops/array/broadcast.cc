// Broadcasts and their gradients, sums.
//
// The ops named *_like take the shape from a tensor of which nothing else is read: gradient rules
// are written with them, so that they hold for any shape. Broadcast and sum are each the other's
// gradient.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/same_shape.h"
#include "src/kernels/array/strided_copy.h"
#include "src/kernels/reduce/reduce.h"
#include "src/ops/array/shape.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/lengths.h"
#include "src/ops/math/math.h"

namespace capstan {

namespace {

struct BroadcastAttributes {
  Lengths shape;
};

// --- broadcast_to, broadcast_like ---

void check_broadcasts(std::string_view op, const TensorRef& x, const Shape& shape) {
  bool fits = x.rank() <= shape.rank();
  for (int i = 1; fits && i <= x.rank(); ++i) fits = x.dim(-i) == shape[-i] || x.dim(-i) == 1;
  CAPSTAN_CHECK(fits, ShapeError, op, ": the shape ", x.shape(), " does not broadcast to ", shape,
                arguments({{"x", x}}));
}

void infer_broadcast_to(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  Shape shape = call.attributes<BroadcastAttributes>().shape.shape();
  for (int i = 1; i <= shape.rank(); ++i) {  // -1 keeps the length of x
    if (shape[-i] != -1) continue;
    CAPSTAN_CHECK(i <= x.rank(), ShapeError, "broadcast_to: the -1 in ", shape, " is not an axis of x",
                  arguments({{"x", x}}));
    shape.set(-i, x.dim(-i));
  }
  check_broadcasts("broadcast_to", x, shape);
  outputs.add(x.dtype(), shape);
}

void infer_broadcast_like(const Call& call, OutputSpecs& outputs) {
  const Shape shape = call.input(1).shape();
  check_broadcasts("broadcast_like", call.input(0), shape);
  outputs.add(call.input(0).dtype(), shape);
}

LoopOfOp copy_loop(const void*) { return {&kCopy, -1, 1, nullptr}; }

void broadcast_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& out = outputs[0];
  CopyAxis axes[kMaxRank];
  std::int64_t from = 1;
  std::int64_t to = 1;
  for (int i = out.rank() - 1; i >= 0; --i) {
    const int axis = i - (out.rank() - x.rank());
    const std::int64_t length = axis < 0 ? 1 : x.dim(axis);
    axes[i] = {out.dim(i), to, length == 1 ? 0 : from};
    to *= out.dim(i);
    from *= length;
  }
  strided_copy(mutable_raw_data(outputs[0]), x.raw_data(), std::span(axes, static_cast<std::size_t>(out.rank())),
               size_of(x.dtype()));
}

void broadcast_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = sum_like(call.cotangent(), call.input(0));
}

bool batch_broadcast_to(const BatchCall& call, std::vector<Tensor>& outputs) {
  const Lengths& item = call.attributes<BroadcastAttributes>().shape;
  if (item.rank == kMaxRank) return false;
  const BroadcastAttributes attributes{lengths_with_items(item, call.size)};
  return call_again(call, {aligned(call, 0, item.rank)}, &attributes, outputs);
}

bool batch_broadcast_like(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.item_rank(1) == kMaxRank) return false;
  outputs = {broadcast_like(aligned(call, 0, call.item_rank(1)), shape_with_items(call, 1))};
  return true;
}

// --- sum_like ---

void infer_sum_like(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& like = call.input(1);
  bool fits = like.rank() <= x.rank();
  for (int i = 1; fits && i <= like.rank(); ++i) fits = x.dim(-i) == like.dim(-i) || like.dim(-i) == 1;
  CAPSTAN_CHECK(fits, ShapeError, "sum_like: the shape ", x.shape(), " does not sum to ", like.shape(),
                arguments({{"x", x}, {"like", like}}));
  CAPSTAN_CHECK(x.dtype() != DType::kBool, DTypeError, "sum_like: dtype bool is not supported", arguments({{"x", x}}));
  outputs.add(x.dtype(), like.shape());
  outputs.hand_on([&] {
    ReduceShape shape;
    for (int i = 0; i < x.rank(); ++i) {
      const int axis = i - (x.rank() - like.rank());
      shape.add(x.dim(i), axis < 0 || like.dim(axis) != x.dim(i));
    }
    return shape;
  });
}

void sum_like_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  reduce(Reduction::kSum, x.dtype(), call.geometry<ReduceShape>(), x.raw_data(), mutable_raw_data(outputs[0]));
}

void sum_like_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = broadcast_like(call.cotangent(), call.input(0));
}

// The axes that an item has more are axes of length 1 after that of the items, so that they are summed, too.
bool batch_sum_like(const BatchCall& call, std::vector<Tensor>& outputs) {
  Tensor like = shape_with_items(call, 1);
  const int more = call.item_rank(0) - call.item_rank(1);
  if (more == 0) {
    outputs = {sum_like(call.input(0), like)};
    return true;
  }
  int axes[kMaxRank];
  for (int i = 0; i < more; ++i) axes[i] = i + 1;
  const Tensor sum = reduce_sum(call.input(0), Axes(std::span<const int>(axes, static_cast<std::size_t>(more))));
  outputs = {sum_like(sum, like)};
  return true;
}

// A tensor that already has the wanted shape needs no op: it is its own sum and broadcast.
bool has_shape_of(const Operand& x, const Operand& like) {
  const auto block_of = [](const Operand& operand) -> const detail::Block* {
    return operand.kind() == Operand::Kind::kLent    ? operand.lent()
           : operand.kind() == Operand::Kind::kGiven ? operand.given()->block()
                                                     : nullptr;
  };
  const detail::Block* a = block_of(x);
  const detail::Block* b = block_of(like);
  return a != nullptr && b != nullptr && same_shape(a, b);
}

}  // namespace

// --- The ops ---

namespace {

// A sum of floating numbers begins with 0, which loses the sign of -0.
Expressions::Value integers_alone(const Expressions& graph, const Expressions::Call& call) {
  return is_integer(graph.dtype(call.result)) ? call.input(0) : Expressions::kNone;
}

// If the sum leaves the examples apart, the row is summed to the shape of one; otherwise it is the whole sum, the
// others being zeros.
std::optional<ExampleStep> summed_example(const ExampleCall& call) {
  if (!call.is_row(0)) return std::nullopt;
  if (call.has_examples(1, call.inputs[0].rank())) return ExampleStep{.cut = 0b10};
  return ExampleStep{.result = Examples::kFull};
}
constexpr OpForPrograms kSumForPrograms{.identity = integers_alone, .example = summed_example};

}  // namespace

constinit const OpDef kBroadcastTo = {
    .name = "broadcast_to",
    .text = "Repeats axes of length 1, and new leading ones, to fill a shape.",
    .flags = kLinear | kCheapAgain,
    .attributes = &attribute_table<BroadcastAttributes, "shape", 1>,
    .infer = infer_broadcast_to,
    .kernel = broadcast_kernel,
    .loop = copy_loop,
    .vjp = broadcast_vjp,
    .batch = batch_broadcast_to,
    .programs = &kWithIdentity<first_operand>,
};
constinit const OpDef kBroadcastLike = {
    .name = "broadcast_like",
    .text = "Broadcast to the shape of another tensor, of which only the shape is read.",
    .flags = kTakesAnyDTypes | kLinear | kCheapAgain,
    .inputs = "x, like",
    .infer = infer_broadcast_like,
    .kernel = broadcast_kernel,
    .loop = copy_loop,
    .shape_inputs = 0b10,
    .vjp = broadcast_vjp,
    .batch = batch_broadcast_like,
    .programs = &kWithIdentity<first_operand>,
};
constinit const OpDef kSumLike = {
    .name = "sum_like",
    .text = "Summed over the axes along which the shape of another tensor would be broadcast.",
    .flags = kTakesAnyDTypes | kLinear | kCheapAgain,
    .inputs = "x, like",
    .infer = infer_sum_like,
    .kernel = sum_like_kernel,
    .shape_inputs = 0b10,
    .vjp = sum_like_vjp,
    .batch = batch_sum_like,
    .programs = &kSumForPrograms,
};
namespace {

// In a trace the lengths that x has are those of x, whatever number the program gave: one trace is to serve batches of
// any size.
Tensor broadcast_in_trace(const Tensor& x, Shape shape) {
  for (int i = 1; x.has_value() && i <= std::min(shape.rank(), x.rank()); ++i) {
    if (shape[-i] == x.dim(-i)) shape.set(-i, -1);
  }
  const BroadcastAttributes attributes{pack_lengths("broadcast_to", shape, true)};
  return apply(kBroadcastTo, x, &attributes);
}

}  // namespace

Tensor broadcast_to(Operand x, const Shape& shape) {
  if (context.tracer != nullptr) return broadcast_in_trace(to_tensor(x), shape);
  const BroadcastAttributes attributes{pack_lengths("broadcast_to", shape, true)};
  return apply(kBroadcastTo, x, &attributes);
}

Tensor broadcast_like(Operand x, Operand like) {
  return has_shape_of(x, like) ? to_tensor(x) : apply(kBroadcastLike, x, like);
}
Tensor sum_like(Operand x, Operand like) { return has_shape_of(x, like) ? to_tensor(x) : apply(kSumLike, x, like); }

CAPSTAN_OPS(broadcast, &kBroadcastTo, &kBroadcastLike, &kSumLike);

}  // namespace capstan
