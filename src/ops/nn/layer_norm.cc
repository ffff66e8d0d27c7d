// Layer normalisation and its fused gradient.
//
// The gradient is an op of x, scale and the cotangent alone: it computes the moments again. Its own rule is written in
// library ops; it is for second derivatives, which are rare.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/nn/layer_norm.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

struct LayerAttributes {
  std::int64_t axes = 1;
  double epsilon = 1e-3;
};
constexpr const AttributeType& kLayerAttributes = attribute_table<LayerAttributes, "axes, epsilon">;

// Checks x and the lengths of input `position`, which are those of the last axes.
void check_inner(const Call& call, int position, std::string_view name) {
  const TensorRef& x = call.input(0);
  const std::int64_t axes = call.attributes<LayerAttributes>().axes;
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  CAPSTAN_CHECK(axes >= 1 && axes <= x.rank(), ShapeError, call.op.name, ": ", axes, " axes of a tensor of rank ",
                x.rank(), arguments({{"x", x}}));
  const Shape shape = x.shape();
  const Shape inner(shape.dims().last(static_cast<std::size_t>(axes)));
  CAPSTAN_CHECK(call.input(position).shape() == inner, ShapeError, call.op.name, ": ", name, " has shape ",
                call.input(position).shape(), ", not ", inner, arguments({{"x", x}, {name, call.input(position)}}));
}

// x as [rows, n].
struct RowsOf {
  std::int64_t rows = 1;
  std::int64_t n = 1;
};
RowsOf rows_of(const Call& call) {
  const Shape shape = call.input(0).shape();
  const int outer = shape.rank() - static_cast<int>(call.attributes<LayerAttributes>().axes);
  return {product(shape, 0, outer), product(shape, outer, shape.rank())};
}

Axes last_axes(std::int64_t axes) {
  int last[kMaxRank];
  for (int i = 0; i < axes; ++i) last[i] = i - static_cast<int>(axes);
  return Axes(std::span<const int>(last, static_cast<std::size_t>(axes)));
}

void infer_gradients(const Call& call, OutputSpecs& outputs) {
  check_inner(call, 1, "scale");
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(call.input(2).shape() == x.shape(), ShapeError, call.op.name, ": shapes differ, ", x.shape(), " and ",
                call.input(2).shape(), arguments({{"x", x}, {"g", call.input(2)}}));
  outputs.add(x.dtype(), x.shape());
  outputs.add(x.dtype(), call.input(1).shape());
  outputs.add(x.dtype(), call.input(1).shape());
  outputs.hand_on(rows_of(call));
}

// With r = 1 / sqrt(variance + epsilon), h = (x - mean) r, p = g scale and means over a row written <>, the op computes
//     dx = J(p) = r (p - <p> - h <p h>),   dscale = the sum of g h over rows,   doffset = the sum of g over rows.
// J is symmetric. For cotangents u, v, w of these three:
//     of g:      J(u) scale + v h + w
//     of scale:  the sum over rows of J(u) g
//     of h:      a = v g - r (u <p h> + p <u h>)
//     of x:      J(a) - r^2 h (<u p> - <u> <p> - <u h> <p h>)
void vjp_gradients(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<LayerAttributes>();
  const Axes axes = last_axes(attributes.axes);
  const Tensor& x = call.input(0);
  const Tensor& scale = call.input(1);
  const Tensor& g = call.input(2);
  const Tensor& u = call.cotangent(0);
  const Tensor& v = call.cotangent(1);
  const auto mean = [&](const Tensor& t) { return reduce_mean(t, axes, {.keepdims = true}); };
  const Tensor centred = x - mean(x);
  const Tensor r = rsqrt(mean(square(centred)) + attributes.epsilon);
  const Tensor h = centred * r;
  const auto j = [&](const Tensor& t) { return r * (t - mean(t) - h * mean(t * h)); };
  const Tensor p = g * scale;
  const Tensor ju = j(u);
  if (call.needs(0)) {
    const Tensor ph = mean(p * h);
    const Tensor uh = mean(u * h);
    cotangents[0] = j(v * g - r * (u * ph + p * uh)) - square(r) * h * (mean(u * p) - mean(u) * mean(p) - uh * ph);
  }
  if (call.needs(1)) cotangents[1] = sum_like(ju * g, scale);
  if (call.needs(2)) cotangents[2] = ju * scale + v * h + call.cotangent(2);
}

// --- For many items ---

// Of a scale or an offset, that of one item.
Tensor of_item(const BatchCall& call, int i) { return call.is_batched(i) ? call.input(i)(0) : call.input(i); }

