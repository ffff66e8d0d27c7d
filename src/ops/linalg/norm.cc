// Norms, and clipping by them.
//
// All are composites of reductions and elementwise ops, so their gradients are those of their
// parts: that of a Euclidean norm is NaN at zero, while clipping by a norm guards the root and is
// smooth there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/decompositions.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/row_sparse.h"
#include "src/ops/axes.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"
#include "src/ops/reduce/reduce.h"

namespace capstan {

// Found by the argument, hence not in the unnamed namespace.
void set_field(NormOrder& field, const AttributeValue& value, std::string_view, std::string_view) {
  if (value.is_number()) {
    field = NormOrder(value.number);
  } else {
    field = NormOrder(value.kind == AttributeValue::Kind::kString ? value.text.c_str() : value.to_string().c_str());
  }
}
AttributeValue get_field(const NormOrder& field) {
  if (field.is_frobenius()) return {"fro"};
  if (field.is_nuclear()) return {"nuclear"};
  if (std::isinf(field.number())) return {"inf"};
  if (field.is_named()) return {"euclidean"};
  return {field.number()};
}

namespace {

struct NormAttributes {
  NormOrder ord;
  Axes axis;
  bool keepdims = false;
};
// Of the singular values of the matrices along two axes, the largest or all of them.
Tensor spectral_norm(const Tensor& x, int row, int column, bool all, bool keepdims) {
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != row && i != column) order.push_back(i);
  }
  order.push_back(row);
  order.push_back(column);
  const Tensor s = svd(transpose(x, Axes(std::span<const int>(order))), {.compute_uv = false}).s;
  const Tensor reduced = all || s.dim(-1) == 0 ? reduce_sum(s, -1) : reduce_max(s, -1);
  if (!keepdims) return reduced;
  return expand_dims(expand_dims(reduced, std::min(row, column)), std::max(row, column));
}

Tensor matrix_norm(const Tensor& x, const NormAttributes& attributes) {
  const Axes axis = attributes.axis;
  const bool keepdims = attributes.keepdims;
  const double order = attributes.ord.number();
  const int row = normalize_axis("norm", axis[0], x.rank());
  const int column = normalize_axis("norm", axis[1], x.rank());
  if (attributes.ord.is_nuclear() || order == 2) {
    return spectral_norm(x, row, column, attributes.ord.is_nuclear(), keepdims);
  }
  CAPSTAN_CHECK(order == 1 || std::isinf(order), ValueError, "norm: matrices have no norm of order ", order,
                help("use 1, 2, \"euclidean\", \"fro\", \"nuclear\" or \"inf\""));
  // Of columns and of rows: sums of magnitudes along one axis, the largest along the other.
  const int summed = order == 1 ? row : column;
  const int compared = order == 1 ? column : row;
  const Tensor largest = reduce_max(reduce_sum(abs(x), summed, {.keepdims = true}), compared, {.keepdims = true});
  return keepdims ? largest : squeeze(largest, Axes{summed, compared});
}

Tensor norm_of_order(const Tensor& x, const NormAttributes& attributes) {
  const Axes axis = attributes.axis;
  const bool keepdims = attributes.keepdims;
  const NormOrder& ord = attributes.ord;
  const double order = ord.number();
  normalize_axes("norm", axis, x.rank());
  const bool matrix = !axis.all() && axis.size() == 2;
  CAPSTAN_CHECK(axis.all() || axis.size() == 1 || matrix, ValueError, "norm: takes one axis or two, not ", axis.size());
  CAPSTAN_CHECK(!ord.is_frobenius() || matrix, ValueError, "norm: the Frobenius norm needs two axes");
  CAPSTAN_CHECK(!ord.is_nuclear() || matrix, ValueError, "norm: the nuclear norm needs two axes");
  if (matrix && (ord.is_nuclear() || !ord.is_named())) return matrix_norm(x, attributes);
  if (order == 2) return reduce_euclidean_norm(x, axis, {.keepdims = keepdims});
  if (order == 1) return reduce_sum(abs(x), axis, {.keepdims = keepdims});
  if (std::isinf(order)) return reduce_max(abs(x), axis, {.keepdims = keepdims});
  return pow(reduce_sum(pow(abs(x), order), axis, {.keepdims = keepdims}), 1 / order);
}

