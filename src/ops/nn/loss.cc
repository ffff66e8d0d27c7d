// Losses without a softmax: the cross entropies of sigmoids, and half the sum of squares.
//
// The cross entropies are composites, in forms that neither overflow nor lose the digits of small
// losses; their gradients are those of their parts. The losses of a softmax are in softmax.cc.
#include <vector>

#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/reduce/reduce.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

// --- Cross entropies of sigmoids ---

namespace {

void check_pair(std::string_view name, const Tensor& labels, const Tensor& logits) {
  CAPSTAN_CHECK(is_floating(logits.dtype()), DTypeError, name, ": dtype ", logits.dtype(), " is not supported",
                arguments({{"labels", labels}, {"logits", logits}}));
  CAPSTAN_CHECK(labels.dtype() == logits.dtype(), DTypeError, name, ": dtypes differ, ", labels.dtype(), " and ",
                logits.dtype(), arguments({{"labels", labels}, {"logits", logits}}));
  CAPSTAN_CHECK(labels.shape() == logits.shape(), ShapeError, name, ": shapes differ, ", labels.shape(), " and ",
                logits.shape(), arguments({{"labels", labels}, {"logits", logits}}));
}

}  // namespace

constinit const OpDef kSigmoidCrossEntropyWithLogits = composite<&sigmoid_cross_entropy_with_logits, "labels, logits">(
    "sigmoid_cross_entropy_with_logits", "The cross entropy of labels and the sigmoid of logits, elementwise.");

constinit const OpDef kWeightedCrossEntropyWithLogits =
    composite<&weighted_cross_entropy_with_logits, "labels, logits, pos_weight">(
        "weighted_cross_entropy_with_logits",
        "As sigmoid_cross_entropy_with_logits, with a weight of positive labels.");

Tensor sigmoid_cross_entropy_with_logits(Operand labels, Operand logits) try {
  const Tensor x = to_tensor(logits);
  const Tensor z = to_tensor(labels, x.dtype());
  check_pair("sigmoid_cross_entropy_with_logits", z, x);
  // max(x, 0) - x z + log(1 + exp(-|x|)), with one choice for both kinks so that they cancel in the
  // gradient.
  const Tensor positive = greater_equal(x, 0);
  return where(positive, x, 0.0) - x * z + log1p(exp(where(positive, -x, x)));
} catch (const Error&) {
  rethrow_as("sigmoid_cross_entropy_with_logits");
}

Tensor weighted_cross_entropy_with_logits(Operand labels, Operand logits, Operand pos_weight) try {
  const Tensor x = to_tensor(logits);
  const Tensor z = to_tensor(labels, x.dtype());
  check_pair("weighted_cross_entropy_with_logits", z, x);
  const Tensor weight = 1.0 + (to_tensor(pos_weight, x.dtype()) - 1.0) * z;
  return (1.0 - z) * x + weight * softplus(-x);
} catch (const Error&) {
  rethrow_as("weighted_cross_entropy_with_logits");
}

// --- l2_loss ---

constinit const OpDef kL2Loss = {
    .name = "l2_loss",
    .text = "Half the sum of squares of all elements.",
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& x = call.input(0);
          CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                        arguments({{"x", x}}));
          outputs.add(x.dtype(), {});
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const TensorRef& x = call.input(0);
          ReduceShape shape;
          shape.add(x.size(), true);
          void* out = mutable_raw_data(outputs[0]);
          reduce(Reduction::kSumOfSquares, x.dtype(), shape, x.raw_data(), out);
          // Halving is exact.
          if (x.dtype() == DType::kFloat32) {
            *static_cast<float*>(out) *= 0.5f;
          } else if (x.dtype() == DType::kFloat64) {
            *static_cast<double*>(out) *= 0.5;
          } else {
            BFloat16& value = *static_cast<BFloat16*>(out);
            value = BFloat16(0.5f * value);
          }
        },
    .saves = {.inputs = 1},
    .vjp = [](const VjpCall& call, std::span<Tensor> cotangents) { cotangents[0] = call.input(0) * call.cotangent(); },
    .batch =
        [](const BatchCall& call, std::vector<Tensor>& outputs) {
          outputs = {0.5 * reduce_sum(square(call.input(0)), item_axes({}, call.item_rank(0)))};
          return true;
        },
};

Tensor l2_loss(Operand x) { return apply(kL2Loss, x); }

CAPSTAN_OPS(loss, &kSigmoidCrossEntropyWithLogits, &kWeightedCrossEntropyWithLogits, &kL2Loss);

}  // namespace capstan
