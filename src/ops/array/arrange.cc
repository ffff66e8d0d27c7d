// Arranging elements: copies side by side, flips, rolls, grids.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "capstan/ops/array.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/array/strided_copy.h"
#include "src/ops/array/array.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

// --- tile ---

struct TileAttributes {
  Lengths multiples;
};

void infer_tile(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  Shape shape = call.attributes<TileAttributes>().multiples.shape();
  CAPSTAN_CHECK(shape.rank() == x.rank(), ShapeError, "tile: ", shape.rank(), " multiples for ", x.rank(), " axes",
                arguments({{"x", x}}));
  for (int i = 0; i < x.rank(); ++i) {
    CAPSTAN_CHECK(shape[i] >= 0, ShapeError, "tile: negative multiple ", shape[i], " of axis ", i,
                  arguments({{"x", x}}));
    std::int64_t length = 0;
    CAPSTAN_CHECK(!__builtin_mul_overflow(shape[i], x.dim(i), &length), ShapeError, "tile: ", shape[i],
                  " times length ", x.dim(i), " of axis ", i, " is too long", arguments({{"x", x}}));
    shape.set(i, length);
  }
  outputs.add(x.dtype(), shape);
}

void tile_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const Shape multiples = call.attributes<TileAttributes>().multiples.shape();
  CopyAxis axes[2 * kMaxRank];
  std::int64_t from = 1;
  std::int64_t to = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const std::int64_t length = x.dim(i);
    axes[2 * i + 1] = {length, to, from};
    axes[2 * i] = {multiples[i], to * length, 0};
    to *= length * multiples[i];
    from *= length;
  }
  strided_copy(mutable_raw_data(outputs[0]), x.raw_data(), std::span(axes, static_cast<std::size_t>(2 * x.rank())),
               size_of(x.dtype()));
}

// Sums over the copies, one axis after the other.
void tile_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Tensor& x = call.input(0);
  const Shape multiples = call.attributes<TileAttributes>().multiples.shape();
  Tensor g = call.cotangent();
  Shape shape = g.shape();
  for (int i = 0; i < x.rank(); ++i) {
    if (multiples[i] == 1) continue;
    const std::int64_t outer = product(shape, 0, i);
    const std::int64_t inner = x.dim(i) * product(shape, i + 1, shape.rank());
    g = reduce_sum(reshape(g, {outer, multiples[i], inner}), 1);
    shape.set(i, x.dim(i));
  }
  cotangents[0] = reshape_like(g, x);
}

bool batch_tile(const BatchCall& call, std::vector<Tensor>& outputs) {
  const TileAttributes attributes{lengths_with_items(call.attributes<TileAttributes>().multiples, 1)};
  return call_again(call, {call.input(0)}, &attributes, outputs);
}

// --- repeat ---

Tensor repeat_by_name(Operand x, std::span<const std::int64_t> repeats, const OptionalAxis& axis) {
  return repeat(x, repeats, axis.has_value ? std::optional<int>(axis.value) : std::nullopt);
}

// --- reverse, roll ---

struct ReverseAttributes {
  Axes axis;
};

void infer_reverse(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  outputs.hand_on(normalize_axes("reverse", call.attributes<ReverseAttributes>().axis, x.rank()));
  outputs.add(x.dtype(), x.shape());
}

void reverse_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& set = call.geometry<AxisSet>();
  if (x.size() == 0) return;
  CopyAxis axes[kMaxRank];
  std::int64_t stride = 1;
  std::int64_t offset = 0;
  for (int i = x.rank() - 1; i >= 0; --i) {
    axes[i] = {x.dim(i), stride, set.on[i] ? -stride : stride};
    if (set.on[i]) offset += (x.dim(i) - 1) * stride;
    stride *= x.dim(i);
  }
  strided_copy(mutable_raw_data(outputs[0]), bytes_of(x, offset), std::span(axes, static_cast<std::size_t>(x.rank())),
               size_of(x.dtype()));
}

void reverse_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = reverse(call.cotangent(), call.attributes<ReverseAttributes>().axis);
}

struct RollAttributes {
  IntList shift;
  Axes axis;
};

