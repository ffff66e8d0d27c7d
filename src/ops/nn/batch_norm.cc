// Batch normalisation with the moments of the batch.
//
// Batch normalisation in training is one op with three results and a fused gradient, because a
// network spends much of its time there. The gradient op's own rule is written in library ops and
// recomputes what it needs: it is for second derivatives, which are rare. Moments are kept as
// variables of their own in these rules; that they depend on x enters through the cotangents that
// reach them. The fused_* functions are those of images, as TensorFlow has them.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_for_programs.h"
#include "src/kernels/nn/normalize.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"
#include "src/ops/reduce/count_along.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

// The axes before the last one.
Axes leading_axes(int rank) {
  int axes[kMaxRank];
  for (int i = 0; i + 1 < rank; ++i) axes[i] = i;
  return Axes(std::span<const int>(axes, static_cast<std::size_t>(rank - 1)));
}

struct EpsilonAttributes {
  double epsilon = 1e-3;
};
constexpr const AttributeType& kEpsilonAttributes = attribute_table<EpsilonAttributes, "epsilon">;

// Rows and channels of x [..., channels].
std::int64_t channels_of(const Shape& shape) { return shape[-1]; }
std::int64_t rows_of(const Shape& shape) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return rows;
}

void check_channels(const Call& call, int position, std::string_view name) {
  const Shape x = call.input(0).shape();
  const Shape shape = call.input(position).shape();
  CAPSTAN_CHECK(shape.rank() == 1 && shape[0] == x[-1], ShapeError, call.op.name, ": ", name, " has shape ", shape,
                " for ", x[-1], " channels", arguments({{"x", call.input(0)}, {name, call.input(position)}}));
}

void check_input(const Call& call) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  CAPSTAN_CHECK(x.rank() >= 1, ShapeError, call.op.name, ": the input needs rank 1 or more", arguments({{"x", x}}));
}

void infer_batch_norm(const Call& call, OutputSpecs& outputs) {
  check_input(call);
  check_channels(call, 1, "scale");
  check_channels(call, 2, "offset");
  const DType dtype = call.input(0).dtype();
  const Shape shape = call.input(0).shape();
  outputs.add(dtype, shape);
  outputs.add(dtype, {shape[-1]});
  outputs.add(dtype, {shape[-1]});
}

void run_batch_norm(const Call& call, std::span<Tensor> outputs) {
  const Shape shape = call.input(0).shape();
  const std::int64_t rows = rows_of(shape);
  const std::int64_t channels = channels_of(shape);
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> x(call.input(0));
    const WideOutput<T> mean(outputs[1]);
    const WideOutput<T> variance(outputs[2]);
    BatchNormMoments<T>(rows, channels, x, mean, variance).run();
    std::vector<T> inverse(static_cast<std::size_t>(channels));
    batch_norm_inverse_deviation<T>(channels, variance, static_cast<T>(call.attributes<EpsilonAttributes>().epsilon),
                                    inverse.data());
    batch_norm_apply<T>(rows, channels, x, mean, inverse.data(), WideInput<T>(call.input(1)),
                        WideInput<T>(call.input(2)), WideOutput<T>(outputs[0]));
  });
}

void vjp_batch_norm(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& x = call.input(0);
  const Tensor& mean = call.output(1);
  if (call.has_cotangent(0)) {
    BatchNormGradients gradients = batch_norm_gradients(x, call.input(1), mean, call.output(2), call.cotangent(0),
                                                        call.attributes<EpsilonAttributes>().epsilon);
    cotangents[0] = std::move(gradients.x);
    cotangents[1] = std::move(gradients.scale);
    cotangents[2] = std::move(gradients.offset);
  } else {
    for (int i = 1; i < 3; ++i) cotangents[static_cast<std::size_t>(i)] = zeros_like(call.input(i));
  }
  // Through the moments, if they were used themselves.
  const Axes rows = leading_axes(x.rank());
  const auto add = [&](Tensor part) {
    cotangents[0] = cotangents[0].has_value() ? cotangents[0] + part : broadcast_like(part, x);
  };
  if (call.has_cotangent(1)) add(divide_by_count(call.cotangent(1), x, rows));
  if (call.has_cotangent(2)) add(divide_by_count(call.cotangent(2) * 2, x, rows) * (x - mean));
}

// --- The gradient op: x, scale, mean, variance, g ---

