// Softmax, its gradient and its logarithm.
#include <algorithm>
#include <array>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/nn/softmax.h"
#include "src/kernels/scratch.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

struct SoftmaxAttributes {
  AxisOr<-1> axis;
};
constexpr const AttributeType& kSoftmaxAttributes = attribute_table<SoftmaxAttributes, "axis">;

// --- softmax ---

void infer_softmax(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  outputs.hand_on(view_around(call.op.name, x, call.attributes<SoftmaxAttributes>().axis));
  outputs.add(x.dtype(), x.shape());
}

// Calls rows(count, length, inputs, to) for rows along the axis of dense tensors.
template <std::size_t kInputs, class T, class Rows>
void along_axis(const AxisView& view, std::array<const T*, kInputs> inputs, T* to, const Rows& rows) {
  const auto [outer, n, inner] = view;
  if (outer * n * inner == 0) return;
  if (inner == 1) return rows(outer, n, inputs, to);
  // Another axis: its elements are brought side by side, one outer position at a time.
  const std::int64_t size = n * inner;
  Scratch scratch(ScratchSlot::kCall, (kInputs + 1) * static_cast<std::size_t>(size) * sizeof(T));
  T* result = scratch.as<T>();
  for (std::int64_t o = 0; o < outer; ++o) {
    std::array<const T*, kInputs> gathered;
    for (std::size_t k = 0; k < kInputs; ++k) {
      T* side_by_side = result + static_cast<std::int64_t>(k + 1) * size;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < inner; ++j) side_by_side[j * n + i] = inputs[k][(o * n + i) * inner + j];
      }
      gathered[k] = side_by_side;
    }
    rows(inner, n, gathered, result);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < inner; ++j) to[(o * n + i) * inner + j] = result[j * n + i];
    }
  }
}

// The same for a call's inputs and output, of one floating dtype; bfloat16 is computed in float32.
template <std::size_t kInputs, class Rows>
void along_axis_of(const Call& call, std::span<Tensor> outputs, const Rows& rows) {
  const auto& view = call.geometry<AxisView>();
  const auto run = [&]<class T>(T) {
    std::array<const T*, kInputs> inputs;
    for (std::size_t k = 0; k < kInputs; ++k) inputs[k] = call.input(static_cast<int>(k)).template data<T>();
    along_axis(view, inputs, mutable_data<T>(outputs[0]), rows);
  };
  if (call.input(0).dtype() == DType::kFloat32) return run(float());
  if (call.input(0).dtype() == DType::kFloat64) return run(double());
  std::array<std::vector<float>, kInputs> wide;
  std::array<const float*, kInputs> inputs;
  for (std::size_t k = 0; k < kInputs; ++k) {
    const TensorRef& x = call.input(static_cast<int>(k));
    wide[k].assign(x.data<BFloat16>(), x.data<BFloat16>() + x.size());
    inputs[k] = wide[k].data();
  }
  std::vector<float> result(static_cast<std::size_t>(outputs[0].size()));
  along_axis(view, inputs, result.data(), rows);
  std::transform(result.begin(), result.end(), mutable_data<BFloat16>(outputs[0]), [](float v) { return BFloat16(v); });
}

template <bool kLog>
void run_softmax(const Call& call, std::span<Tensor> outputs) {
  along_axis_of<1>(call, outputs, [](std::int64_t rows, std::int64_t n, const auto& x, auto* y) {
    kLog ? log_softmax_rows(rows, n, x[0], y) : softmax_rows(rows, n, x[0], y);
  });
}

// --- Its gradient ---

void infer_softmax_gradient(const Call& call, OutputSpecs& outputs) {
  const TensorRef& y = call.input(0);
  const TensorRef& g = call.input(1);
  const auto shown = [&] { return arguments({{"y", y}, {"g", g}}); };
  CAPSTAN_CHECK(is_floating(y.dtype()), DTypeError, call.op.name, ": dtype ", y.dtype(), " is not supported", shown());
  CAPSTAN_CHECK(y.shape() == g.shape(), ShapeError, call.op.name, ": shapes differ, ", y.shape(), " and ", g.shape(),
                shown());
  outputs.hand_on(view_around(call.op.name, y, call.attributes<SoftmaxAttributes>().axis));
  outputs.add(y.dtype(), y.shape());
}

void run_softmax_gradient(const Call& call, std::span<Tensor> outputs) {
  along_axis_of<2>(call, outputs, [](std::int64_t rows, std::int64_t n, const auto& in, auto* dx) {
    softmax_gradient_rows(rows, n, in[0], in[1], dx);
  });
}

}  // namespace

constinit const OpDef kSoftmaxGradient = {
    .name = "softmax_gradient",
    .text = "The gradient of a softmax for its logits: y * (g - sum(y * g)) along an axis.",
    .inputs = "y, g",
    .attributes = &kSoftmaxAttributes,
    .infer = infer_softmax_gradient,
    .kernel = run_softmax_gradient,
    .saves = {.inputs = 0b11},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const int axis = call.attributes<SoftmaxAttributes>().axis;
          const Tensor& h = call.cotangent();
          const Tensor& y = call.input(0);
          const Tensor& g = call.input(1);
          // It is linear and symmetric in g.
          if (call.needs(1)) cotangents[1] = softmax_gradient(y, h, axis);
          if (call.needs(0))
            cotangents[0] =
                h * (g - reduce_sum(y * g, axis, {.keepdims = true})) - g * reduce_sum(y * h, axis, {.keepdims = true});
        },
    .batch = batch_axis<&SoftmaxAttributes::axis>,
};

constinit const OpDef kSoftmax = {
    .name = "softmax",
    .text = "exp(x) / sum(exp(x)) along an axis.",
    .flags = kCheapAgain,
    .attributes = &kSoftmaxAttributes,
    .infer = infer_softmax,
    .kernel = run_softmax<false>,
    .saves = {.outputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const int axis = call.attributes<SoftmaxAttributes>().axis;
          cotangents[0] = softmax_gradient(call.output(), call.cotangent(), axis);
        },
    .batch = batch_axis<&SoftmaxAttributes::axis>,
};

constinit const OpDef kLogSoftmax = {
    .name = "log_softmax",
    .text = "The logarithm of the softmax along an axis.",
    .flags = kCheapAgain,
    .attributes = &kSoftmaxAttributes,
    .infer = infer_softmax,
    .kernel = run_softmax<true>,
    .saves = {.outputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const int axis = call.attributes<SoftmaxAttributes>().axis;
          const Tensor& g = call.cotangent();
          cotangents[0] = g - exp(call.output()) * reduce_sum(g, axis, {.keepdims = true});
        },
    .batch = batch_axis<&SoftmaxAttributes::axis>,
};

Tensor softmax(Operand logits, int axis) {
  const SoftmaxAttributes attributes{axis};
  return apply(kSoftmax, logits, &attributes);
}
Tensor softmax_gradient(Operand y, Operand g, int axis) {
  const SoftmaxAttributes attributes{axis};
  return apply(kSoftmaxGradient, y, g, &attributes);
}
Tensor log_softmax(Operand logits, int axis) {
  const SoftmaxAttributes attributes{axis};
  return apply(kLogSoftmax, logits, &attributes);
}

CAPSTAN_OPS(softmax, &kSoftmax, &kSoftmaxGradient, &kLogSoftmax);

}  // namespace capstan
