// Normalization by what was seen of the data beforehand.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/attributes.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"

namespace capstan::layers {

namespace {

// Keeps a variance of zero from dividing; Keras's epsilon().
constexpr double kSmallestDeviation = 1e-7;

struct NormalizationConfig : NormalizationOptions {
  static std::span<const OptionField> fields() {
    using O = NormalizationConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::axis, O>("axis"), option<&O::invert, O>("invert"),
                               option<&O::mean, O>("mean"), option<&O::variance, O>("variance")});
    return all;
  }
};

class NormalizationBody final : public ConfiguredLayer<NormalizationBody, NormalizationConfig> {
 public:
  static constexpr char kName[] = "Normalization", kText[] = "Normalises by the mean and variance of data seen before.";
  explicit NormalizationBody(const NormalizationConfig& given) : ConfiguredLayer(given) {
    const Numbers &mean = given.mean, &variance = given.variance;
    CAPSTAN_CHECK(mean.is_given() == variance.is_given(), ValueError,
                  "Normalization: mean and variance must be given together, but only ",
                  mean.is_given() ? "mean" : "variance", " is");
    CAPSTAN_CHECK(mean.shape() == variance.shape(), ValueError,
                  "Normalization: mean and variance must have the same shape, not ", mean.shape(), " and ",
                  variance.shape());
    const int kept = given.axis.all() ? 0 : given.axis.size();
    CAPSTAN_CHECK(mean.shape().rank() <= kept, ValueError, "Normalization: the rank of mean is ", mean.shape().rank(),
                  ", more than the number of axes, ", kept);
    for (const double value : variance.values()) {
      CAPSTAN_CHECK(value >= 0, ValueError, "Normalization: a variance must not be negative, but is ", value);
    }
    passes_masks();
  }

  void adapt(const Tensor& data);
  void adapt(const BatchSource& data, std::optional<std::int64_t> steps);

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions&) override;

 private:
  struct Found {
    Tensor mean, variance;
    double count = 0;  // of elements of each mean
  };
  // Throws unless the kept axes of the input have their lengths.
  void check_shape(const Shape& shape) const;
  // Makes the weights for data of this shape.
  void prepare(const Tensor& data);
  Found moments_of(const Tensor& data) const;
  void assign(const Found& found);
  // As it is laid over the input.
  Tensor spread(const Tensor& kept) const;

  int rank_ = 0;
  std::vector<int> kept_;  // in ascending order
  Shape kept_shape_;       // their lengths
  Shape broadcast_;        // the same, with 1 for all other axes
  Tensor given_mean_, given_variance_;
  Variable mean_, variance_;
};

void NormalizationBody::build(const Shape& input_shape) {
  rank_ = input_shape.rank();
  kept_ = options.axis.all() ? std::vector<int>() : detail::positive_axes(name(), options.axis, input_shape);
  std::sort(kept_.begin(), kept_.end());
  kept_shape_ = Shape();
  broadcast_ = Shape();
  for (int i = 0; i < rank_; ++i) {
    const bool is_kept = std::find(kept_.begin(), kept_.end(), i) != kept_.end();
    CAPSTAN_CHECK(!is_kept || input_shape[i] >= 0, ShapeError, name(), ": the length of axis ", i,
                  " must be known, but the shape is ", input_shape);
    if (is_kept) kept_shape_.push_back(input_shape[i]);
    broadcast_.push_back(is_kept ? input_shape[i] : 1);
  }
  if (!options.mean.is_given()) {
    mean_ = add_weight({.name = "mean", .shape = kept_shape_, .initializer = "zeros", .trainable = false});
    variance_ = add_weight({.name = "variance", .shape = kept_shape_, .initializer = "ones", .trainable = false});
    detail::add_integer_weight(*this, "count");
    return;
  }
  const auto laid_out = [&](const Numbers& numbers) {
    const Shape& given = numbers.shape();
    for (int i = 1; i <= given.rank(); ++i) {
      const std::int64_t length = kept_shape_[-i];
      CAPSTAN_CHECK(given[-i] == length || given[-i] == 1, ShapeError, name(), ": a mean of shape ", given,
                    " does not fit the axes that are kept, of shape ", kept_shape_, ", for an input of shape ",
                    input_shape);
    }
    const Tensor values = constant(numbers.values(), given);
    return cast(broadcast_to(values, kept_shape_), compute_dtype());
  };
  given_mean_ = laid_out(options.mean);
  given_variance_ = laid_out(options.variance);
}

