// Means of the functions of losses that have no options.
#include "capstan/losses.h"
#include "capstan/ops/math.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace metrics {

namespace {

using detail::FunctionMetric;

struct Squared {
  static constexpr std::string_view kName = "MeanSquaredError", kText = "The mean of squared differences.";
  static constexpr auto kFunction = losses::mean_squared_error;
};
struct Absolute {
  static constexpr std::string_view kName = "MeanAbsoluteError", kText = "The mean of absolute differences.";
  static constexpr auto kFunction = losses::mean_absolute_error;
};
struct Percentage {
  static constexpr std::string_view kName = "MeanAbsolutePercentageError";
  static constexpr std::string_view kText = "The mean of absolute differences in percent of the labels.";
  static constexpr auto kFunction = losses::mean_absolute_percentage_error;
};
struct Logarithmic {
  static constexpr std::string_view kName = "MeanSquaredLogarithmicError";
  static constexpr std::string_view kText = "The mean of squared differences of logarithms.";
  static constexpr auto kFunction = losses::mean_squared_logarithmic_error;
};
struct LogCosh {
  static constexpr std::string_view kName = "LogCoshError", kText = "The mean of log(cosh(prediction - label)).";
  static constexpr auto kFunction = losses::log_cosh;
};
struct Counts {
  static constexpr std::string_view kName = "Poisson", kText = "The mean loss of counts whose means are predicted.";
  static constexpr auto kFunction = losses::poisson;
};
struct Divergence {
  static constexpr std::string_view kName = "KLDivergence", kText = "The mean divergence of probabilities.";
  static constexpr auto kFunction = losses::kl_divergence;
};
struct PlainHinge {
  static constexpr std::string_view kName = "Hinge", kText = "The mean of max(1 - label * prediction, 0).";
  static constexpr auto kFunction = losses::hinge;
};
struct HingeSquared {
  static constexpr std::string_view kName = "SquaredHinge", kText = "The mean of max(1 - label * prediction, 0)^2.";
  static constexpr auto kFunction = losses::squared_hinge;
};
struct HingeOfClasses {
  static constexpr std::string_view kName = "CategoricalHinge";
  static constexpr std::string_view kText = "How far the right class is from being ahead of the others by 1.";
  static constexpr auto kFunction = losses::categorical_hinge;
};

struct Root final : detail::MeanOf<Root, MetricOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "RootMeanSquaredError";
  static constexpr std::string_view kText = "The square root of the mean of squared differences.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::mean_squared_error(y_true, y_pred);
  }
  Tensor result() const override { return sqrt(MeanOf::result()); }
};

}  // namespace

MeanSquaredError::MeanSquaredError(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Squared>::make(options), std::move(name)) {}
RootMeanSquaredError::RootMeanSquaredError(std::string name, const MetricOptions& options)
    : Metric(make_configurable<Root>(options), std::move(name)) {}
MeanAbsoluteError::MeanAbsoluteError(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Absolute>::make(options), std::move(name)) {}
MeanAbsolutePercentageError::MeanAbsolutePercentageError(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Percentage>::make(options), std::move(name)) {}
MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Logarithmic>::make(options), std::move(name)) {}
LogCoshError::LogCoshError(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<LogCosh>::make(options), std::move(name)) {}
Poisson::Poisson(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Counts>::make(options), std::move(name)) {}
KLDivergence::KLDivergence(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Divergence>::make(options), std::move(name)) {}
Hinge::Hinge(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<PlainHinge>::make(options), std::move(name)) {}
SquaredHinge::SquaredHinge(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<HingeSquared>::make(options), std::move(name)) {}
CategoricalHinge::CategoricalHinge(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<HingeOfClasses>::make(options), std::move(name)) {}

}  // namespace metrics

void detail::add_regression_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&FunctionMetric<Squared>::info(), &Root::info(), &FunctionMetric<Absolute>::info(),
                           &FunctionMetric<Percentage>::info(), &FunctionMetric<Logarithmic>::info(),
                           &FunctionMetric<metrics::LogCosh>::info(), &FunctionMetric<Counts>::info(),
                           &FunctionMetric<Divergence>::info(), &FunctionMetric<PlainHinge>::info(),
                           &FunctionMetric<HingeSquared>::info(), &FunctionMetric<HingeOfClasses>::info()});
}

}  // namespace capstan