// x normalised alone.
Tensor normalised(const BatchCall& call, const Tensor& x) {
  const auto& a = call.attributes<LayerAttributes>();
  const Tensor scale = of_item(call, 1);
  return layer_normalization(x, ones_like(scale), zeros_like(scale), static_cast<int>(a.axes), a.epsilon);
}

// Scales and offsets of items act after what they have in common.
bool batch_layer_norm(const BatchCall& call, std::vector<Tensor>& outputs) {
  const int rank = call.item_rank(0);
  if (rank == kMaxRank) return false;
  if (!call.is_batched(1) && !call.is_batched(2)) {
    return call_again(call, {call.inputs.begin(), call.inputs.end()}, call.attribute_data, outputs);
  }
  outputs = {normalised(call, call.input(0)) * aligned(call, 1, rank) + aligned(call, 2, rank)};
  return true;
}

// The gradients by scale and offset are sums over the rows of an item.
bool batch_gradients(const BatchCall& call, std::vector<Tensor>& outputs) {
  const auto& a = call.attributes<LayerAttributes>();
  const int rank = call.item_rank(0);
  if (rank == kMaxRank) return false;
  const Tensor g = with_items(call, 2);
  const bool scaled = call.is_batched(1);
  const Tensor scale = of_item(call, 1);
  int rows[kMaxRank];
  const auto count = static_cast<std::size_t>(rank - a.axes);
  for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<int>(i) + 1;
  const auto sum = [&](const Tensor& t) {
    return count == 0 ? t : reduce_sum(t, Axes(std::span<const int>(rows, count)));
  };
  outputs = {layer_normalization_gradients(with_items(call, 0), scaled ? ones_like(scale) : scale,
                                           scaled ? g * aligned(call, 1, rank) : g, static_cast<int>(a.axes), a.epsilon)
                 .x,
             sum(g * normalised(call, call.input(0))), sum(g)};
  return true;
}

}  // namespace

constinit const OpDef kLayerNormalization = {
    .name = "layer_normalization",
    .text = "Normalises over the last axes, then scales and shifts.",
    .flags = kCheapAgain,
    .inputs = "x, scale, offset",
    .attributes = &kLayerAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          check_inner(call, 1, "scale");
          check_inner(call, 2, "offset");
          outputs.add(call.input(0).dtype(), call.input(0).shape());
          outputs.hand_on(rows_of(call));
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& size = call.geometry<RowsOf>();
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            layer_norm_forward<T>(size.rows, size.n, static_cast<T>(call.attributes<LayerAttributes>().epsilon),
                                  WideInput<T>(call.input(0)), WideInput<T>(call.input(1)), WideInput<T>(call.input(2)),
                                  WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 3},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<LayerAttributes>();
          LayerNormGradients gradients = layer_normalization_gradients(call.input(0), call.input(1), call.cotangent(),
                                                                       static_cast<int>(a.axes), a.epsilon);
          cotangents[0] = std::move(gradients.x);
          cotangents[1] = std::move(gradients.scale);
          cotangents[2] = std::move(gradients.offset);
        },
    .batch = batch_layer_norm,
};

constinit const OpDef kLayerNormalizationGradients = {
    .name = "layer_normalization_gradients",
    .text = "The gradients of layer_normalization for its three operands.",
    .outputs = 3,
    .inputs = "x, scale, g",
    .attributes = &kLayerAttributes,
    .infer = infer_gradients,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& size = call.geometry<RowsOf>();
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            layer_norm_gradient<T>(size.rows, size.n, static_cast<T>(call.attributes<LayerAttributes>().epsilon),
                                   WideInput<T>(call.input(0)), WideInput<T>(call.input(1)),
                                   WideInput<T>(call.input(2)), WideOutput<T>(outputs[0]), WideOutput<T>(outputs[1]),
                                   WideOutput<T>(outputs[2]));
          });
        },
    .saves = {.inputs = 7},
    .vjp = vjp_gradients,
    .batch = batch_gradients,
};

Tensor layer_normalization(Operand x, Operand scale, Operand offset, int axes, double epsilon) {
  const LayerAttributes attributes{axes, epsilon};
  return apply(kLayerNormalization, x, scale, offset, &attributes);
}

LayerNormGradients layer_normalization_gradients(Operand x, Operand scale, Operand g, int axes, double epsilon) {
  const LayerAttributes attributes{axes, epsilon};
  Operand inputs[] = {x, scale, g};
  std::vector<Tensor> outputs = apply_all(kLayerNormalizationGradients, inputs, &attributes);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

CAPSTAN_OPS(layer_norm, &kLayerNormalization, &kLayerNormalizationGradients);

}  // namespace capstan
