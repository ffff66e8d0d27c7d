// Losses as objects: weighting and reduction.
#include "capstan/losses.h"

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/known_names.h"

namespace capstan {

namespace {

Loss::Reduction reduction_from_name(std::string_view name) {
  if (name == "sum_over_batch_size" || name == "mean") return Loss::Reduction::kSumOverBatchSize;
  if (name == "mean_with_sample_weight") return Loss::Reduction::kMeanWithSampleWeight;
  if (name == "sum") return Loss::Reduction::kSum;
  if (name == "none") return Loss::Reduction::kNone;
  throw ValueError(
      detail::join("loss: reduction must be \"sum_over_batch_size\", \"mean\", \"mean_with_sample_weight\", "
                   "\"sum\" or \"none\", not \"",
                   name, "\""));
}

// A loss with its default options.
template <class Options>
Loss::Function with_options(Tensor (*function)(const Tensor&, const Tensor&, const Options&)) {
  return [function](const Tensor& t, const Tensor& p) { return function(t, p, Options{}); };
}

Tensor reduce(const Tensor& values, const Tensor& weight, Loss::Reduction reduction) {
  const bool is_reduced = values.rank() == 0 || (values.rank() == 1 && values.dim(0) == 0);
  if (is_reduced || reduction == Loss::Reduction::kNone) return values;
  if (reduction == Loss::Reduction::kSum) return reduce_sum(values);
  if (reduction == Loss::Reduction::kMeanWithSampleWeight && weight.has_value()) {
    return divide_no_nan(reduce_sum(values), reduce_sum(weight));
  }
  return reduce_mean(values);
}

}  // namespace

Loss::Loss(Function function, std::string_view reduction, std::string_view name,
           std::optional<std::int64_t> ignore_class)
    : function_(std::move(function)),
      name_(name),
      reduction_(reduction_from_name(reduction)),
      ignore_class_(ignore_class) {}

namespace {

using Make = Loss::Function (*)();

constexpr detail::Named<Make> kNamed[] = {
    {"mean_squared_error", [] { return Loss::Function(losses::mean_squared_error); }, "mse", "MSE"},
    {"mean_absolute_error", [] { return Loss::Function(losses::mean_absolute_error); }, "mae", "MAE"},
    {"huber", [] { return with_options(losses::huber); }},
    {"binary_crossentropy", [] { return with_options(losses::binary_crossentropy); }, "bce", "BCE"},
    {"categorical_crossentropy", [] { return with_options(losses::categorical_crossentropy); }},
    {"sparse_categorical_crossentropy", [] { return with_options(losses::sparse_categorical_crossentropy); }},
};

}  // namespace

Loss::Loss(std::string_view name) : name_(name), reduction_(Reduction::kSumOverBatchSize) {
  function_ =
      detail::find_named<Make>("loss", name, kNamed, "pass a function of labels and predictions for one of your own")();
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                        const Tensor& mask) const {
  try {
    return compute(y_true, y_pred, sample_weight, mask);
  } catch (const Error&) {
    detail::rethrow_with({"loss", name_, y_true, y_pred, sample_weight, mask});
  }
}

Tensor Loss::compute(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                     const Tensor& mask) const {
  CAPSTAN_CHECK(y_true.has_value() && y_pred.has_value(), ValueError, "loss: ", name_, ": ",
                y_true.has_value() ? "the predictions are" : "the labels are", " an empty tensor");
  Tensor p = detail::floating_predictions(y_pred);
  Tensor t = y_true;
  detail::fit_ranks(t, p);
  if (ignore_class_) {
    const Tensor counts = not_equal(t, cast(constant(static_cast<double>(*ignore_class_)), t.dtype()));
    return masked(function_(where(counts, t, zeros_like(t)), p), counts, sample_weight);
  }
  Tensor values = function_(t, p);
  if (mask.has_value()) return masked(values, mask, sample_weight);
  if (!sample_weight.has_value()) return reduce(values, {}, reduction_);
  Tensor weight = detail::floating_labels(sample_weight, values);
  detail::fit_ranks(values, weight);
  return weighted(values, weight);
}

Tensor Loss::weighted(const Tensor& values, const Tensor& weight) const {
  return with_errors_of(name_, [&] { return reduce(values * weight, weight, reduction_); });
}

// What is masked has loss 0, and a mean is over the rest: Keras gives the rest a weight of all / counted.
Tensor Loss::masked(const Tensor& given_values, const Tensor& mask, const Tensor& sample_weight) const {
  Tensor values = given_values;
  Tensor weight = cast(mask, values.dtype());
  if (weight.rank() > values.rank()) weight = squeeze(weight, -1);
  values = where(cast(weight, bool_), values, zeros_like(values));
  if (reduction_ == Reduction::kSumOverBatchSize || reduction_ == Reduction::kMeanWithSampleWeight) {
    weight = weight * divide_no_nan(cast(size(weight), values.dtype()), reduce_sum(weight));
  }
  if (sample_weight.has_value()) {
    Tensor given = detail::floating_labels(sample_weight, values);
    detail::fit_ranks(weight, given);
    weight = with_errors_of(name_, [&] { return weight * given; });
    detail::fit_ranks(values, weight);
  }
  return weighted(values, weight);
}

namespace losses {

MeanSquaredError::MeanSquaredError(const LossOptions& options)
    : Loss(mean_squared_error, options.reduction, "mean_squared_error") {}

MeanAbsoluteError::MeanAbsoluteError(const LossOptions& options)
    : Loss(mean_absolute_error, options.reduction, "mean_absolute_error") {}

Huber::Huber(const HuberLossOptions& options)
    : Loss([delta = options.delta](const Tensor& t, const Tensor& p) { return huber(t, p, {.delta = delta}); },
           options.reduction, "huber") {}

BinaryCrossentropy::BinaryCrossentropy(const CrossentropyLossOptions& options)
    : Loss([o = CrossentropyOptions{options.from_logits, options.label_smoothing, options.axis}](
               const Tensor& t, const Tensor& p) { return binary_crossentropy(t, p, o); },
           options.reduction, "binary_crossentropy") {}

CategoricalCrossentropy::CategoricalCrossentropy(const CrossentropyLossOptions& options)
    : Loss([o = CrossentropyOptions{options.from_logits, options.label_smoothing, options.axis}](
               const Tensor& t, const Tensor& p) { return categorical_crossentropy(t, p, o); },
           options.reduction, "categorical_crossentropy") {}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const SparseCrossentropyLossOptions& options)
    : Loss([o = SparseCrossentropyOptions{options.from_logits, options.axis}](
               const Tensor& t, const Tensor& p) { return sparse_categorical_crossentropy(t, p, o); },
           options.reduction, "sparse_categorical_crossentropy", options.ignore_class) {}

}  // namespace losses
}  // namespace capstan