// By how much each axis is rolled, from 0 to below its length.
struct Shifts {
  std::int64_t by[kMaxRank] = {};
};
Shifts shifts_of(const RollAttributes& attributes, const TensorRef& x) {
  const Axes& axes = attributes.axis;
  CAPSTAN_CHECK(!axes.all() && static_cast<int>(attributes.shift.size()) == axes.size(), ShapeError,
                "roll: ", attributes.shift.size(), " shifts for ", axes.size(), " axes", arguments({{"x", x}}));
  Shifts shifts;
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis("roll", axes[i], x.rank());
    const std::int64_t length = x.dim(axis);
    if (length == 0) continue;
    // An axis may be named twice; its shifts add up.
    const std::int64_t sum = shifts.by[axis] + attributes.shift[static_cast<std::size_t>(i)] % length;
    shifts.by[axis] = (sum % length + length) % length;
  }
  return shifts;
}

void infer_roll(const Call& call, OutputSpecs& outputs) {
  outputs.hand_on(shifts_of(call.attributes<RollAttributes>(), call.input(0)));
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

// Each rolled axis falls into two parts, so the tensor into boxes: two, four, ...
void roll_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const int rank = x.rank();
  const auto& shifts = call.geometry<Shifts>();
  if (x.size() == 0) return;
  for (int box = 0; box < 1 << rank; ++box) {  // bit i: the part of axis i that wraps around
    CopyAxis axes[kMaxRank];
    std::int64_t stride = 1;
    std::int64_t to = 0;
    std::int64_t from = 0;
    bool empty = false;
    for (int i = rank - 1; i >= 0; --i) {
      const std::int64_t length = x.dim(i);
      const std::int64_t shift = shifts.by[i];
      const bool wraps = (box >> i & 1) != 0;
      axes[i] = {wraps ? shift : length - shift, stride, stride};
      empty |= axes[i].length == 0;
      (wraps ? from : to) += (wraps ? length - shift : shift) * stride;
      stride *= length;
    }
    if (empty) continue;
    strided_copy(bytes_of(outputs[0], to), bytes_of(x, from), std::span(axes, static_cast<std::size_t>(rank)),
                 size_of(x.dtype()));
  }
}

void roll_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto& attributes = call.attributes<RollAttributes>();
  std::vector<std::int64_t> back;
  for (std::int64_t shift : attributes.shift.span()) back.push_back(shift == INT64_MIN ? 0 : -shift);
  cotangents[0] = roll(call.cotangent(), back, attributes.axis);
}

// --- meshgrid ---

// The operands as tensors; numbers take the dtype of the first tensor.
std::vector<Tensor> tensors_of(std::span<const Operand> operands) {
  std::vector<Tensor> tensors(operands.size());
  const Tensor* first = nullptr;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_literal()) continue;
    tensors[i] = to_tensor(operands[i]);
    if (first == nullptr) first = &tensors[i];
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_literal()) {
      tensors[i] = first == nullptr ? to_tensor(operands[i]) : to_tensor(operands[i], first->dtype());
    }
  }
  return tensors;
}

std::vector<Tensor> make_meshgrid(std::span<const Operand> operands, std::string_view indexing) {
  CAPSTAN_CHECK(indexing == "xy" || indexing == "ij", ValueError, "meshgrid: indexing must be \"xy\" or \"ij\", not \"",
                indexing, "\"");
  const std::vector<Tensor> tensors = tensors_of(operands);
  const auto count = static_cast<int>(tensors.size());
  const auto axis_of = [&](int i) { return indexing == "xy" && count >= 2 && i < 2 ? 1 - i : i; };
  Shape shape;
  for (int i = 0; i < count; ++i) shape.push_back(1);
  for (int i = 0; i < count; ++i) {
    const Tensor& x = tensors[static_cast<std::size_t>(i)];
    CAPSTAN_CHECK(x.rank() <= 1, ShapeError, "meshgrid: needs vectors, argument ", i, " has rank ", x.rank());
    shape.set(axis_of(i), x.size());
  }
  std::vector<Tensor> grids;
  for (int i = 0; i < count; ++i) {
    Shape along;
    for (int k = 0; k < count; ++k) along.push_back(k == axis_of(i) ? shape[k] : 1);
    grids.push_back(broadcast_to(reshape(tensors[static_cast<std::size_t>(i)], along), shape));
  }
  return grids;
}

}  // namespace

// --- The ops ---

constinit const OpDef kTile = {
    .name = "tile",
    .text = "Copies of a tensor side by side along each axis.",
    .flags = kLinear | kCheapAgain,
    .attributes = &attribute_table<TileAttributes, "multiples", 1>,
    .infer = infer_tile,
    .kernel = tile_kernel,
    .vjp = tile_vjp,
    .batch = batch_tile,
    .programs = &kWithIdentity<first_operand>,
};
constinit const OpDef kRepeat = composite<&repeat_by_name, "x, repeats, axis", NoValue{}>(
    "repeat", "Every element along an axis repeated, each in its place.", kCheapAgain, &kWithIdentity<first_operand>);