void infer_batch_norm_gradients(const Call& call, OutputSpecs& outputs) {
  check_input(call);
  check_channels(call, 1, "scale");
  check_channels(call, 2, "mean");
  check_channels(call, 3, "variance");
  const Shape shape = call.input(0).shape();
  CAPSTAN_CHECK(call.input(4).shape() == shape, ShapeError, call.op.name, ": shapes differ, ", shape, " and ",
                call.input(4).shape(), arguments({{"x", call.input(0)}, {"g", call.input(4)}}));
  const DType dtype = call.input(0).dtype();
  outputs.add(dtype, shape);
  outputs.add(dtype, {shape[-1]});
  outputs.add(dtype, {shape[-1]});
}

template <class T>
void gradient_sums(const Call& call, const T* x, const T* mean, const T* g, const BatchNormSums<T>& to,
                   const TakeRowSums& take) {
  const Shape shape = call.input(0).shape();
  std::vector<T> inverse(static_cast<std::size_t>(channels_of(shape)));
  batch_norm_inverse_deviation<T>(channels_of(shape), WideInput<T>(call.input(3)),
                                  static_cast<T>(call.attributes<EpsilonAttributes>().epsilon), inverse.data());
  const WideInput<T> scale(call.input(1));
  take(BatchNormGradientSums<T>(rows_of(shape), channels_of(shape), x, mean, inverse.data(), scale, g, to));
}

constexpr TakeRowSums kRunRowSums = {[](void*, const RowSums& sums) { sums.run(); }, nullptr};

void run_batch_norm_gradients(const Call& call, std::span<Tensor> outputs) {
  const Shape shape = call.input(0).shape();
  const std::int64_t channels = channels_of(shape);
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> x(call.input(0));
    const WideInput<T> mean(call.input(2));
    const WideInput<T> g(call.input(4));
    const WideOutput<T> scale(outputs[1]);
    const WideOutput<T> offset(outputs[2]);
    std::vector<T> rest(static_cast<std::size_t>(3 * channels));
    const BatchNormSums<T> sums{scale, offset, rest.data(), rest.data() + channels, rest.data() + 2 * channels};
    gradient_sums<T>(call, x, mean, g, sums, kRunRowSums);
    batch_norm_gradient_of_x<T>(rows_of(shape), channels, x, mean, g, sums, WideOutput<T>(outputs[0]));
  });
}

// With r = 1 / sqrt(variance + epsilon), h = (x - mean) r, k = scale r, and means over rows written
// <>, the op computes
//     dx = k (g - <g> - h <g h>),   dscale = rows <g h>,   doffset = rows <g>.
// For cotangents u, v, w of these three, and p = u k:
//     of g:   p - <p> + w + h (v - <p h>)
//     of h:   g (v - <p h>) - p <g h>
//     of k:   the sum of u (g - <g> - h <g h>)
// and from there to x, mean, scale and the variance by the chain rule.
void vjp_batch_norm_gradients(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& x = call.input(0);
  const Tensor& scale = call.input(1);
  const Tensor& g = call.input(4);
  const Axes rows = leading_axes(x.rank());
  const Tensor r = rsqrt(call.input(3) + call.attributes<EpsilonAttributes>().epsilon);
  const Tensor centred = x - call.input(2);
  const Tensor h = centred * r;
  const Tensor k = scale * r;
  const Tensor mean_gh = reduce_mean(g * h, rows);
  const Tensor& u = call.cotangent(0);
  const Tensor p = u * k;
  const Tensor through_h = call.cotangent(1) - reduce_mean(p * h, rows);
  const Tensor of_h = g * through_h - p * mean_gh;
  const Tensor of_k = reduce_sum(u * (g - reduce_mean(g, rows) - h * mean_gh), rows);
  cotangents[0] = of_h * r;
  cotangents[1] = of_k * r;
  cotangents[2] = -reduce_sum(of_h, rows) * r;
  const Tensor of_r = of_k * scale + reduce_sum(of_h * centred, rows);
  cotangents[3] = -0.5 * of_r * r * r * r;
  cotangents[4] = p - reduce_mean(p, rows) + call.cotangent(2) + h * through_h;
}

