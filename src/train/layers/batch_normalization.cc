// Batch normalisation and renormalisation.
#include <cmath>

#include "capstan/layers.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

// variable = variable * momentum + value * (1 - momentum); no gradient flows through it.
void move(const Variable& average, const Tensor& value, double momentum) {
  average.assign(average * momentum + cast(stop_gradient(value), average.dtype()) * (1 - momentum));
}

using detail::in_dtype;

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

struct BatchNormalizationConfig : BatchNormalizationOptions {
  static std::span<const OptionField> fields() {
    using O = BatchNormalizationConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::axis, O>("axis"), option<&O::momentum, O>("momentum").changeable(),
         option<&O::epsilon, O>("epsilon").at_least(0), option<&O::center, O>("center"), option<&O::scale, O>("scale"),
         option<&O::beta_initializer, O>("beta_initializer"), option<&O::gamma_initializer, O>("gamma_initializer"),
         option<&O::moving_mean_initializer, O>("moving_mean_initializer"),
         option<&O::moving_variance_initializer, O>("moving_variance_initializer"),
         option<&O::beta_regularizer, O>("beta_regularizer"), option<&O::gamma_regularizer, O>("gamma_regularizer"),
         option<&O::beta_constraint, O>("beta_constraint"), option<&O::gamma_constraint, O>("gamma_constraint"),
         option<&O::synchronized, O>("synchronized"), option<&O::renorm, O>("renorm"),
         option<&O::renorm_clipping, O>("renorm_clipping"), option<&O::renorm_momentum, O>("renorm_momentum")});
    return all;
  }
};

class BatchNormalizationBody final : public ConfiguredLayer<BatchNormalizationBody, BatchNormalizationConfig> {
 public:
  static constexpr char kName[] = "BatchNormalization";
  static constexpr char kText[] = "Normalises over a batch, and by moving averages in inference.";
  explicit BatchNormalizationBody(const BatchNormalizationConfig& given);

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

  Variable gamma_, beta_;
  Variable moving_mean_, moving_variance_;
  Variable moving_stddev_, renorm_mean_, renorm_stddev_;  // with `renorm`
};

BatchNormalizationBody::BatchNormalizationBody(const BatchNormalizationConfig& given) : ConfiguredLayer(given) {
  passes_masks();
  converts_integers();
  const RenormClipping& limits = given.renorm_clipping;
  CAPSTAN_CHECK(!limits.rmax || !limits.rmin || *limits.rmin <= *limits.rmax, ValueError,
                "batch_normalization: rmin must not exceed rmax, but they are ", *limits.rmin, " and ", *limits.rmax);
  CAPSTAN_CHECK(!limits.dmax || *limits.dmax >= 0, ValueError,
                "batch_normalization: dmax must not be negative, but is ", *limits.dmax);
}

void BatchNormalizationBody::build(const Shape& input_shape) {
  const Shape shape{input_shape[detail::positive_axis(name(), options.axis, input_shape)]};
  const BatchNormalizationOptions& o = options;
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
  return {options.scale ? in_dtype(gamma_.value(), working) : ones(shape, working),
          options.center ? in_dtype(beta_.value(), working) : zeros(shape, working)};
}

Tensor BatchNormalizationBody::call(const Tensor& input, const CallOptions& call_options) {
  const int rank = input.rank();
  const int axis = options.axis < 0 ? options.axis + rank : options.axis;
  const DType working = detail::working_dtype(input.dtype());
  const Affine affine = affine_in(working);
  CAPSTAN_CHECK(axis >= 0 && axis < rank && input.dim(axis) == moving_mean_.size(), ShapeError, name(), ": axis ",
                options.axis, " of the input must have length ", moving_mean_.size(), arguments({{"x", input}}));
  const bool moved = axis != rank - 1;
  const std::vector<int> order = moved ? detail::order_with_last(rank, {axis}) : std::vector<int>();
  Tensor x = moved ? transpose(input, Axes(order)) : input;
  x = in_dtype(x, working);
  Tensor y;
  if (call_options.training && trainable()) {
    const Tensor& mask = call_options.mask.tensor_or_empty();
    CAPSTAN_CHECK(!mask.has_value() || mask.rank() == rank - 1, ShapeError, name(), ": the mask must have rank ",
                  rank - 1, ", not ", mask.rank(), arguments({{"mask", mask}, {"x", x}}));
    y = options.renorm ? renormalize_batch(x, affine, mask) : normalize_batch(x, affine, mask);
  } else {
    y = batch_normalization(x, in_dtype(moving_mean_.value(), working), in_dtype(moving_variance_.value(), working),
                            affine.offset, affine.scale, options.epsilon);
  }
  y = in_dtype(y, input.dtype());
  return moved ? transpose(y, Axes(detail::inverse_order(order))) : y;
}

Tensor BatchNormalizationBody::normalize_batch(const Tensor& x, const Affine& affine, const Tensor& mask) const {
  BatchNormResult result;
  if (!mask.has_value()) {
    result = batch_norm_training(x, affine.scale, affine.offset, options.epsilon);
  } else {
    const BatchMoments batch = masked_moments(x, mask);
    result = {batch_normalization(x, batch.mean, batch.variance, affine.offset, affine.scale, options.epsilon),
              batch.mean, batch.variance};
  }
  move(moving_mean_, result.mean, options.momentum);
  move(moving_variance_, result.variance, options.momentum);
  return result.y;
}

Tensor BatchNormalizationBody::renormalize_batch(const Tensor& x, const Affine& affine, const Tensor& mask) const {
  const BatchNormalizationOptions& o = options;
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
    : Layer(make_configurable<BatchNormalizationBody>(BatchNormalizationConfig{options})) {}

}  // namespace capstan::layers

namespace capstan {

namespace {

using Limit = std::optional<double> layers::RenormClipping::*;
constexpr std::pair<std::string_view, Limit> kLimits[] = {{"rmax", &layers::RenormClipping::rmax},
                                                          {"rmin", &layers::RenormClipping::rmin},
                                                          {"dmax", &layers::RenormClipping::dmax}};

}  // namespace

namespace layers {

void set_field(RenormClipping& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = RenormClipping();
  if (!value.has_value()) return;
  CAPSTAN_CHECK(value.kind == AttributeValue::Kind::kMap, ValueError, owner, ": option \"", name,
                "\" must be a map of rmax, rmin and dmax, not ", value.to_string());
  for (const auto& [key, item] : value.items) {
    bool is_known = false;
    for (const auto& [limit, member] : kLimits) {
      if (key != limit) continue;
      is_known = true;
      capstan::set_field(field.*member, item, owner, key);
    }
    CAPSTAN_CHECK(is_known, ValueError, owner, ": option \"", name, "\" has no \"", key,
                  "\", only rmax, rmin and dmax");
  }
}

AttributeValue get_field(const RenormClipping& field) {
  AttributeValue map = AttributeValue::map();
  for (const auto& [limit, member] : kLimits) {
    if (field.*member) map.set(limit, *(field.*member));
  }
  return map.items.empty() ? AttributeValue() : map;
}

}  // namespace layers

const ClassInfo& detail::batch_normalization_class() { return layers::BatchNormalizationBody::info(); }

}  // namespace capstan
