// Activations that look at more than one element, or are put together from others: crelu, glu, the general relu, and
// sparsemax.
#include <limits>
#include <vector>

#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/activation/sparsemax.h"
#include "src/ops/axis.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

struct AxisAttributes {
  Axis axis = -1;
};

int axis_of(const void* attributes) { return static_cast<const AxisAttributes*>(attributes)->axis; }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// --- Put together from other ops ---

constinit const OpDef kGeneralRelu =
    composite<&general_relu, "x, negative_slope, max_value, threshold", 0.0, kInfinity, 0.0>(
        "general_relu", "relu with a slope below, a limit above, and a threshold.");

Tensor general_relu(Operand x, double negative_slope, double max_value, double threshold) {
  CAPSTAN_CHECK(negative_slope >= 0, ValueError, "general_relu: negative_slope must not be negative, it is ",
                negative_slope);
  CAPSTAN_CHECK(max_value >= 0, ValueError, "general_relu: max_value must not be negative, it is ", max_value);
  CAPSTAN_CHECK(threshold >= 0, ValueError, "general_relu: threshold must not be negative, it is ", threshold);
  return with_errors_of("general_relu", [&] {
    const bool limited = max_value < kInfinity;
    if (threshold == 0 && !limited) return negative_slope == 0 ? relu(x) : leaky_relu(x, negative_slope);
    const Tensor value = to_tensor(x);
    Tensor above;
    if (threshold != 0) {
      above = where(greater(value, threshold), value, 0.0);
    } else {
      above = max_value == 6 ? relu6(value) : relu(value);
    }
    if (limited && !(threshold == 0 && max_value == 6)) above = clip_by_value(above, 0.0, max_value);
    if (negative_slope == 0) return above;
    return above - negative_slope * relu(threshold - value);
  });
}

constinit const OpDef kCrelu =
    composite<&crelu, "x, axis", -1>("crelu", "relu(x) and relu(-x) side by side along an axis.");

Tensor crelu(Operand x, int axis) {
  return with_errors_of("crelu", [&] {
    const Tensor value = to_tensor(x);
    const int normal = normalize_axis("crelu", axis, value.rank());
    return relu(concat({value, -value}, normal));
  });
}

constinit const OpDef kGlu =
    composite<&glu, "x, axis", -1>("glu", "The first half of x along an axis times the sigmoid of the second half.");

Tensor glu(Operand x, int axis) {
  return with_errors_of("glu", [&] {
    const Tensor value = to_tensor(x);
    const int normal = normalize_axis("glu", axis, value.rank());
    CAPSTAN_CHECK(value.dim(normal) % 2 == 0, ValueError, "glu: axis ", axis, " has the odd length ", value.dim(normal),
                  arguments({{"x", value}}));
    const std::vector<Tensor> halves = split(value, 2, normal);
    return halves[0] * sigmoid(halves[1]);
  });
}

// --- sparsemax ---

constinit const OpDef kSparsemax = {
    .name = "sparsemax",
    .text = "The nearest point of the probability simplex along an axis.",
    .attributes = &attribute_table<AxisAttributes, "axis">,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& x = call.input(0);
          CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                        arguments({{"x", x}}));
          outputs.hand_on(view_around(call.op.name, x, call.attributes<AxisAttributes>().axis));
          outputs.add(x.dtype(), x.shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const TensorRef& x = call.input(0);
          sparsemax_along(x.dtype(), call.geometry<AxisView>(), x.raw_data(), mutable_raw_data(outputs[0]));
        },
    .saves = {.outputs = 1},
    // On the support the Jacobian is a projection; which elements belong to it does not change nearby.
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const int axis = axis_of(call.attribute_data());
          const Tensor& g = call.cotangent();
          const Tensor support = cast(greater(call.output(), 0.0), g.dtype());
          const Tensor mean = divide_no_nan(reduce_sum(g * support, axis, {.keepdims = true}),
                                            reduce_sum(support, axis, {.keepdims = true}));
          cotangents[0] = (g - mean) * support;
        },
    .batch = batch_axis<&AxisAttributes::axis>,
};

Tensor sparsemax(Operand x, int axis) {
  const AxisAttributes attributes{axis};
  return apply(kSparsemax, x, &attributes);
}

CAPSTAN_OPS(gated_activation, &kGeneralRelu, &kCrelu, &kGlu, &kSparsemax);

}  // namespace capstan