void NormalizationBody::check_shape(const Shape& shape) const {
  // One mean of everything fits any rank.
  CAPSTAN_CHECK(shape.rank() == rank_ || kept_.empty(), ShapeError, name(), ": the input must have rank ", rank_,
                ", not ", shape.rank(), ": ", shape);
  for (const int axis : kept_) {
    CAPSTAN_CHECK(shape[axis] == broadcast_[axis], ShapeError, name(), ": axis ", axis,
                  " of the input must have length ", broadcast_[axis], ", not ", shape[axis], ": ", shape);
  }
}

Tensor NormalizationBody::spread(const Tensor& kept) const { return kept_.empty() ? kept : reshape(kept, broadcast_); }

Tensor NormalizationBody::call(const Tensor& input, const CallOptions&) {
  check_shape(input.shape());
  const Tensor x = detail::in_dtype(input, compute_dtype());
  const bool is_given = given_mean_.has_value();
  const Tensor mean = spread(is_given ? given_mean_ : value_of(mean_));
  const Tensor deviation = maximum(sqrt(spread(is_given ? given_variance_ : value_of(variance_))), kSmallestDeviation);
  return options.invert ? mean + x * deviation : (x - mean) / deviation;
}

// --- Learning ---

void NormalizationBody::prepare(const Tensor& data) {
  CAPSTAN_CHECK(!options.mean.is_given(), ValueError, name(),
                ": adapt: the layer was given its mean and variance and learns none");
  CAPSTAN_CHECK(data.has_value() && data.rank() >= 1, ShapeError, name(),
                ": adapt: the data must have a first axis of examples");
  self().build(data.shape());
  check_shape(data.shape());
  CAPSTAN_CHECK(data.size() > 0, ValueError, name(), ": adapt: there are no examples", arguments({{"data", data}}));
}

NormalizationBody::Found NormalizationBody::moments_of(const Tensor& data) const {
  std::vector<int> others;
  double count = 1;
  for (int i = 0; i < data.rank(); ++i) {
    if (std::find(kept_.begin(), kept_.end(), i) != kept_.end()) continue;
    others.push_back(i);
    count *= static_cast<double>(data.dim(i));
  }
  const Tensor x = detail::in_dtype(data, detail::working_dtype(compute_dtype()));
  const Moments found = moments(x, Axes(others));
  return {found.mean, found.variance, count};
}

void NormalizationBody::assign(const Found& found) {
  mean_.assign(detail::in_dtype(reshape(found.mean, kept_shape_), mean_.dtype()));
  variance_.assign(detail::in_dtype(reshape(found.variance, kept_shape_), variance_.dtype()));
}

void NormalizationBody::adapt(const Tensor& data) {
  prepare(data);
  assign(moments_of(data));
}

void NormalizationBody::adapt(const BatchSource& data, std::optional<std::int64_t> steps) {
  Found all;
  detail::for_each_batch(data, steps, [&](const Tensor& x) {
    prepare(x);
    const Found one = moments_of(x);
    if (all.count == 0) {
      all = one;
      return;
    }
    // The variance around the common mean, of which each part has its own distance.
    all.count += one.count;
    const double weight = one.count / all.count;
    const Tensor mean = all.mean * (1 - weight) + one.mean * weight;
    all.variance =
        (all.variance + square(all.mean - mean)) * (1 - weight) + (one.variance + square(one.mean - mean)) * weight;
    all.mean = mean;
  });
  CAPSTAN_CHECK(all.count > 0, ValueError, name(), ": adapt: there are no batches");
  assign(all);
}

}  // namespace

Normalization::Normalization(const NormalizationOptions& options)
    : Layer(make_configurable<NormalizationBody>(NormalizationConfig{options})) {}
Normalization Normalization::of(const Layer& layer) { return Normalization(detail::body_as<NormalizationBody>(layer)); }
void Normalization::adapt(const Tensor& data) const { static_cast<NormalizationBody&>(body()).adapt(data); }
void Normalization::adapt(const BatchSource& data, std::optional<std::int64_t> steps) const {
  static_cast<NormalizationBody&>(body()).adapt(data, steps);
}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::normalization_class() { return layers::NormalizationBody::info(); }
