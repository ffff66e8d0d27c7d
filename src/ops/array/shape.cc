// Shapes: views and transposes.
//
// reshape, expand_dims and squeeze share the storage of their argument; the result is a tensor of
// its own all the same, because tapes tell tensors apart by their block.
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/kernels/array/strided_copy.h"
#include "src/ops/array/shape.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/examples.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

// The first input in another shape.
void add_view(const Call& call, const Shape& shape, OutputSpecs& outputs) {
  outputs.add(call.input(0).dtype(), shape);
  outputs.hand_on(shape);
}
void view_kernel(const Call& call, std::span<Tensor> outputs) {
  outputs[0] = make_view(call.input(0), call.geometry<Shape>());
}

// The cotangent of a tensor whose elements were only arranged differently.
void reshape_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = reshape_like(call.cotangent(), call.input(0));
}

// --- reshape ---

struct ReshapeAttributes {
  Lengths shape;
};

void infer_reshape(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  Shape shape = call.attributes<ReshapeAttributes>().shape.shape();
  int any = -1;
  std::int64_t known = 1;
  bool overflow = false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      CAPSTAN_CHECK(any < 0, ShapeError, "reshape: -1 stands at axes ", any, " and ", i, " of ", shape,
                    arguments({{"x", x}}));
      any = i;
    } else {
      overflow |= __builtin_mul_overflow(known, shape[i], &known);
    }
  }
  if (any >= 0) {
    CAPSTAN_CHECK(!overflow && known != 0 && x.size() % known == 0, ShapeError, "reshape: ", x.size(),
                  " elements leave no length for the -1 in ", shape, arguments({{"x", x}}));
    shape.set(any, x.size() / known);
  } else {
    CAPSTAN_CHECK(!overflow && known == x.size(), ShapeError, "reshape: ", x.size(), " elements do not fill the shape ",
                  shape, arguments({{"x", x}}));
  }
  add_view(call, shape, outputs);
}

bool batch_reshape(const BatchCall& call, std::vector<Tensor>& outputs) {
  const Lengths& item = call.attributes<ReshapeAttributes>().shape;
  if (item.rank == kMaxRank) return false;
  const ReshapeAttributes attributes{lengths_with_items(item, call.size)};
  return call_again(call, {call.input(0)}, &attributes, outputs);
}

// --- expand_dims, squeeze ---

struct AxisAttributes {
  Axis axis = 0;
};

void infer_expand_dims(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const int given = call.attributes<AxisAttributes>().axis;
  const int axis = normalize_axis("expand_dims", given, x.rank() + 1);
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) shape.push_back(1);
    shape.push_back(x.dim(i));
  }
  if (axis == x.rank()) shape.push_back(1);
  add_view(call, shape, outputs);
}

struct SqueezeAttributes {
  Axes axis;
};

void infer_squeeze(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const Axes& axes = call.attributes<SqueezeAttributes>().axis;
  const bool all = axes.all() || axes.size() == 0;
  const AxisSet set = normalize_axes("squeeze", all ? Axes() : axes, x.rank());
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t length = x.dim(i);
    CAPSTAN_CHECK(all || !set.on[i] || length == 1, ShapeError, "squeeze: axis ", i, " has length ", length, ", not 1",
                  arguments({{"x", x}}));
    if (!set.on[i] || length != 1) shape.push_back(length);
  }
  add_view(call, shape, outputs);
}

bool batch_squeeze(const BatchCall& call, std::vector<Tensor>& outputs) {
  const Tensor& x = call.input(0);
  const Axes& item = call.attributes<SqueezeAttributes>().axis;
  const bool all = item.all() || item.size() == 0;
  int axes[kMaxRank];
  std::size_t count = 0;
  for (int i = 0; i < (all ? call.item_rank(0) : item.size()); ++i) {
    const auto axis = static_cast<int>(item_axis(all ? i : item[i]));
    if (!all || x.dim(axis) == 1) axes[count++] = axis;
  }
  // No axis at all would mean all of them.
  outputs = {count == 0 ? identity(x) : squeeze(x, Axes(std::span<const int>(axes, count)))};
  return true;
}

// --- transpose ---

struct TransposeAttributes {
  Axes perm;
  bool conjugate = false;  // done by the function, not by the op
};

// perm[i] is the axis of x that becomes axis i.
struct Permutation {
  int axis[kMaxRank] = {};
};
Permutation permutation_of(const Axes& axes, const TensorRef& x) {
  Permutation perm;
  if (axes.all()) {
    for (int i = 0; i < x.rank(); ++i) perm.axis[i] = x.rank() - 1 - i;
    return perm;
  }
  CAPSTAN_CHECK(axes.size() == x.rank(), ShapeError, "transpose: perm names ", axes.size(), " axes of ", x.rank(),
                arguments({{"x", x}}));
  normalize_axes("transpose", axes, x.rank());
  for (int i = 0; i < x.rank(); ++i) perm.axis[i] = normalize_axis("transpose", axes[i], x.rank());
  return perm;
}

