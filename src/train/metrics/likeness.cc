// How alike labels and predictions are along an axis.
#include "capstan/losses.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace metrics {

namespace {

// Labels and predictions of one dtype and shape.
struct Pair {
  Tensor t;
  Tensor p;
};

Pair pair_of(const char* metric, const Tensor& y_true, const Tensor& y_pred) {
  Pair pair;
  pair.p = detail::floating_predictions(y_pred);
  pair.t = detail::floating_labels(y_true, pair.p);
  detail::fit_ranks(pair.t, pair.p);
  CAPSTAN_CHECK(pair.t.shape() == pair.p.shape(), ShapeError, metric, ": labels and predictions differ in shape");
  return pair;
}

}  // namespace

Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, int axis) {
  return with_errors_of("pearson_correlation", [&] {
    const auto [t, p] = pair_of("pearson_correlation", y_true, y_pred);
    const Tensor of_t = (t - reduce_mean(t, axis, {.keepdims = true})) / reduce_std(t, axis, {.keepdims = true});
    const Tensor of_p = (p - reduce_mean(p, axis, {.keepdims = true})) / reduce_std(p, axis, {.keepdims = true});
    return reduce_mean(of_t * of_p, axis);
  });
}

Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, int axis) {
  constexpr double kEpsilon = 1e-7;
  return with_errors_of("concordance_correlation", [&] {
    const auto [t, p] = pair_of("concordance_correlation", y_true, y_pred);
    const Tensor mean_t = reduce_mean(t, axis, {.keepdims = true});
    const Tensor mean_p = reduce_mean(p, axis, {.keepdims = true});
    const Tensor covariance = reduce_mean((t - mean_t) * (p - mean_p), axis, {.keepdims = true});
    const Tensor spread = reduce_variance(t, axis, {.keepdims = true}) + reduce_variance(p, axis, {.keepdims = true}) +
                          squared_difference(mean_t, mean_p);
    return reduce_mean(2 * covariance / (spread + kEpsilon), axis);
  });
}

std::span<const OptionField> AxisMetricOptions::fields() {
  using O = AxisMetricOptions;
  static constexpr OptionField all[] = {option<&O::axis>("axis"), option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::MeanOf;

struct Cosine final : MeanOf<Cosine, AxisMetricOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "CosineSimilarity";
  static constexpr std::string_view kText = "The mean cosine of the angle between labels and predictions.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return -losses::cosine_similarity(y_true, y_pred, {.axis = options.axis});
  }
};
struct Pearson final : MeanOf<Pearson, AxisMetricOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "PearsonCorrelation";
  static constexpr std::string_view kText = "The mean correlation of labels and predictions.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return pearson_correlation(y_true, y_pred, options.axis);
  }
};
struct Concordance final : MeanOf<Concordance, AxisMetricOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "ConcordanceCorrelation";
  static constexpr std::string_view kText = "The mean concordance of labels and predictions.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return concordance_correlation(y_true, y_pred, options.axis);
  }
};

}  // namespace

CosineSimilarity::CosineSimilarity(const AxisMetricOptions& options, std::string name)
    : Metric(make_configurable<Cosine>(options), std::move(name)) {}
PearsonCorrelation::PearsonCorrelation(const AxisMetricOptions& options, std::string name)
    : Metric(make_configurable<Pearson>(options), std::move(name)) {}
ConcordanceCorrelation::ConcordanceCorrelation(const AxisMetricOptions& options, std::string name)
    : Metric(make_configurable<Concordance>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_likeness_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&Cosine::info(), &Pearson::info(), &Concordance::info()});
}

}  // namespace capstan
