// Dropout: elements zeroed at random.
//
// The draw is a function of the seed and the position alone, so the gradient draws the mask again
// instead of keeping it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/random/random.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/seed.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

// The seed is an unsigned number, kept as the signed one with the same bits.
struct DropoutAttributes {
  double rate = 0.5;
  std::int64_t seed = 0;
};

void check_rate(std::string_view op, double rate) {
  CAPSTAN_CHECK(rate >= 0 && rate < 1, ValueError, op, ": the rate must be in [0, 1), not ", rate);
}

}  // namespace

constinit const OpDef kKeyedDropout = {
    .name = "keyed_dropout",
    .text = "Dropout whose draw is a function of the seed and the position.",
    .flags = kLinear,
    .attributes = &attribute_table<DropoutAttributes, "rate, seed", 2>,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& x = call.input(0);
          CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                        arguments({{"x", x}}));
          check_rate(call.op.name, call.attributes<DropoutAttributes>().rate);
          outputs.add(x.dtype(), x.shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<DropoutAttributes>();
          const auto seed = static_cast<std::uint64_t>(a.seed);
          const auto threshold = static_cast<std::uint32_t>(std::min(std::ceil(a.rate * 4294967296.0), 4294967295.0));
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            keyed_dropout<T>(seed, threshold, static_cast<T>(1 / (1 - a.rate)), outputs[0].size(),
                             WideInput<T>(call.input(0)), WideOutput<T>(outputs[0]));
          });
        },
    // Linear, and the same elements are dropped: the mask is drawn again instead of being kept.
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<DropoutAttributes>();
          cotangents[0] = keyed_dropout(call.cotangent(), a.rate, static_cast<std::uint64_t>(a.seed));
        },
    .batch =
        [](const BatchCall& call, std::vector<Tensor>& outputs) {
          // The items have one draw, like calls of the op.
          const auto& a = call.attributes<DropoutAttributes>();
          const Tensor one = ones_like(call.input(0)(0));
          const Tensor factors = keyed_dropout(one, a.rate, static_cast<std::uint64_t>(a.seed));
          // Not the product alone: an infinite element that is dropped is 0.
          outputs = {where(equal(factors, 0), 0, call.input(0) * factors)};
          return true;
        },
};

constinit const OpDef kDropout = composite<&dropout, "x, rate, seed", NoValue{}>(
    "dropout", "Zeroes a fraction of the elements at random and scales the others up.", kStateful);

constinit const OpDef kDropoutWithMask = composite<&dropout_with_mask, "x, mask, rate">(
    "dropout_with_mask", "x / (1 - rate) where the mask is true, else 0.", kTakesAnyDTypes);

Tensor keyed_dropout(Operand x, double rate, std::uint64_t seed) {
  const DropoutAttributes attributes{rate, static_cast<std::int64_t>(seed)};
  return apply(kKeyedDropout, x, &attributes);
}
Tensor dropout(Operand x, double rate, Seed seed) try {
  if (seed || !inside_function()) return keyed_dropout(x, rate, key_of(seed));
  // A key would be that of the trace for ever; a mask is an op and fresh at every call.
  check_rate("dropout", rate);
  const Tensor value = to_tensor(x);
  return value * host_dropout_mask(value, nullptr, {.rate = rate});
} catch (const Error&) {
  rethrow_as("dropout");
}

Tensor dropout_with_mask(Operand x, Operand mask, double rate) try {
  check_rate("dropout_with_mask", rate);
  return where(mask, divide(x, 1 - rate), 0.0);
} catch (const Error&) {
  rethrow_as("dropout_with_mask");
}

CAPSTAN_OPS(dropout, &kDropout, &kKeyedDropout, &kDropoutWithMask);

}  // namespace capstan