void infer_transpose(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const Permutation& perm =
      outputs.hand_on([&] { return permutation_of(call.attributes<TransposeAttributes>().perm, x); });
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) shape.push_back(x.dim(perm.axis[i]));
  outputs.add(x.dtype(), shape);
}

void transpose_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& perm = call.geometry<Permutation>();
  std::int64_t stride[kMaxRank];
  std::int64_t step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    stride[i] = step;
    step *= x.dim(i);
  }
  CopyAxis axes[kMaxRank];
  step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    axes[i] = {outputs[0].dim(i), step, stride[perm.axis[i]]};
    step *= axes[i].length;
  }
  strided_copy(mutable_raw_data(outputs[0]), x.raw_data(), std::span(axes, static_cast<std::size_t>(x.rank())),
               size_of(x.dtype()));
}

void transpose_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Permutation perm = permutation_of(call.attributes<TransposeAttributes>().perm, call.input(0));
  const int rank = call.input(0).rank();
  int inverse[kMaxRank];
  for (int i = 0; i < rank; ++i) inverse[perm.axis[i]] = i;
  cotangents[0] = transpose(call.cotangent(), Axes(std::span(inverse, static_cast<std::size_t>(rank))));
}

bool batch_transpose(const BatchCall& call, std::vector<Tensor>& outputs) {
  const int rank = call.item_rank(0);
  if (rank == kMaxRank) return false;
  const Axes& item = call.attributes<TransposeAttributes>().perm;
  int perm[kMaxRank] = {0};
  for (int i = 0; i < rank; ++i) perm[i + 1] = static_cast<int>(item_axis(item.all() ? rank - 1 - i : item[i]));
  const TransposeAttributes attributes{Axes(std::span<const int>(perm, static_cast<std::size_t>(rank) + 1))};
  return call_again(call, {call.input(0)}, &attributes, outputs);
}

// --- reshape_like ---

void infer_reshape_like(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& like = call.input(1);
  CAPSTAN_CHECK(x.size() == like.size(), ShapeError, "reshape_like: ", x.size(), " elements do not fill the shape ",
                like.shape(), arguments({{"x", x}, {"like", like}}));
  add_view(call, like.shape(), outputs);
}

// --- The ops ---

constexpr OpDef kReshape = {
    .name = "reshape",
    .text = "The same elements in another shape, one length of which may be left open as -1.",
    .flags = kReturnsViews | kReshapes | kLinear,
    .attributes = &attribute_table<ReshapeAttributes, "shape", 1>,
    .infer = infer_reshape,
    .kernel = view_kernel,
    .vjp = reshape_vjp,
    .batch = batch_reshape,
};
constexpr OpDef kExpandDims = {
    .name = "expand_dims",
    .text = "A new axis of length 1.",
    .flags = kReturnsViews | kReshapes | kLinear,
    .attributes = &attribute_table<AxisAttributes, "axis", 1>,
    .infer = infer_expand_dims,
    .kernel = view_kernel,
    .vjp = reshape_vjp,
    .batch = batch_axis<&AxisAttributes::axis>,
};
constexpr OpDef kSqueeze = {
    .name = "squeeze",
    .text = "Drops axes of length 1.",
    .flags = kReturnsViews | kReshapes | kLinear,
    .attributes = &attribute_table<SqueezeAttributes, "axis">,
    .infer = infer_squeeze,
    .kernel = view_kernel,
    .vjp = reshape_vjp,
    .batch = batch_squeeze,
};
// perm[i] is the axis of a value that becomes axis i; its attributes have been checked when it was made.
Permutation permutation_of(const Expressions& graph, const Expressions::Call& call) {
  const int rank = graph.shape(call.input(0)).rank();
  const Axes& axes = static_cast<const TransposeAttributes*>(call.attributes)->perm;
  Permutation perm;
  for (int i = 0; i < rank; ++i) {
    perm.axis[i] = axes.all() ? rank - 1 - i : normalize_axis("transpose", axes[i], rank);
  }
  return perm;
}

// Whether elements keep their order: only axes of length 1 pass others.
bool keeps_order(const Permutation& perm, const Shape& shape) {
  int last = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[perm.axis[i]] == 1) continue;
    if (perm.axis[i] < last) return false;
    last = perm.axis[i];
  }
  return true;
}

Expressions::Value transposed_back(const Expressions& graph, const Expressions::Call& call) {
  Permutation perm = permutation_of(graph, call);
  if (keeps_order(perm, graph.shape(call.input(0)))) return call.input(0);
  const Expressions::Call* const maker = graph.maker(call.input(0));
  if (maker == nullptr || maker->op != call.op) return Expressions::kNone;
  const Shape& first = graph.shape(maker->input(0));
  const Permutation before = permutation_of(graph, *maker);
  for (int i = 0; i < first.rank(); ++i) perm.axis[i] = before.axis[perm.axis[i]];
  return keeps_order(perm, first) ? maker->input(0) : Expressions::kNone;
}