// What global norms read of a tensor: the rows of a row-sparse gradient, whose repeats are not
// merged.
Tensor dense_part(const Tensor& tensor) { return tensor.is_row_sparse() ? tensor.values() : tensor; }

// By name the largest norm is a number, not a tensor.
Tensor clip_by_norm_by_name(Operand x, double clip_norm, Axes axes) { return clip_by_norm(x, clip_norm, axes); }
Tensor clip_by_average_norm_by_name(Operand x, double clip_norm) { return clip_by_average_norm(x, clip_norm); }
// By name the global norm is the last of the results.
std::vector<Tensor> clip_by_global_norm_by_name(std::span<const Tensor> tensors, double clip_norm) {
  ClippedByGlobalNorm clipped = clip_by_global_norm(tensors, clip_norm);
  clipped.tensors.push_back(std::move(clipped.global_norm));
  return std::move(clipped.tensors);
}

}  // namespace

constinit const OpDef kNorm = composite<&norm, "x, ord, axis, keepdims", NoValue{}, NoValue{}>(
    "norm", "Vector norms over all axes or one, matrix norms over two.");

constinit const OpDef kNormalize =
    composite<&normalize, "x, ord, axis", NoValue{}, NoValue{}>("normalize", "x divided by its norm, and the norm.");

constinit const OpDef kL2Normalize = composite<&l2_normalize, "x, axis, epsilon", NoValue{}, 1e-12>(
    "l2_normalize", "x / sqrt(max(sum(x^2), epsilon)) over axes.");

constinit const OpDef kGlobalNorm = composite<overload<Tensor(std::span<const Tensor>)>(&global_norm), "tensors">(
    "global_norm", "The square root of the sum of all squares of all tensors.");

constinit const OpDef kClipByNorm = composite<&clip_by_norm_by_name, "x, clip_norm, axes", NoValue{}>(
    "clip_by_norm", "Scales x down where its norm over axes exceeds clip_norm.");

constinit const OpDef kClipByAverageNorm = composite<&clip_by_average_norm_by_name, "x, clip_norm">(
    "clip_by_average_norm", "Scales x down where its norm, divided by the number of elements, exceeds clip_norm.");

constinit const OpDef kClipByGlobalNorm = composite<&clip_by_global_norm_by_name, "tensors, clip_norm">(
    "clip_by_global_norm", "Scales all tensors down together if their global norm exceeds clip_norm.");

NormOrder::NormOrder(const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  CAPSTAN_CHECK(text == "euclidean" || text == "fro" || text == "nuclear" || text == "inf", ValueError,
                "norm: ord must be \"euclidean\", \"fro\", \"nuclear\", \"inf\" or a positive number, not \"", text,
                "\"");
  if (text == "fro") kind_ = Kind::kFrobenius;
  if (text == "nuclear") kind_ = Kind::kNuclear;
  if (text == "inf") *this = NormOrder(std::numeric_limits<double>::infinity());
}

NormOrder::NormOrder(double number) : number_(number), kind_(Kind::kNumber) {
  CAPSTAN_CHECK(number > 0, ValueError,
                "norm: ord must be \"euclidean\", \"fro\", \"nuclear\", \"inf\" or a positive number, not ", number);
}

Tensor norm(Operand x, NormOrder ord, Axes axis, const KeepdimsOptions& options) try {
  return norm_of_order(differentiable_operand("norm", x), {.ord = ord, .axis = axis, .keepdims = options.keepdims});
} catch (const Error&) {
  rethrow_as("norm");
}

Normalized normalize(Operand x, NormOrder ord, Axes axis) try {
  const Tensor value = floating_operand("normalize", x);
  const Tensor length = norm(value, ord, axis, {.keepdims = true});
  return {value / cast(length, value.dtype()), length};
} catch (const Error&) {
  rethrow_as("normalize");
}

