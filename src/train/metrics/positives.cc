// Counting.
//
// An example goes into the bucket between two thresholds that its prediction falls into; a sum over buckets from one
// side gives the positives of each threshold, from the other the negatives. That is one pass over the examples for any
// number of thresholds.
#include "src/train/metrics/positives.h"

#include <algorithm>
#include <limits>

#include "capstan/debugging.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/segment.h"
#include "capstan/ops/sort.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace detail {

std::vector<double> even_thresholds(std::int64_t n) {
  constexpr double kBeyond = 1e-7;
  std::vector<double> thresholds = {-kBeyond};
  for (std::int64_t i = 1; i + 1 < n; ++i) thresholds.push_back(static_cast<double>(i) / static_cast<double>(n - 1));
  thresholds.push_back(1 + kBeyond);
  return thresholds;
}

void PositivesBody::set_up(PositivesSettings settings, std::vector<Kept> kept, std::optional<DType> dtype) {
  settings_ = std::move(settings);
  kept_ = std::move(kept);
  dtype_ = dtype;
  const std::vector<double>& given = settings_.thresholds;
  sorted_ = given;
  std::sort(sorted_.begin(), sorted_.end());
  if (sorted_ == given) return;
  for (const double threshold : given) {
    places_.push_back(static_cast<int>(std::lower_bound(sorted_.begin(), sorted_.end(), threshold) - sorted_.begin()));
  }
}

void PositivesBody::make_state(std::optional<std::int64_t> labels) {
  Shape shape = {static_cast<std::int64_t>(sorted_.size())};
  if (labels) shape.push_back(*labels);
  for (const Kept& kept : kept_) add_variable(shape, kept.name, dtype_);
}

Tensor PositivesBody::as_result(const Tensor& values) const {
  return sorted_.size() == 1 ? reshape(values, Shape{}) : values;
}

namespace {

// Only the largest predictions of each example; the others are below every threshold.
Tensor largest_of(const Tensor& predictions, std::int64_t k) {
  CAPSTAN_CHECK(predictions.rank() >= 1 && predictions.dim(-1) >= k, ShapeError, "top_k: predictions of shape ",
                predictions.shape(), " have fewer than ", k, " classes");
  const Tensor chosen =
      reduce_sum(one_hot(top_k(predictions, k).indices, predictions.dim(-1), 1, 0, -1, predictions.dtype()), -2);
  return where(chosen > 0.0, predictions, -std::numeric_limits<double>::infinity() * ones_like(predictions));
}

Tensor only_class(const Tensor& x, std::int64_t class_id) {
  CAPSTAN_CHECK(x.rank() >= 1 && class_id < x.dim(-1), IndexError, "class_id: there is no class ", class_id,
                " along the last axis of ", x.shape());
  return gather(x, constant(class_id), -1);
}

}  // namespace

// Like the predictions: those given stand for the leading axes.
Tensor PositivesBody::weights_for(const Tensor& sample_weight, const Tensor& predictions) const {
  Tensor weights = ones_like(predictions);
  if (sample_weight.has_value()) {
    weights = broadcast_like(fit_weights(cast(sample_weight, predictions.dtype()), predictions.rank()), predictions);
  }
  if (!settings_.multi_label && !settings_.label_weights.empty()) {
    const auto wanted = static_cast<std::int64_t>(settings_.label_weights.size());
    CAPSTAN_CHECK(predictions.rank() >= 1 && predictions.dim(-1) == wanted, ShapeError, "label_weights: there are ",
                  wanted, " of them for predictions of shape ", predictions.shape());
    const std::span<const double> numbers(settings_.label_weights);
    weights = weights * cast(constant(numbers), predictions.dtype());
  }
  return weights;
}