// The row takes the shape of an example of the other input.
std::optional<ExampleStep> reshaped_example(const ExampleCall& call) {
  if (!call.is_row(0) || !call.has_examples(1, call.inputs[1].rank())) return std::nullopt;
  return ExampleStep{.cut = 0b10};
}
constexpr OpForPrograms kReshapesExamples{.example = reshaped_example};

constexpr OpDef kTranspose = {
    .name = "transpose",
    .text = "The axes in another order; reversed if none is given.",
    .flags = kLinear | kCheapAgain,
    .attributes = &attribute_table<TransposeAttributes, "perm, conjugate">,
    .infer = infer_transpose,
    .kernel = transpose_kernel,
    .vjp = transpose_vjp,
    .batch = batch_transpose,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const TransposeAttributes*>(attributes);
          outputs.push_back(transpose(inputs[0], a.perm, {.conjugate = a.conjugate}));
        },
    .programs = &kWithIdentity<transposed_back>,
};
constexpr OpDef kReshapeLike = {
    .name = "reshape_like",
    .text = "The same elements in the shape of another tensor, of which only the shape is read.",
    .flags = kTakesAnyDTypes | kReturnsViews | kReshapes | kLinear,
    .inputs = "x, like",
    .infer = infer_reshape_like,
    .kernel = view_kernel,
    .shape_inputs = 0b10,
    .vjp = reshape_vjp,
    .batch = batch_like,
    .programs = &kReshapesExamples,
};

}  // namespace

namespace {

// In a trace the first length that is not 1 is left open where it follows from the others: it is most often that of a
// batch, and one trace is to serve batches of any size.
Tensor reshape_in_trace(const Tensor& x, Shape shape) {
  int first = 0;
  while (first + 1 < shape.rank() && shape[first] == 1) ++first;
  bool fits = x.has_value() && shape.rank() > 0 && shape[first] >= 0;
  std::int64_t others = 1, all = 0;
  for (int i = first + 1; fits && i < shape.rank(); ++i) {
    fits = shape[i] > 0 && !__builtin_mul_overflow(others, shape[i], &others);
  }
  if (fits && !__builtin_mul_overflow(others, shape[first], &all) && all == x.size()) shape.set(first, -1);
  const ReshapeAttributes attributes{pack_lengths("reshape", shape, true)};
  return apply(kReshape, x, &attributes);
}

}  // namespace

Tensor reshape(Operand x, const Shape& shape) {
  if (context.tracer != nullptr) return reshape_in_trace(to_tensor(x), shape);
  const ReshapeAttributes attributes{pack_lengths("reshape", shape, true)};
  return apply(kReshape, x, &attributes);
}
Tensor expand_dims(Operand x, int axis) {
  const AxisAttributes attributes{axis};
  return apply(kExpandDims, x, &attributes);
}
Tensor squeeze(Operand x, Axes axes) {
  const SqueezeAttributes attributes{axes};
  return apply(kSqueeze, x, &attributes);
}
Tensor transpose(Operand x, Axes perm, const TransposeOptions& options) {
  const TransposeAttributes attributes{perm};
  if (options.conjugate) return conj(apply(kTranspose, x, &attributes));
  return apply(kTranspose, x, &attributes);
}
Tensor reshape_like(Operand x, Operand like) { return apply(kReshapeLike, x, like); }

void infer_first(const Call& call, OutputSpecs& outputs) { outputs.add(call.input(0).dtype(), call.input(0).shape()); }

void view_first(const Call& call, std::span<Tensor> outputs) {
  outputs[0] = make_view(call.input(0), call.input(0).shape());
}

bool is_transpose(const OpDef& op, const void* attributes, std::span<const int> perm) {
  if (&op != &kTranspose) return false;
  const Axes& axes = static_cast<const TransposeAttributes*>(attributes)->perm;
  const int rank = static_cast<int>(perm.size());
  bool same = axes.all() || axes.size() == rank;
  for (int i = 0; same && i < rank; ++i) {
    same =
        (axes.all() ? rank - 1 - i : normalize_axis("transpose", axes[i], rank)) == perm[static_cast<std::size_t>(i)];
  }
  return same;
}

const OpDef& reshape_to(const Shape& shape, void* attributes) {
  const ReshapeAttributes lengths{pack_lengths("reshape", shape)};
  std::memcpy(attributes, &lengths, sizeof(lengths));
  return kReshape;
}

CAPSTAN_OPS(shape, &kReshape, &kExpandDims, &kSqueeze, &kTranspose, &kReshapeLike);

}  // namespace capstan
