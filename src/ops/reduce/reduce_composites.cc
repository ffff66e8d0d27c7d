// Reductions made of others.
//
// What the reductions of reduce.cc say at no great cost is a composite, so its gradients of any
// order follow from those of its parts.

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"
#include "src/ops/reduce/reduce.h"

namespace capstan {

namespace {

// Each has an overload that takes its axes among the options.
using AxesReduction = Tensor (*)(Operand, Axes, const KeepdimsOptions&);

}  // namespace

constinit const OpDef kReduceLogsumexp =
    composite<static_cast<AxesReduction>(&reduce_logsumexp), "x, axis, keepdims", NoValue{}>(
        "reduce_logsumexp", "log(sum(exp(x))) over axes, without overflow.");
constinit const OpDef kReduceVariance =
    composite<static_cast<AxesReduction>(&reduce_variance), "x, axis, keepdims", NoValue{}>(
        "reduce_variance", "The mean squared distance from the mean over axes.");
constinit const OpDef kReduceStd = composite<static_cast<AxesReduction>(&reduce_std), "x, axis, keepdims", NoValue{}>(
    "reduce_std", "The square root of the variance over axes; its gradient is NaN where all elements are equal.");

Tensor reduce_logsumexp(Operand x, Axes axis, const KeepdimsOptions& options) try {
  const Tensor value = floating_operand("reduce_logsumexp", x);
  normalize_axes("reduce_logsumexp", axis, value.rank());
  // The largest element is subtracted before exp; an infinite one would give NaN.
  const Tensor raw = stop_gradient(reduce_max(value, axis, {.keepdims = true}));
  const Tensor largest = where(is_finite(raw), raw, 0.0);
  const Tensor sum = reduce_sum(exp(value - largest), axis, options);
  return log(sum) + (options.keepdims ? largest : reshape_like(largest, sum));
} catch (const Error&) {
  rethrow_as("reduce_logsumexp");
}

Tensor reduce_variance(Operand x, Axes axis, const KeepdimsOptions& options) try {
  const Tensor value = differentiable_operand("reduce_variance", x);
  normalize_axes("reduce_variance", axis, value.rank());
  return reduce_mean(real(squared_difference(value, reduce_mean(value, axis, {.keepdims = true}))), axis, options);
} catch (const Error&) {
  rethrow_as("reduce_variance");
}

Tensor reduce_std(Operand x, Axes axis, const KeepdimsOptions& options) try {
  const Tensor value = differentiable_operand("reduce_std", x);
  normalize_axes("reduce_std", axis, value.rank());
  return sqrt(reduce_variance(value, axis, options));
} catch (const Error&) {
  rethrow_as("reduce_std");
}

// --- Counts and comparisons ---

constinit const OpDef kCountNonzero =
    composite<static_cast<Tensor (*)(Operand, Axes, const KeepdimsOptions&, DType)>(&count_nonzero),
              "x, axis, keepdims, dtype", NoValue{}, DType::kInt64>(
        "count_nonzero", "How many elements over axes are not zero.", kNotDifferentiable);

Tensor count_nonzero(Operand x, Axes axis, const KeepdimsOptions& options, DType dtype) try {
  const Tensor value = to_tensor(x);
  normalize_axes("count_nonzero", axis, value.rank());
  return reduce_sum(cast(value.dtype() == DType::kBool ? value : not_equal(value, 0), dtype), axis, options);
} catch (const Error&) {
  rethrow_as("count_nonzero");
}

bool equal_tensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.to_dense();
  const Tensor y = b.to_dense();
  return reduce_all(equal(x, y)).item<bool>();
}

CAPSTAN_OPS(reduce_composites, &kReduceLogsumexp, &kReduceVariance, &kReduceStd, &kCountNonzero);

}  // namespace capstan
