// Reductions: sums, means, products, extrema, norms, truth values, positions of extrema.
//
// The kernels are those of src/kernels/reduce/reduce.h. What can be said with these at no great cost is
// in reduce_composites.cc.
#include "capstan/ops/reduce.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/math/complex.h"
#include "src/ops/reduce/count_along.h"
#include "src/ops/reduce/reduce.h"

namespace capstan {

Tensor restore_axes(const Tensor& reduced, const Tensor& x, const ReduceAttributes& attributes) {
  if (attributes.keepdims) return reduced;
  const AxisSet axes = normalize_axes("reduce", attributes.axis, x.rank());
  // Leading axes come back by broadcasting.
  int first = 0;
  while (first < x.rank() && axes.on[first]) ++first;
  Tensor result = reduced;
  if (first == x.rank()) return result;
  int leading = first;  // kept axis `first` is axis 0 of the result
  for (int i = first; i < x.rank(); ++i) {
    if (axes.on[i]) result = expand_dims(std::move(result), i - leading);
  }
  return result;
}

namespace {

constexpr const AttributeType& kReduceAttributes = attribute_table<ReduceAttributes, "axis, keepdims">;

enum class Takes : std::uint8_t { kNumbers, kOrdered, kFloating, kBool };

template <Takes kTakes>
void infer_reduction(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ReduceAttributes>();
  const bool takes = kTakes == Takes::kNumbers    ? x.dtype() != DType::kBool
                     : kTakes == Takes::kOrdered  ? x.dtype() < DType::kBool
                     : kTakes == Takes::kFloating ? is_floating(x.dtype())
                                                  : x.dtype() == DType::kBool;
  CAPSTAN_CHECK(takes, DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported", arguments({{"x", x}}));
  const Shape shape = x.shape();
  const AxisSet axes = normalize_axes(call.op.name, attributes.axis, shape.rank());
  outputs.add(x.dtype(), reduced_shape(shape, axes, attributes.keepdims));
  outputs.hand_on([&] { return reduce_shape(shape, axes); });
}

template <Reduction kReduction>
void run_reduction(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  reduce(kReduction, x.dtype(), call.geometry<ReduceShape>(), x.raw_data(), mutable_raw_data(outputs[0]));
}

// --- Rules ---

void vjp_sum(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  cotangents[0] = broadcast_like(restore_axes(call.cotangent(), call.input(0), attributes), call.input(0));
}

void vjp_mean(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor share = divide_by_count(call.cotangent(), call.input(0), attributes.axis);
  cotangents[0] = broadcast_like(restore_axes(share, call.input(0), attributes), call.input(0));
}

// The product of all others: that of those before times that of those after. No division, so zeros
// are no special case.
void vjp_product(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor& x = call.input(0);
  const Shape shape = x.shape();
  const AxisSet axes = normalize_axes("reduce_prod", attributes.axis, shape.rank());
  int order[kMaxRank];
  int inverse[kMaxRank];
  int count = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (bool reduced : {false, true}) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (axes.on[i] != reduced) continue;
      inverse[i] = count;
      order[count++] = i;
      (reduced ? columns : rows) *= shape[i];
    }
  }
  const auto rank = static_cast<std::size_t>(shape.rank());
  const bool moves = !std::is_sorted(order, order + rank);
  const Tensor moved = moves ? transpose(x, Axes(std::span<const int>(order, rank))) : x;
  const Tensor matrix = reshape(moved, {rows, columns});
  const Tensor others =
      cumprod(matrix, 1, {.exclusive = true}) * cumprod(matrix, 1, {.exclusive = true, .reverse = true});
  const Tensor product = reshape_like(conj(others) * reshape(call.cotangent(), {rows, 1}), moved);
  cotangents[0] = moves ? transpose(product, Axes(std::span<const int>(inverse, rank))) : product;
}

// Shared equally among ties.
void vjp_extremum(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor& x = call.input(0);
  const Tensor chosen = cast(equal(x, restore_axes(call.output(), x, attributes)), x.dtype());
  const Tensor count = reduce_sum(chosen, attributes.axis, {.keepdims = attributes.keepdims});
  cotangents[0] = chosen * restore_axes(call.cotangent() / count, x, attributes);
}

// Not defined for the norm 0, where it is NaN.
void vjp_norm(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor& x = call.input(0);
  cotangents[0] = restore_axes(call.cotangent(), x, attributes) * (x / restore_axes(call.output(), x, attributes));
}

}  // namespace