void PositivesBody::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  with_errors_of(default_name(), [&] {
    Tensor p = floating_predictions(y_pred);
    Tensor t = settings_.is_curve ? floating_labels(y_true, p) : cast(cast(y_true, bool_), p.dtype());
    if (settings_.from_logits) p = sigmoid(p);
    fit_ranks(t, p);
    CAPSTAN_CHECK(t.shape() == p.shape(), ShapeError, "positives: labels and predictions differ in shape, ", t.shape(),
                  " and ", p.shape());
    if (settings_.is_curve) {
      debugging::assert_greater_equal(p, 0.0, {.message = "predictions must be in [0, 1]"});
      debugging::assert_less_equal(p, 1.0, {.message = "predictions must be in [0, 1]"});
    }
    if (settings_.top_k) p = largest_of(p, *settings_.top_k);
    if (settings_.class_id) {
      t = only_class(t, *settings_.class_id);
      p = only_class(p, *settings_.class_id);
    }
    CAPSTAN_CHECK(!settings_.multi_label || p.rank() == 2, ShapeError,
                  "multi_label: labels and predictions must be [batch, labels], not ", p.shape());
    const std::int64_t labels = settings_.multi_label ? p.dim(1) : 1;
    if (!has_state()) make_state(labels);
    const Variable& first = variables()[0];
    CAPSTAN_CHECK(!settings_.multi_label || first.shape()[1] == labels, ShapeError, "multi_label: there are ", labels,
                  " labels, not ", first.shape()[1], " as before");
    const Tensor weights = weights_for(sample_weight, p);

    // Bucket b has what is above b thresholds.
    const auto n = static_cast<std::int64_t>(sorted_.size());
    const Tensor thresholds = cast(constant(std::span<const double>(sorted_)), p.dtype());
    Tensor buckets = searchsorted(thresholds, reshape(p, {-1}), "left");
    if (labels > 1) {
      const Tensor columns = broadcast_like(range(labels), cast(p, int32));
      buckets = buckets * static_cast<int>(labels) + reshape(columns, {-1});
    }
    const Tensor both = stack({reshape(t * weights, {-1}), reshape((1.0 - t) * weights, {-1})}, 1);
    Tensor sums = unsorted_segment_sum(cast(both, first.dtype()), buckets, (n + 1) * labels);
    sums = settings_.multi_label ? reshape(sums, {n + 1, labels, 2}) : sums;
    const Tensor above = cumsum(sums, 0, {.reverse = true})(slice(1, n + 1));
    const Tensor below = cumsum(sums, 0)(slice(0, n));
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const Count count = kept_[i].count;
      const bool is_positive = count == Count::kTruePositives || count == Count::kFalsePositives;
      const bool is_of_positives = count == Count::kTruePositives || count == Count::kFalseNegatives;
      Tensor column = gather(is_positive ? above : below, constant(is_of_positives ? 0 : 1), -1);
      if (!places_.empty()) column = gather(column, constant(std::span<const int>(places_)), 0);
      variables()[i].assign_add(column);
    }
  });
}

}  // namespace detail

// --- The counts themselves ---

namespace metrics {

std::span<const OptionField> ThresholdOptions::fields() {
  using O = ThresholdOptions;
  static constexpr OptionField all[] = {option<&O::thresholds>("thresholds").at_least(0).at_most(1),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::Count;

template <class Derived, Count count>
struct OneCount : Configured<Derived, detail::PositivesBody, ThresholdOptions> {
  explicit OneCount(const ThresholdOptions& given = {})
      : Configured<Derived, detail::PositivesBody, ThresholdOptions>(given) {
    this->set_up({.thresholds = given.thresholds.value_or(std::vector{0.5})}, {{count, "accumulator"}}, given.dtype);
    this->make_state({});
  }
  Tensor result() const override { return this->as_result(this->kept(0)); }
};

struct TrueP final : OneCount<TrueP, Count::kTruePositives> {
  using OneCount::OneCount;
  static constexpr std::string_view kName = "TruePositives", kText = "How many positives are predicted as such.";
};
struct TrueN final : OneCount<TrueN, Count::kTrueNegatives> {
  using OneCount::OneCount;
  static constexpr std::string_view kName = "TrueNegatives", kText = "How many negatives are predicted as such.";
};
struct FalseP final : OneCount<FalseP, Count::kFalsePositives> {
  using OneCount::OneCount;
  static constexpr std::string_view kName = "FalsePositives", kText = "How many negatives are predicted as positive.";
};
struct FalseN final : OneCount<FalseN, Count::kFalseNegatives> {
  using OneCount::OneCount;
  static constexpr std::string_view kName = "FalseNegatives", kText = "How many positives are predicted as negative.";
};

}  // namespace

TruePositives::TruePositives(const ThresholdOptions& options, std::string name)
    : Metric(make_configurable<TrueP>(options), std::move(name)) {}
TrueNegatives::TrueNegatives(const ThresholdOptions& options, std::string name)
    : Metric(make_configurable<TrueN>(options), std::move(name)) {}
FalsePositives::FalsePositives(const ThresholdOptions& options, std::string name)
    : Metric(make_configurable<FalseP>(options), std::move(name)) {}
FalseNegatives::FalseNegatives(const ThresholdOptions& options, std::string name)
    : Metric(make_configurable<FalseN>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_positives_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&TrueP::info(), &TrueN::info(), &FalseP::info(), &FalseN::info()});
}

}  // namespace capstan
