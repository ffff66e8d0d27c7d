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
#include "src/core/op_test.h"
#include "src/ops/axes.h"
#include "src/ops/families.h"
#include "src/ops/floating.h"
#include "src/ops/normalize.h"
#include "src/ops/reference.h"

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

// --- Samples and references ---

#if CAPSTAN_TESTING

std::vector<OpSample> moments_samples() {
  return {
      {.inputs = {{.shape = {4}}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {3, 2}}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {3, 2}}}, .attributes = {{"axes", std::vector<AttributeValue>{0}}, {"keepdims", true}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axes", 2}}, .error = "axis 2 is out of range for rank 2"},
  };
}
void moments_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  // All samples reduce the first axis.
  ReferenceTensor columns = inputs[0];
  Shape shape;
  if (attributes.contains("keepdims")) shape.push_back(1);
  if (inputs[0].shape.rank() == 2) {
    shape.push_back(inputs[0].shape[1]);
  } else {
    columns.shape = {inputs[0].shape[0], 1};
  }
  const reference::ChannelMoments m = reference::moments_of(columns);
  outputs = {{.dtype = inputs[0].dtype, .shape = shape, .values = m.mean},
             {.dtype = inputs[0].dtype, .shape = shape, .values = m.variance}};
}
const OpTest kMomentsTest = {.samples = moments_samples, .reference = moments_reference};

std::vector<OpSample> normalization_samples() {
  const SampleInput variance{.shape = {3}, .domain = {0.5, 2}};
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}, variance, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"variance_epsilon", 0.01}}},
      {.inputs = {{.shape = {2, 2, 3}}, {.shape = {3}}, variance, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"variance_epsilon", 0.1}}},
      {.inputs = {{.shape = {2, 2}}, {.shape = {3}}, variance, {.shape = {3}}, {.shape = {3}}},
       .attributes = {{"variance_epsilon", 0.1}},
       .error = "shapes do not broadcast"},
  };
}
void normalization_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                             std::vector<ReferenceTensor>& outputs) {
  const double epsilon = reference::number(attributes, "variance_epsilon", 0);
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const std::size_t c = i % 3;
    outputs[0].values[i] =
        (inputs[0].values[i] - inputs[1].values[c]) / std::sqrt(inputs[2].values[c] + epsilon) * inputs[4].values[c] +
        inputs[3].values[c];
  }
}
const OpTest kBatchNormalizationTest = {.samples = normalization_samples, .reference = normalization_reference};

#endif

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
    .test = CAPSTAN_OP_TEST(kMomentsTest),
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
    .test = CAPSTAN_OP_TEST(kBatchNormalizationTest),
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