namespace {

// Over axes of length 1. A sum of floating numbers starts with 0, which loses the sign of -0.
Expressions::Value sum_of_one(const Expressions& graph, const Expressions::Call& call) {
  return is_integer(graph.dtype(call.result)) ? call.input(0) : Expressions::kNone;
}
// A product starts with 1, and 1 times a complex number with an infinite part is NaN.
Expressions::Value product_of_one(const Expressions& graph, const Expressions::Call& call) {
  return is_complex(graph.dtype(call.result)) ? Expressions::kNone : call.input(0);
}

}  // namespace

constinit const OpDef kReduceSum = {
    .name = "reduce_sum",
    .text = "The sum over axes.",
    .flags = kLinear | kCheapAgain,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kSum>,
    .vjp = vjp_sum,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<sum_of_one>,
};

constinit const OpDef kReduceMean = {
    .name = "reduce_mean",
    .text = "The mean over axes; that of integers is truncated, that of nothing is NaN.",
    .flags = kLinear | kCheapAgain,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kMean>,
    .vjp = vjp_mean,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<sum_of_one>,
};

constinit const OpDef kReduceProd = {
    .name = "reduce_prod",
    .text = "The product over axes.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kProduct>,
    .saves = {.inputs = 1},
    .vjp = vjp_product,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<product_of_one>,
};

constinit const OpDef kReduceMax = {
    .name = "reduce_max",
    .text = "The largest element over axes; the gradient is shared equally among ties.",
    .flags = kCheapAgain,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kOrdered>,
    .kernel = run_reduction<Reduction::kMaximum>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_extremum,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<first_operand>,
};

constinit const OpDef kReduceMin = {
    .name = "reduce_min",
    .text = "The smallest element over axes; the gradient is shared equally among ties.",
    .flags = kCheapAgain,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kOrdered>,
    .kernel = run_reduction<Reduction::kMinimum>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_extremum,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<first_operand>,
};

constinit const OpDef kReduceAny = {
    .name = "reduce_any",
    .text = "True where any element over axes is true.",
    .flags = kNotDifferentiable,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kBool>,
    .kernel = run_reduction<Reduction::kAny>,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<first_operand>,
};

constinit const OpDef kReduceAll = {
    .name = "reduce_all",
    .text = "True where all elements over axes are true.",
    .flags = kNotDifferentiable,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kBool>,
    .kernel = run_reduction<Reduction::kAll>,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .programs = &kWithIdentity<first_operand>,
};

constinit const OpDef kReduceEuclideanNorm = {
    .name = "reduce_euclidean_norm",
    .text = "The square root of the sum of squares over axes.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kFloating>,
    .kernel = run_reduction<Reduction::kEuclideanNorm>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_norm,
    .batch = batch_axis<&ReduceAttributes::axis>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const ReduceAttributes*>(attributes);
          outputs.push_back(reduce_euclidean_norm(inputs[0], a.axis, {.keepdims = a.keepdims}));
        },
};

