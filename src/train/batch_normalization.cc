// Batch normalisation.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

// The order that moves `axis` to the end, and the one that moves it back.
Axes axis_last(int rank, int axis) {
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return Axes(std::span<const int>(order));
}
Axes axis_back(int rank, int axis) {
  std::vector<int> order;
  for (int i = 0; i < rank - 1; ++i) {
    if (i == axis) order.push_back(rank - 1);
    order.push_back(i);
  }
  if (axis == rank - 1) order.push_back(rank - 1);
  return Axes(std::span<const int>(order));
}

// variable = variable * momentum + value * (1 - momentum); no gradient flows through it.
void move(const Variable& average, const Tensor& value, double momentum) {
  average.assign(average * momentum + stop_gradient(value) * (1 - momentum));
}

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : Layer("batch_normalization", detail::common_options(options)),
      options_(std::make_shared<const BatchNormalizationOptions>(options)) {
  keep_class(std::make_shared<BatchNormalization>(*this));
}

void BatchNormalization::build(const Shape& input_shape) {
  const int rank = input_shape.rank();
  CAPSTAN_CHECK(options_->axis >= -rank && options_->axis < rank, IndexError, name(), ": axis ", options_->axis,
                " is out of range for an input of shape ", input_shape);
  const Shape shape{input_shape[options_->axis]};
  const BatchNormalizationOptions& o = *options_;
  if (o.scale) {
    add_weight(
        {.name = "gamma", .shape = shape, .initializer = o.gamma_initializer, .regularizer = o.gamma_regularizer});
  }
  if (o.center) {
    add_weight({.name = "beta", .shape = shape, .initializer = o.beta_initializer, .regularizer = o.beta_regularizer});
  }
  add_weight({.name = "moving_mean", .shape = shape, .initializer = o.moving_mean_initializer, .trainable = false});
  add_weight(
      {.name = "moving_variance", .shape = shape, .initializer = o.moving_variance_initializer, .trainable = false});
}

Tensor BatchNormalization::call(const Tensor& input, const CallOptions& options) {
  const int rank = input.rank();
  const int axis = options_->axis < 0 ? options_->axis + rank : options_->axis;
  const std::size_t first = std::size_t{options_->scale} + std::size_t{options_->center};
  const Variable& moving_mean = own_weight(first);
  const Variable& moving_variance = own_weight(first + 1);
  CAPSTAN_CHECK(axis >= 0 && axis < rank && input.dim(axis) == moving_mean.size(), ShapeError, name(), ": axis ",
                options_->axis, " of the input must have length ", moving_mean.size(), arguments({{"x", input}}));
  const bool moved = axis != rank - 1;
  const Tensor x = moved ? transpose(input, axis_last(rank, axis)) : input;
  Tensor y;
  if (options.training && trainable()) {
    y = normalize_batch(x, options.mask);
  } else {
    const Tensor scale = options_->scale ? own_weight(0).value() : ones(moving_mean.shape(), dtype());
    const Tensor offset =
        options_->center ? own_weight(options_->scale ? 1 : 0).value() : zeros(moving_mean.shape(), dtype());
    y = batch_normalization(x, moving_mean, moving_variance, offset, scale, options_->epsilon);
  }
  return moved ? transpose(y, axis_back(rank, axis)) : y;
}

Tensor BatchNormalization::normalize_batch(const Tensor& x, const Tensor& mask) const {
  const std::size_t first = std::size_t{options_->scale} + std::size_t{options_->center};
  const Variable& moving_mean = own_weight(first);
  const Variable& moving_variance = own_weight(first + 1);
  const Tensor scale = options_->scale ? own_weight(0).value() : ones(moving_mean.shape(), dtype());
  const Tensor offset =
      options_->center ? own_weight(options_->scale ? 1 : 0).value() : zeros(moving_mean.shape(), dtype());
  BatchNormResult result;
  if (!mask.has_value()) {
    result = batch_norm_training(x, scale, offset, options_->epsilon);
  } else {
    CAPSTAN_CHECK(mask.rank() == x.rank() - 1, ShapeError, name(), ": the mask must have rank ", x.rank() - 1, ", not ",
                  mask.rank(), arguments({{"mask", mask}, {"x", x}}));
    std::vector<int> all;
    for (int i = 0; i < x.rank() - 1; ++i) all.push_back(i);
    const Axes axes{std::span<const int>(all)};
    const Tensor weight = expand_dims(cast(mask, x.dtype()), -1);
    const Tensor count = reduce_sum(weight) + 1e-7;
    result.mean = reduce_sum(x * weight, axes) / count;
    result.variance = reduce_sum(square(x - result.mean) * weight, axes) / count;
    result.y = batch_normalization(x, result.mean, result.variance, offset, scale, options_->epsilon);
  }
  move(moving_mean, result.mean, options_->momentum);
  move(moving_variance, result.variance, options_->momentum);
  return result.y;
}

}  // namespace capstan::layers