constinit const OpDef kReverse = {
    .name = "reverse",
    .text = "The elements in opposite order along given axes.",
    .flags = kLinear | kCheapAgain,
    .attributes = &attribute_table<ReverseAttributes, "axis", 1>,
    .infer = infer_reverse,
    .kernel = reverse_kernel,
    .vjp = reverse_vjp,
    .batch = batch_axis<&ReverseAttributes::axis>,
};
constinit const OpDef kRoll = {
    .name = "roll",
    .text = "The elements shifted along given axes; what leaves at one end comes in at the other.",
    .flags = kLinear | kCheapAgain,
    .attributes = &attribute_table<RollAttributes, "shift, axis", 2>,
    .infer = infer_roll,
    .kernel = roll_kernel,
    .vjp = roll_vjp,
    .batch = batch_axis<&RollAttributes::axis>,
};
constinit const OpDef kMeshgrid = composite<&meshgrid, "tensors, indexing", NameList{"xy"}>(
    "meshgrid", "Coordinate grids from vectors, one grid for each.");

Tensor tile(Operand x, const Shape& multiples) {
  const TileAttributes attributes{pack_lengths("tile", multiples)};
  return apply(kTile, x, &attributes);
}

Tensor repeat(Operand x, std::int64_t repeats, std::optional<int> axis) try {
  return repeat(x, std::span(&repeats, 1), axis);
} catch (const Error&) {
  rethrow_as("repeat");
}
Tensor repeat(Operand x, std::span<const std::int64_t> repeats, std::optional<int> axis) try {
  constexpr std::int64_t kMostRepeats = UINT32_MAX;
  Tensor tensor = to_tensor(x);
  if (!axis) tensor = reshape(tensor, {-1});
  const int which = normalize_axis("repeat", axis.value_or(0), tensor.rank());
  const Shape shape = tensor.shape();
  const std::int64_t length = shape[which];
  CAPSTAN_CHECK(repeats.size() == 1 || static_cast<std::int64_t>(repeats.size()) == length, ShapeError,
                "repeat: ", repeats.size(), " repeats for length ", length, " of axis ", which,
                arguments({{"x", tensor}}));
  for (std::int64_t times : repeats) {
    CAPSTAN_CHECK(times >= 0, ValueError, "repeat: negative number of repeats, ", times);
    // Small enough for sums and products to stay integers.
    CAPSTAN_CHECK(times <= kMostRepeats, ValueError, "repeat: ", times, " repeats are more than a tensor can hold");
  }
  const std::int64_t outer = product(shape, 0, which);
  const std::int64_t inner = product(shape, which + 1, shape.rank());
  Shape result = shape;
  if (repeats.size() == 1) {
    result.set(which, length * repeats[0]);
    const Tensor column = reshape(tensor, {outer * length, 1, inner});
    return reshape(broadcast_to(column, {outer * length, repeats[0], inner}), result);
  }
  const std::int64_t total = std::accumulate(repeats.begin(), repeats.end(), std::int64_t{0});
  result.set(which, total);
  const Tensor places = new_tensor(DType::kInt64, {total});
  std::int64_t* next = mutable_data<std::int64_t>(places);
  for (std::int64_t i = 0; i < length; ++i) next = std::fill_n(next, repeats[static_cast<std::size_t>(i)], i);
  // Along axis 1, so that the gradient is dense: most rows are used.
  return reshape(gather(reshape(tensor, {outer, length, inner}), places, 1), result);
} catch (const Error&) {
  rethrow_as("repeat");
}

Tensor reverse(Operand x, Axes axes) {
  const ReverseAttributes attributes{axes};
  return apply(kReverse, x, &attributes);
}
Tensor roll(Operand x, std::span<const std::int64_t> shifts, Axes axes) {
  const RollAttributes attributes{intern(shifts), axes};
  return apply(kRoll, x, &attributes);
}
std::vector<Tensor> meshgrid(Operands tensors, std::string_view indexing) try {
  return make_meshgrid(tensors.span(), indexing);
} catch (const Error&) {
  rethrow_as("meshgrid");
}

CAPSTAN_OPS(arrange, &kTile, &kRepeat, &kReverse, &kRoll, &kMeshgrid);

}  // namespace capstan
