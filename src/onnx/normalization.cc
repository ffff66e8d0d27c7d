// Normalisations.
#include <numeric>

#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// Per channel: with the channels last, or as ONNX has them.
Tensor per_channel(const Tensor& vector, const Value& x) {
  if (x.channels_last) return vector;
  Shape shape = {-1};
  for (int i = 2; i < x.tensor.rank(); ++i) shape.push_back(1);
  return reshape(vector, shape);
}

void run_batch_normalization(NodeCall& call) {
  const Value& x = call.value(0);
  const double epsilon = call.number("epsilon", 1e-5), momentum = call.number("momentum", 0.9);
  const Tensor scale = call.tensor(1), offset = call.tensor(2);
  Tensor mean = call.tensor(3), variance = call.tensor(4);
  if (call.integer("training_mode", 0) != 0) {
    std::vector<int> axes;
    for (int i = 0; i < x.tensor.rank(); ++i) {
      if (i != (x.channels_last ? x.tensor.rank() - 1 : 1)) axes.push_back(i);
    }
    const Moments own = moments(x.tensor, axes);
    const Tensor running_mean = mean * momentum + own.mean * (1 - momentum);
    const Tensor running_variance = variance * momentum + own.variance * (1 - momentum);
    call.give((x.tensor - per_channel(own.mean, x)) * per_channel(scale * rsqrt(own.variance + epsilon), x) +
                  per_channel(offset, x),
              x.channels_last);
    call.give(running_mean);
    call.give(running_variance);
    return;
  }
  const DType dtype = x.tensor.dtype();
  const Tensor factor = cast(scale, variance.dtype()) * rsqrt(variance + epsilon);
  const Tensor shift = cast(offset, mean.dtype()) - mean * factor;
  call.give(x.tensor * per_channel(cast(factor, dtype), x) + per_channel(cast(shift, dtype), x), x.channels_last);
}

void run_instance_normalization(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  const double epsilon = call.number("epsilon", 1e-5);
  call.give(instance_normalization(x, call.tensor(1), call.tensor(2), epsilon), true);
}

void run_group_normalization(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  const std::int64_t groups = call.integer("num_groups");
  Tensor scale = call.tensor(1), offset = call.tensor(2);
  // Up to opset 20 there is one number for each group.
  if (scale.size() == groups && groups != x.dim(-1)) {
    scale = repeat(scale, x.dim(-1) / groups);
    offset = repeat(offset, x.dim(-1) / groups);
  }
  call.give(group_normalization(x, scale, offset, groups, call.number("epsilon", 1e-5)), true);
}

std::vector<int> axes_from(int axis, int rank) {
  std::vector<int> axes;
  for (int i = axis; i < rank; ++i) axes.push_back(i);
  return axes;
}

void run_layer_normalization(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const double epsilon = call.number("epsilon", 1e-5);
  const Tensor scale = call.tensor(1);
  const bool is_whole = scale.rank() == x.rank() - axis;
  if (!call.wants(1) && !call.wants(2) && is_whole && call.has(2) && call.tensor(2).shape() == scale.shape()) {
    return call.give(layer_normalization(x, scale, call.tensor(2), x.rank() - axis, epsilon));
  }
  const Moments own = moments(x, axes_from(axis, x.rank()), {.keepdims = true});
  const Tensor deviation = rsqrt(own.variance + epsilon);
  Tensor y = (x - own.mean) * deviation * scale;
  if (call.has(2)) y = y + call.tensor(2);
  call.give(y);
  call.give(own.mean);
  call.give(deviation);
}

void run_rms_normalization(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const Tensor square_mean = reduce_mean(square(x), axes_from(axis, x.rank()), {.keepdims = true});
  call.give(x * rsqrt(square_mean + call.number("epsilon", 1e-5)) * call.tensor(1));
}

void mean_variance_normalization(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const std::vector<std::int64_t> axes = call.integers("axes", {0, 2, 3});
  const Moments own = moments(x, axes, {.keepdims = true});
  call.give((x - own.mean) / (sqrt(own.variance) + 1e-9));
}

void lrn(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  const std::int64_t size = call.integer("size"), channels = x.dim(-1);
  CAPSTAN_CHECK(size > 0 && size < 1 << 20, ValueError, "onnx: a size of ", size, " makes no sense");
  const std::int64_t before = (size - 1) / 2, after = size - 1 - before;
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths.back() = {before, after};
  const Tensor wide = cumsum(pad(square(x), widths), -1);
  std::vector<PadWidth> zero(static_cast<std::size_t>(x.rank()));
  zero.back() = {1, 0};
  const Tensor sums = pad(wide, zero);
  const Tensor window = sums(ellipsis, slice(size, size + channels)) - sums(ellipsis, slice(0, channels));
  const double alpha = call.number("alpha", 1e-4) / static_cast<double>(size);
  call.give(x / pow(call.number("bias", 1) + alpha * window, call.number("beta", 0.75)), true);
}

constexpr Operator kNormalizationOperators[] = {
    {"BatchNormalization", run_batch_normalization},       {"GroupNormalization", run_group_normalization},
    {"InstanceNormalization", run_instance_normalization}, {"LRN", lrn},
    {"LayerNormalization", run_layer_normalization},       {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", run_rms_normalization},
};

}  // namespace

std::span<const Operator> normalization_operators() { return kNormalizationOperators; }

}  // namespace capstan::onnx
