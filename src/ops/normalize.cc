// Moments, and normalisation by moments: composites, so their gradients are those of their parts.
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/axes.h"
#include "src/ops/families.h"
#include "src/ops/floating.h"

namespace capstan {

namespace {

struct MomentsAttributes {
  Axes axes;
  bool keepdims = false;
};
constexpr AttributeType kMomentsAttributes = attribute_type<MomentsAttributes>(
    {field<&MomentsAttributes::axes>("axes", true), field<&MomentsAttributes::keepdims>("keepdims")});

struct NormalizationAttributes {
  double variance_epsilon = 0;
};
constexpr AttributeType kNormalizationAttributes = attribute_type<NormalizationAttributes>(
    {field<&NormalizationAttributes::variance_epsilon>("variance_epsilon", true)});

}  // namespace

constinit const OpDef kMoments = {
    .name = "moments",
    .text = "Mean and variance over axes.",
    .kind = OpKind::kComposite,
    .outputs = 2,
    .attributes = &kMomentsAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const MomentsAttributes*>(attributes);
          Moments result = moments(inputs[0], a.axes, a.keepdims);
          outputs.push_back(std::move(result.mean));
          outputs.push_back(std::move(result.variance));
        },
};

constinit const OpDef kBatchNormalization = {
    .name = "batch_normalization",
    .text = "(x - mean) / sqrt(variance + epsilon) * scale + offset.",
    .kind = OpKind::kComposite,
    .arity = 5,
    .input_names = "x, mean, variance, offset, scale",
    .attributes = &kNormalizationAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          outputs.push_back(
              batch_normalization(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4],
                                  static_cast<const NormalizationAttributes*>(attributes)->variance_epsilon));
        },
};

Moments moments(Operand x, Axes axes, bool keepdims) try {
  const Tensor value = floating_operand("moments", x);
  normalize_axes("moments", axes, value.rank());
  const Tensor mean = reduce_mean(value, axes, true);
  const Tensor variance = reduce_mean(squared_difference(value, mean), axes, keepdims);
  return {keepdims ? mean : reshape_like(mean, variance), variance};
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

OpFamily normalize_ops() {
  static constexpr const OpDef* ops[] = {
      &kMoments,
      &kBatchNormalization,
  };
  return ops;
}

}  // namespace capstan