Tensor l2_normalize(Operand x, Axes axis, double epsilon) try {
  const Tensor value = floating_operand("l2_normalize", x);
  normalize_axes("l2_normalize", axis, value.rank());
  return value * rsqrt(maximum(reduce_sum(square(value), axis, {.keepdims = true}), epsilon));
} catch (const Error&) {
  rethrow_as("l2_normalize");
}

Tensor global_norm(std::span<const Tensor> tensors) try {
  Tensor sum;
  for (const Tensor& tensor : tensors) {
    if (!tensor.has_value()) continue;
    const Tensor value = floating_operand("global_norm", dense_part(tensor));
    CAPSTAN_CHECK(!sum.has_value() || sum.dtype() == value.dtype(), DTypeError, "global_norm: dtypes differ, ",
                  sum.dtype(), " and ", value.dtype(), help("clip tensors of one dtype at a time"));
    const Tensor half = l2_loss(value);
    sum = sum.has_value() ? sum + half : half;
  }
  return sum.has_value() ? sqrt(2 * sum) : zeros({}, floatx());
} catch (const Error&) {
  rethrow_as("global_norm");
}

Tensor clip_by_norm(Operand x, Operand clip_norm, Axes axes) try {
  return on_values(to_tensor(x), [&](const Tensor& given) {
    const Tensor value = floating_operand("clip_by_norm", given);
    normalize_axes("clip_by_norm", axes, value.rank());
    const Tensor limit = maximum(to_tensor(clip_norm, value.dtype()), 0);
    const Tensor squares = reduce_sum(square(value), axes, {.keepdims = true});
    // The root of zero has no gradient; clipping leaves zero alone, with gradient one.
    const Tensor positive = greater(squares, 0);
    const Tensor length = where(positive, sqrt(where(positive, squares, 1.0)), squares);
    Tensor clipped = value * limit / maximum(length, limit);
    CAPSTAN_CHECK(clipped.shape() == value.shape(), ShapeError, "clip_by_norm: clip_norm ", limit.shape(),
                  " enlarges x, ", value.shape());
    return clipped;
  });
} catch (const Error&) {
  rethrow_as("clip_by_norm");
}

Tensor clip_by_average_norm(Operand x, Operand clip_norm) try {
  const Tensor value = floating_operand("clip_by_average_norm", x);
  return clip_by_norm(value, to_tensor(clip_norm, value.dtype()) * static_cast<double>(value.size()));
} catch (const Error&) {
  rethrow_as("clip_by_average_norm");
}

ClippedByGlobalNorm clip_by_global_norm(std::span<const Tensor> tensors, Operand clip_norm,
                                        const Tensor& use_norm) try {
  ClippedByGlobalNorm result;
  result.global_norm = use_norm.has_value() ? floating_operand("clip_by_global_norm", use_norm) : global_norm(tensors);
  CAPSTAN_CHECK(result.global_norm.rank() == 0, ShapeError, "clip_by_global_norm: use_norm has shape ",
                use_norm.shape(), ", not that of a scalar");
  const Tensor& norm = result.global_norm;
  const Tensor limit = to_tensor(clip_norm, norm.dtype());
  // The difference is zero, or NaN for a norm that is not finite, and then so is every result.
  const Tensor scale = limit * minimum(1.0 / norm, 1.0 / limit) + (norm - norm);
  for (const Tensor& tensor : tensors) {
    if (!tensor.has_value()) {
      result.tensors.emplace_back();
      continue;
    }
    result.tensors.push_back(
        on_values(tensor, [&](const Tensor& value) { return value * cast(scale, value.dtype()); }));
  }
  return result;
} catch (const Error&) {
  rethrow_as("clip_by_global_norm");
}

CAPSTAN_OPS(norm, &kNorm, &kNormalize, &kL2Normalize, &kGlobalNorm, &kClipByNorm, &kClipByAverageNorm,
            &kClipByGlobalNorm);

}  // namespace capstan
