#include "src/ops/reduce/count_along.h"

#include <algorithm>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/ops/reduce/reduce.h"

namespace capstan {

namespace {

struct CountAttributes {
  Axes axis;
  DType dtype = DType::kFloat32;
  bool unbiases = false;  // n / (n - 1) instead of n
};

double count_of(const TensorRef& x, const CountAttributes& attributes) {
  const Shape shape = x.shape();
  const AxisSet axes = normalize_axes("count_along", attributes.axis, shape.rank());
  const auto n = static_cast<double>(reduce_shape(shape, axes).reduced_count());
  return attributes.unbiases ? n / std::max(n - 1, 1.0) : n;
}

// Made in traces alone, and so not in the registry.
constinit const OpDef kCountAlong = {
    .name = "count_along",
    .text = "The number of elements along axes.",
    .flags = kNotDifferentiable,
    .attributes = &attribute_table<CountAttributes, "axis, dtype, unbiases">,
    .infer = [](const Call& call,
                OutputSpecs& outputs) { outputs.add(call.attributes<CountAttributes>().dtype, Shape{}); },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<CountAttributes>();
          outputs[0] = scalar(count_of(call.input(0), a), a.dtype);
        },
    .shape_inputs = 0b1,
};

}  // namespace

Tensor count_along(const Tensor& x, const Axes& axes, DType dtype, bool unbiases) {
  const CountAttributes attributes{axes, dtype, unbiases};
  return apply(kCountAlong, x, &attributes);
}

Tensor divide_by_count(const Tensor& g, const Tensor& x, const Axes& axes) {
  if (is_symbolic(x.block())) return g / count_along(x, axes, g.dtype(), false);
  return g / count_of(x, {axes, g.dtype()});
}

Tensor without_bias(const Tensor& variance, const Tensor& x, const Axes& axes) {
  if (is_symbolic(x.block())) return variance * count_along(x, axes, variance.dtype(), true);
  return variance * count_of(x, {axes, variance.dtype(), true});
}

}  // namespace capstan