// Items are more channels: x [items, ..., channels] as [..., items * channels].
bool batch_side_by_side(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.item_rank(0) == kMaxRank) return false;
  const auto moved = [](const Tensor& x, bool to_channels) {
    int order[kMaxRank];
    const int last = x.rank() - 1;
    for (int i = 0; i < last; ++i) order[i] = (to_channels ? i + 1 : i + last - 1) % last;
    order[last] = last;
    return last < 2 ? x : transpose(x, Axes(std::span<const int>(order, static_cast<std::size_t>(last + 1))));
  };
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) {
    const Tensor x = moved(with_items(call, i), true);
    const Shape lengths = x.shape();
    Shape shape(lengths.dims().first(static_cast<std::size_t>(x.rank() - 2)));
    shape.push_back(call.size * x.dim(-1));
    inputs.push_back(reshape(x, shape));
  }
  call_again(call, std::move(inputs), call.attribute_data, outputs);
  for (Tensor& output : outputs) {
    Shape shape = output.shape();
    shape.set(-1, call.size);
    shape.push_back(output.dim(-1) / call.size);
    output = moved(reshape(output, shape), false);
  }
  return true;
}

// --- In programs ---

// There the op is its sums, and loops that may be fused with what is before and after them; with the same bits.

void infer_channels(const Call& call, OutputSpecs& outputs, int count) {
  for (int i = 0; i < count; ++i) outputs.add(call.input(0).dtype(), {call.input(0).dim(-1)});
}

void take_moments(const Call& call, std::span<Tensor> outputs, const TakeRowSums& take) {
  const Shape shape = call.input(0).shape();
  const std::int64_t channels = channels_of(shape);
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> x(call.input(0));
    const WideOutput<T> mean(outputs[0]), variance(outputs[1]), factor(outputs[2]);
    take(BatchNormMoments<T>(rows_of(shape), channels, x, mean, variance));
    batch_norm_inverse_deviation<T>(channels, variance, static_cast<T>(call.attributes<EpsilonAttributes>().epsilon),
                                    factor);
    const WideInput<T> scale(call.input(1));
    T* const to = factor;
    const T* const by = scale;
    for (std::int64_t c = 0; c < channels; ++c) to[c] *= by[c];
  });
}

void take_gradient_sums(const Call& call, std::span<Tensor> outputs, const TakeRowSums& take) {
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideOutput<T> scale(outputs[0]), offset(outputs[1]), factor(outputs[2]), slope(outputs[3]), shift(outputs[4]);
    const WideInput<T> x(call.input(0)), mean(call.input(2)), g(call.input(4));
    gradient_sums<T>(call, x, mean, g, {scale, offset, factor, slope, shift}, take);
  });
}

constexpr OpForPrograms kMomentsForPrograms{.row_sums = {.input = 0, .with_sums = take_moments}};
constinit const OpDef kBatchNormMoments = {
    .name = "batch_norm_moments",
    .text = "Mean, variance, and scale over deviation; made in programs alone.",
    .flags = kNotDifferentiable | kCheapAgain,
    .outputs = 3,
    .inputs = "x, scale",
    .attributes = &kEpsilonAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { infer_channels(call, outputs, 3); },
    .kernel = [](const Call& call, std::span<Tensor> outputs) { take_moments(call, outputs, kRunRowSums); },
    .programs = &kMomentsForPrograms,
};

constexpr OpForPrograms kSumsForPrograms{.row_sums = {.input = 4, .with_sums = take_gradient_sums}};
constinit const OpDef kBatchNormSums = {
    .name = "batch_norm_sums",
    .text = "The gradients by scale and offset, and what that by x is made of; made in programs alone.",
    .flags = kNotDifferentiable,
    .outputs = 5,
    .inputs = "x, scale, mean, variance, g",
    .attributes = &kEpsilonAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { infer_channels(call, outputs, 5); },
    .kernel = [](const Call& call, std::span<Tensor> outputs) { take_gradient_sums(call, outputs, kRunRowSums); },
    .programs = &kSumsForPrograms,
};

void expand_batch_norm(std::span<const Tensor> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  Operand operands[] = {inputs[0], inputs[1]};
  const std::vector<Tensor> sums = apply_all(kBatchNormMoments, operands, attributes);
  outputs = {(inputs[0] - sums[0]) * sums[2] + inputs[2], sums[0], sums[1]};
}

void expand_batch_norm_gradients(std::span<const Tensor> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  std::vector<Operand> operands(inputs.begin(), inputs.end());
  const std::vector<Tensor> sums = apply_all(kBatchNormSums, operands, attributes);
  const Tensor centred = (inputs[0] - inputs[2]) * sums[3];
  outputs = {((inputs[4] - sums[4]) - centred) * sums[2], sums[0], sums[1]};
}

constexpr OpForPrograms kTrainingForPrograms{.expand = expand_batch_norm};
constexpr OpForPrograms kGradientsForPrograms{.expand = expand_batch_norm_gradients};

}  // namespace