Tensor reduce_sum(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceSum, x, &attributes);
}
Tensor reduce_mean(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceMean, x, &attributes);
}
Tensor reduce_prod(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceProd, x, &attributes);
}
Tensor reduce_max(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceMax, x, &attributes);
}
Tensor reduce_min(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceMin, x, &attributes);
}
Tensor reduce_any(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceAny, x, &attributes);
}
Tensor reduce_all(Operand x, Axes axis, const KeepdimsOptions& options) {
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceAll, x, &attributes);
}
Tensor reduce_euclidean_norm(Operand x, Axes axis, const KeepdimsOptions& options) {
  if (is_complex_operand(x)) {
    // Not the norm of magnitudes: the derivatives of those are singular where a single element is 0.
    const Tensor z = to_tensor(x);
    normalize_axes("reduce_euclidean_norm", axis, z.rank());
    return cast(sqrt(reduce_sum(square(real(z)) + square(imag(z)), axis, options)), z.dtype());
  }
  const ReduceAttributes attributes{axis, options.keepdims};
  return apply(kReduceEuclideanNorm, x, &attributes);
}

// --- Positions of extrema ---

namespace {

struct ArgAttributes {
  AxisOr<0> axis;  // the first one if not given
  DType output_type = DType::kInt64;
};
constexpr const AttributeType& kArgAttributes = attribute_table<ArgAttributes, "axis, output_type">;

void infer_arg(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ArgAttributes>();
  CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  const Shape shape = x.shape();
  const int axis = normalize_axis(call.op.name, attributes.axis, shape.rank());
  CAPSTAN_CHECK(attributes.output_type == DType::kInt32 || attributes.output_type == DType::kInt64, DTypeError,
                call.op.name, ": the result is int32 or int64, not ", attributes.output_type);
  CAPSTAN_CHECK(shape[axis] > 0, ShapeError, call.op.name, ": axis ", axis, " of ", shape, " has no elements",
                arguments({{"x", x}}));
  AxisSet axes;
  axes.on[axis] = true;
  outputs.add(attributes.output_type, reduced_shape(shape, axes, false));
  outputs.hand_on(view_around(shape, axis));
}

template <bool kLargest>
void run_arg(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& view = call.geometry<AxisView>();
  if (outputs[0].dtype() == DType::kInt64) {
    arg_extremum(kLargest, x.dtype(), view, x.raw_data(), mutable_data<std::int64_t>(outputs[0]));
    return;
  }
  const Tensor wide = new_tensor(DType::kInt64, outputs[0].shape());
  arg_extremum(kLargest, x.dtype(), view, x.raw_data(), mutable_data<std::int64_t>(wide));
  const std::int64_t* from = wide.data<std::int64_t>();
  std::int32_t* to = mutable_data<std::int32_t>(outputs[0]);
  for (std::int64_t i = 0; i < wide.size(); ++i) to[i] = static_cast<std::int32_t>(from[i]);
}

}  // namespace

constinit const OpDef kArgmax = {
    .name = "argmax",
    .text = "The position of the largest element along an axis; the first one at ties.",
    .flags = kNotDifferentiable,
    .attributes = &kArgAttributes,
    .infer = infer_arg,
    .kernel = run_arg<true>,
    .batch = batch_axis<&ArgAttributes::axis>,
};

constinit const OpDef kArgmin = {
    .name = "argmin",
    .text = "The position of the smallest element along an axis; the first one at ties.",
    .flags = kNotDifferentiable,
    .attributes = &kArgAttributes,
    .infer = infer_arg,
    .kernel = run_arg<false>,
    .batch = batch_axis<&ArgAttributes::axis>,
};

Tensor argmax(Operand x, int axis, DType output_type) {
  const ArgAttributes attributes{axis, output_type};
  return apply(kArgmax, x, &attributes);
}
Tensor argmin(Operand x, int axis, DType output_type) {
  const ArgAttributes attributes{axis, output_type};
  return apply(kArgmin, x, &attributes);
}

CAPSTAN_OPS(reduce, &kReduceSum, &kReduceMean, &kReduceProd, &kReduceMax, &kReduceMin, &kReduceAny, &kReduceAll,
            &kReduceEuclideanNorm, &kArgmax, &kArgmin);

}  // namespace capstan
