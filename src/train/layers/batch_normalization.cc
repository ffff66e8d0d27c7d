// Batch normalisation and renormalisation.
#include <cmath>

#include "capstan/layers.h"
#include "capstan/ops/activation.h"
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
  average.assign(average * momentum + cast(stop_gradient(value), average.dtype()) * (1 - momentum));
}

// Sums over a batch in bfloat16 would lose what they are for.
DType working_dtype(DType dtype) { return dtype == DType::kBFloat16 ? DType::kFloat32 : dtype; }

Tensor in_dtype(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

struct BatchMoments {
  Tensor mean, variance;
};

// Over all axes but the last, of what the mask counts; the tiny number keeps an empty batch finite.
BatchMoments masked_moments(const Tensor& x, const Tensor& mask) {
  std::vector<int> all;
  for (int i = 0; i < x.rank() - 1; ++i) all.push_back(i);
  const Axes axes{std::span<const int>(all)};
  if (!mask.has_value()) {
    const Moments m = moments(x, axes);
    return {m.mean, m.variance};
  }
  const Tensor weight = expand_dims(cast(mask, x.dtype()), -1);
  const Tensor count = reduce_sum(weight) + 1e-7;
  const Tensor mean = reduce_sum(x * weight, axes) / count;
  return {mean, reduce_sum(square(x - mean) * weight, axes) / count};
}

class BatchNormalizationBody final : public LayerBody {
 public:
  explicit BatchNormalizationBody(const BatchNormalizationOptions& options);

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  // What scales and shifts the normalised input, in the dtype of the arithmetic.
  struct Affine {
    Tensor scale, offset;
  };
  Affine affine_in(DType working) const;
  Tensor normalize_batch(const Tensor& x, const Affine& affine, const Tensor& mask) const;
  Tensor renormalize_batch(const Tensor& x, const Affine& affine, const Tensor& mask) const;

  BatchNormalizationOptions options_;
  Variable gamma_, beta_;
  Variable moving_mean_, moving_variance_;
  Variable moving_stddev_, renorm_mean_, renorm_stddev_;  // with `renorm`
};

BatchNormalizationBody::BatchNormalizationBody(const BatchNormalizationOptions& options)
    : LayerBody("BatchNormalization", detail::common_options(options)), options_(options) {
  const RenormClipping& limits = options.renorm_clipping;
  CAPSTAN_CHECK(!limits.rmax || !limits.rmin || *limits.rmin <= *limits.rmax, ValueError,
                "batch_normalization: rmin must not exceed rmax, but they are ", *limits.rmin, " and ", *limits.rmax);
  CAPSTAN_CHECK(!limits.dmax || *limits.dmax >= 0, ValueError,
                "batch_normalization: dmax must not be negative, but is ", *limits.dmax);
}

void BatchNormalizationBody::build(const Shape& input_shape) {
  const int rank = input_shape.rank();
  CAPSTAN_CHECK(options_.axis >= -rank && options_.axis < rank, IndexError, name(), ": axis ", options_.axis,
                " is out of range for an input of shape ", input_shape);
  const Shape shape{input_shape[options_.axis]};
  const BatchNormalizationOptions& o = options_;
  if (o.scale) {
    gamma_ = add_weight({.name = "gamma",
                         .shape = shape,
                         .initializer = o.gamma_initializer,
                         .regularizer = o.gamma_regularizer,
                         .constraint = o.gamma_constraint});
  }
  if (o.center) {
    beta_ = add_weight({.name = "beta",
                        .shape = shape,
                        .initializer = o.beta_initializer,
                        .regularizer = o.beta_regularizer,
                        .constraint = o.beta_constraint});
  }
  const auto add_average = [&](const char* name, const Initializer& initializer) {
    return add_weight({.name = name, .shape = shape, .initializer = initializer, .trainable = false});
  };
  moving_mean_ = add_average("moving_mean", o.moving_mean_initializer);
  moving_variance_ = add_average("moving_variance", o.moving_variance_initializer);
  if (!o.renorm) return;
  const Initializer deviation = [variance = o.moving_variance_initializer](const Shape& lengths, DType dtype) {
    return sqrt(variance(lengths, dtype));
  };
  moving_stddev_ = add_average("moving_stddev", deviation);
  renorm_mean_ = add_average("renorm_mean", o.moving_mean_initializer);
  renorm_stddev_ = add_average("renorm_stddev", deviation);
}

BatchNormalizationBody::Affine BatchNormalizationBody::affine_in(DType working) const {
  const Shape shape = moving_mean_.shape();
  return {options_.scale ? in_dtype(gamma_.value(), working) : ones(shape, working),
          options_.center ? in_dtype(beta_.value(), working) : zeros(shape, working)};
}

Tensor BatchNormalizationBody::call(const Tensor& input, const CallOptions& options) {
  const int rank = input.rank();
  const int axis = options_.axis < 0 ? options_.axis + rank : options_.axis;
  const DType working = working_dtype(input.dtype());
  const Affine affine = affine_in(working);
  CAPSTAN_CHECK(axis >= 0 && axis < rank && input.dim(axis) == moving_mean_.size(), ShapeError, name(), ": axis ",
                options_.axis, " of the input must have length ", moving_mean_.size(), arguments({{"x", input}}));
  const bool moved = axis != rank - 1;
  Tensor x = moved ? transpose(input, axis_last(rank, axis)) : input;
  x = in_dtype(x, working);
  Tensor y;
  if (options.training && trainable()) {
    const Tensor& mask = options.mask.tensor_or_empty();
    CAPSTAN_CHECK(!mask.has_value() || mask.rank() == rank - 1, ShapeError, name(), ": the mask must have rank ",
                  rank - 1, ", not ", mask.rank(), arguments({{"mask", mask}, {"x", x}}));
    y = options_.renorm ? renormalize_batch(x, affine, mask) : normalize_batch(x, affine, mask);
  } else {
    y = batch_normalization(x, in_dtype(moving_mean_.value(), working), in_dtype(moving_variance_.value(), working),
                            affine.offset, affine.scale, options_.epsilon);
  }
  y = in_dtype(y, input.dtype());
  return moved ? transpose(y, axis_back(rank, axis)) : y;
}

Tensor BatchNormalizationBody::normalize_batch(const Tensor& x, const Affine& affine, const Tensor& mask) const {
  BatchNormResult result;
  if (!mask.has_value()) {
    result = batch_norm_training(x, affine.scale, affine.offset, options_.epsilon);
  } else {
    const BatchMoments batch = masked_moments(x, mask);
    result = {batch_normalization(x, batch.mean, batch.variance, affine.offset, affine.scale, options_.epsilon),
              batch.mean, batch.variance};
  }
  move(moving_mean_, result.mean, options_.momentum);
  move(moving_variance_, result.variance, options_.momentum);
  return result.y;
}

Tensor BatchNormalizationBody::renormalize_batch(const Tensor& x, const Affine& affine, const Tensor& mask) const {
  const BatchNormalizationOptions& o = options_;
  const BatchMoments batch = masked_moments(x, mask);
  const Tensor mean = stop_gradient(batch.mean);
  const Tensor stddev = sqrt(stop_gradient(batch.variance) + o.epsilon);
  const Tensor usual = maximum(in_dtype(renorm_stddev_.value(), x.dtype()), std::sqrt(o.epsilon));
  Tensor r = stddev / usual;
  Tensor d = (mean - in_dtype(renorm_mean_.value(), x.dtype())) / usual;
  if (o.renorm_clipping.rmin) r = maximum(r, *o.renorm_clipping.rmin);
  if (o.renorm_clipping.rmax) r = minimum(r, *o.renorm_clipping.rmax);
  if (o.renorm_clipping.dmax) d = clip_by_value(d, -*o.renorm_clipping.dmax, *o.renorm_clipping.dmax);
  const Tensor y =
      batch_normalization(x, batch.mean, batch.variance, d * affine.scale + affine.offset, r * affine.scale, o.epsilon);
  move(renorm_mean_, mean, o.renorm_momentum);
  move(renorm_stddev_, stddev, o.renorm_momentum);
  move(moving_mean_, mean, o.momentum);
  move(moving_stddev_, stddev, o.momentum);
  moving_variance_.assign(relu(square(moving_stddev_) - o.epsilon));
  return y;
}

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : Layer(std::make_shared<BatchNormalizationBody>(options)) {}

}  // namespace capstan::layers