constinit const OpDef kBatchNormTraining = {
    .name = "batch_norm_training",
    .text =
        "Normalises over all but the last axis with the batch's own moments, which are results as "
        "well.",
    .flags = kCheapAgain,
    .outputs = 3,
    .inputs = "x, scale, offset",
    .attributes = &kEpsilonAttributes,
    .infer = infer_batch_norm,
    .kernel = run_batch_norm,
    .saves = {.inputs = 3, .outputs = 6},
    .vjp = vjp_batch_norm,
    .batch = batch_side_by_side,
    .programs = &kTrainingForPrograms,
};

constinit const OpDef kBatchNormGradients = {
    .name = "batch_norm_gradients",
    .text = "The gradients of batch_norm_training for x, scale and offset.",
    .outputs = 3,
    .inputs = "x, scale, mean, variance, g",
    .attributes = &kEpsilonAttributes,
    .infer = infer_batch_norm_gradients,
    .kernel = run_batch_norm_gradients,
    .saves = {.inputs = 31},
    .vjp = vjp_batch_norm_gradients,
    .batch = batch_side_by_side,
    .programs = &kGradientsForPrograms,
};

BatchNormResult batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon) {
  const EpsilonAttributes attributes{epsilon};
  Operand inputs[] = {x, scale, offset};
  std::vector<Tensor> outputs = apply_all(kBatchNormTraining, inputs, &attributes);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

BatchNormGradients batch_norm_gradients(Operand x, Operand scale, Operand mean, Operand variance, Operand g,
                                        double epsilon) {
  const EpsilonAttributes attributes{epsilon};
  Operand inputs[] = {x, scale, mean, variance, g};
  std::vector<Tensor> outputs = apply_all(kBatchNormGradients, inputs, &attributes);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

// --- Images ---

constinit const OpDef kFusedBatchNormTraining =
    composite<&fused_batch_norm_training, "x, scale, offset, epsilon", 1e-3>(
        "fused_batch_norm_training",
        "batch_norm_training of float32 images, with the variance divided by the count - 1.");

constinit const OpDef kFusedBatchNormInference =
    composite<&fused_batch_norm_inference, "x, scale, offset, mean, variance, epsilon", 1e-3>(
        "fused_batch_norm_inference", "Normalises images with given statistics of the channels.");

BatchNormResult fused_batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon) try {
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(value.dtype() == DType::kFloat32, DTypeError, "fused_batch_norm_training: images must be float32, not ",
                value.dtype(), arguments({{"x", value}}));
  CAPSTAN_CHECK(value.rank() == 4, ShapeError, "fused_batch_norm_training: images need rank 4, not ", value.rank(),
                arguments({{"x", value}}));
  BatchNormResult result =
      with_errors_of("fused_batch_norm_training", [&] { return batch_norm_training(value, scale, offset, epsilon); });
  const Tensor variance = without_bias(result.variance, value, leading_axes(value.rank()));
  // The moments are for moving averages and have no gradient.
  return {result.y, stop_gradient(result.mean), stop_gradient(variance)};
} catch (const Error&) {
  rethrow_as("fused_batch_norm_training");
}

Tensor fused_batch_norm_inference(Operand x, Operand scale, Operand offset, Operand mean, Operand variance,
                                  double epsilon) try {
  const Tensor value = floating_operand("fused_batch_norm_inference", x);
  CAPSTAN_CHECK(value.rank() == 4, ShapeError, "fused_batch_norm_inference: images need rank 4, not ", value.rank(),
                arguments({{"x", value}}));
  const Tensor parts[] = {to_tensor(scale), to_tensor(offset), to_tensor(mean), to_tensor(variance)};
  const char* const names[] = {"scale", "offset", "mean", "variance"};
  for (int i = 0; i < 4; ++i) {
    CAPSTAN_CHECK(parts[i].rank() == 1 && parts[i].dim(0) == value.dim(3), ShapeError,
                  "fused_batch_norm_inference: ", names[i], " has shape ", parts[i].shape(), " for ", value.dim(3),
                  " channels", arguments({{"x", value}, {names[i], parts[i]}}));
  }
  // The statistics are given, not trained.
  return batch_normalization(value, stop_gradient(parts[2]), stop_gradient(parts[3]), parts[1], parts[0], epsilon);
} catch (const Error&) {
  rethrow_as("fused_batch_norm_inference");
}

CAPSTAN_OPS(batch_norm, &kBatchNormTraining, &kBatchNormGradients, &kFusedBatchNormTraining, &kFusedBatchNormInference);

}  // namespace capstan
