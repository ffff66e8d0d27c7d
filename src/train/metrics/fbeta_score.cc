// Harmonic means of precision and recall.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"
#include "src/train/metrics/positives.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> FBetaScoreOptions::fields() {
  using O = FBetaScoreOptions;
  static constexpr OptionField all[] = {
      option<&O::average>("average").one_of(kAverages), option<&O::beta>("beta").above(0),
      option<&O::threshold>("threshold").above(0).at_most(1), option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> F1ScoreOptions::fields() {
  using O = F1ScoreOptions;
  static constexpr OptionField all[] = {option<&O::average>("average").one_of(kAverages),
                                        option<&O::threshold>("threshold").above(0).at_most(1),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

constexpr double kEpsilon = 1e-7;

class ScoreBody : public MetricBody {
 public:
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) override {
    with_errors_of(default_name(), [&] { add(y_true, y_pred, sample_weight); });
  }

  Tensor result() const override {
    CAPSTAN_CHECK(!variables().empty(), ValueError, default_name(), ": there is no result before the first update");
    const Variable &tp = variables()[0], &fp = variables()[1], &fn = variables()[2], &labels = variables()[3];
    const Tensor precision = tp / (tp + fp + kEpsilon);
    const Tensor recall = tp / (tp + fn + kEpsilon);
    const double square = score_.beta * score_.beta;
    const Tensor score = precision * recall / (square * precision + recall + kEpsilon) * (1 + square);
    if (score_.average == "weighted") return reduce_sum(score * (labels / (reduce_sum(labels) + kEpsilon)));
    return score_.average ? reduce_mean(score) : score;
  }

 protected:
  void set_up(const FBetaScoreOptions& options) { score_ = options; }

 private:
  void add(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
    CAPSTAN_CHECK(y_pred.rank() == 2 && y_true.shape() == y_pred.shape(), ShapeError,
                  "score: labels and predictions must both be [batch, classes], not ", y_true.shape(), " and ",
                  y_pred.shape());
    const bool is_micro = score_.average == "micro";
    if (variables().empty()) {
      const Shape shape = is_micro ? Shape{} : Shape{y_pred.dim(1)};
      for (const char* name : {"true_positives", "false_positives", "false_negatives", "intermediate_weights"}) {
        add_variable(shape, name, score_.dtype);
      }
    }
    const DType dtype = variables()[0].dtype();
    CAPSTAN_CHECK(is_micro || variables()[0].shape()[0] == y_pred.dim(1), ShapeError, "score: there are ",
                  y_pred.dim(1), " classes, not ", variables()[0].shape()[0], " as before");
    const Tensor given = detail::floating_predictions(y_pred);
    // The largest of a row that is all zeros is no prediction.
    const Tensor is_positive = score_.threshold
                                   ? given > *score_.threshold
                                   : logical_and(given >= reduce_max(given, -1, {.keepdims = true}), abs(given) > 1e-9);
    const Tensor p = cast(is_positive, dtype);
    const Tensor t = detail::as_real("labels", y_true, dtype);
    Tensor weight;
    if (sample_weight.has_value()) {
      weight = cast(sample_weight, dtype);
      if (weight.rank() == 1) weight = expand_dims(weight, 1);
    }
    const auto sum = [&](const Tensor& x) {
      return reduce_sum(weight.has_value() ? x * broadcast_like(weight, x) : x, is_micro ? Axes() : Axes(0));
    };
    variables()[0].assign_add(sum(p * t));
    variables()[1].assign_add(sum(p * (1 - t)));
    variables()[2].assign_add(sum((1 - p) * t));
    variables()[3].assign_add(sum(t));
  }

  FBetaScoreOptions score_;
};

struct BetaScore final : Configured<BetaScore, ScoreBody, FBetaScoreOptions> {
  static constexpr std::string_view kName = "FBetaScore";
  static constexpr std::string_view kText = "The weighted harmonic mean of precision and recall.";
  explicit BetaScore(const FBetaScoreOptions& given = {}) : Configured(given) { set_up(given); }
  std::string default_name() const override { return "fbeta_score"; }
};
struct OneScore final : Configured<OneScore, ScoreBody, F1ScoreOptions> {
  static constexpr std::string_view kName = "F1Score", kText = "The harmonic mean of precision and recall.";
  explicit OneScore(const F1ScoreOptions& given = {}) : Configured(given) {
    set_up({.average = given.average, .threshold = given.threshold, .dtype = given.dtype});
  }
};

}  // namespace

FBetaScore::FBetaScore(const FBetaScoreOptions& options, std::string name)
    : Metric(make_configurable<BetaScore>(options), std::move(name)) {}
F1Score::F1Score(const F1ScoreOptions& options, std::string name)
    : Metric(make_configurable<OneScore>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_score_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&BetaScore::info(), &OneScore::info()});
}

}  // namespace capstan
