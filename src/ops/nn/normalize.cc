// Moments, and normalisation by moments: composites, so their gradients are those of their parts.

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/axes.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"

namespace capstan {

constinit const OpDef kMoments = composite<&moments, "x, axes, keepdims">("moments", "Mean and variance over axes.");

constinit const OpDef kBatchNormalization =
    composite<&batch_normalization, "x, mean, variance, offset, scale, variance_epsilon">(
        "batch_normalization", "(x - mean) / sqrt(variance + epsilon) * scale + offset.");

Moments moments(Operand x, Axes axes, const KeepdimsOptions& options) try {
  const Tensor value = floating_operand("moments", x);
  normalize_axes("moments", axes, value.rank());
  const Tensor mean = reduce_mean(value, axes, {.keepdims = true});
  const Tensor variance = reduce_mean(squared_difference(value, mean), axes, options);
  return {options.keepdims ? mean : reshape_like(mean, variance), variance};
} catch (const Error&) {
  rethrow_as("moments");
}

Tensor batch_normalization(Operand x, Operand mean, Operand variance, Operand offset, Operand scale,
                           double variance_epsilon) {
  return with_errors_of("batch_normalization", [&] {
    const Tensor factor = rsqrt(add(variance, variance_epsilon)) * scale;
    return multiply(x, factor) + subtract(offset, multiply(mean, factor));
  });
}

CAPSTAN_OPS(normalize, &kMoments, &kBatchNormalization);

}  // namespace capstan
