// The coefficient of determination, from sums over examples.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> R2ScoreOptions::fields() {
  using O = R2ScoreOptions;
  static constexpr OptionField all[] = {option<&O::class_aggregation>("class_aggregation").one_of(kAggregations),
                                        option<&O::num_regressors>("num_regressors").at_least(0),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

struct Determination final : Configured<Determination, MetricBody, R2ScoreOptions> {
  static constexpr std::string_view kName = "R2Score", kText = "The coefficient of determination.";

  explicit Determination(const R2ScoreOptions& given = {}) : Configured(given) {
    add_variable({}, "num_samples", options.dtype);
  }

  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) override {
    with_errors_of("r2_score", [&] { add(y_true, y_pred, sample_weight); });
  }

  Tensor result() const override {
    CAPSTAN_CHECK(variables().size() > 1, ValueError, "r2_score: there is no result before the first update");
    const Variable &numbers = variables()[0], &squares = variables()[1], &sum = variables()[2],
                   &residual = variables()[3], &count = variables()[4];
    const Tensor total = squares - sum * (sum / count);
    Tensor score = 1 - residual / total;
    score = where(is_inf(score), zeros_like(score), score);
    if (options.class_aggregation == "uniform_average") score = reduce_mean(score);
    if (options.class_aggregation == "variance_weighted_average") score = reduce_sum(total * score) / reduce_sum(total);
    if (options.num_regressors == 0) return score;
    const auto regressors = static_cast<double>(options.num_regressors);
    const Tensor left = numbers - (regressors + 1);
    return where(left > 0.0, 1 - (1 - score) * (numbers - 1.0) / left, score);
  }

 private:
  void add(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
    CAPSTAN_CHECK(y_pred.rank() == 2 && y_true.shape() == y_pred.shape(), ShapeError,
                  "r2_score: labels and predictions must both be [batch, outputs], not ", y_true.shape(), " and ",
                  y_pred.shape());
    if (variables().size() == 1) {
      for (const char* name : {"squared_sum", "sum", "residual", "count"}) {
        add_variable({y_pred.dim(1)}, name, options.dtype);
      }
    }
    CAPSTAN_CHECK(variables()[1].shape()[0] == y_pred.dim(1), ShapeError, "r2_score: there are ", y_pred.dim(1),
                  " outputs, not ", variables()[1].shape()[0], " as before");
    const DType dtype = variables()[0].dtype();
    const Tensor t = detail::as_real("labels", y_true, dtype);
    const Tensor p = detail::as_real("predictions", y_pred, dtype);
    Tensor weight = ones_like(t);
    if (sample_weight.has_value()) {
      Tensor given = cast(sample_weight, dtype);
      if (given.rank() == 1) given = expand_dims(given, 1);
      weight = broadcast_like(given, t);
    }
    const Tensor weighted = t * weight;
    variables()[0].assign_add(cast(size(t), dtype));
    variables()[1].assign_add(reduce_sum(t * weighted, 0));
    variables()[2].assign_add(reduce_sum(weighted, 0));
    variables()[3].assign_add(reduce_sum(squared_difference(t, p) * weight, 0));
    variables()[4].assign_add(reduce_sum(weight, 0));
  }
};

}  // namespace

R2Score::R2Score(const R2ScoreOptions& options, std::string name)
    : Metric(make_configurable<Determination>(options), std::move(name)) {}

}  // namespace metrics

const ClassInfo& detail::r2_score_metric() { return metrics::Determination::info(); }

}  // namespace capstan
