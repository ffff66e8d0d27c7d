// The area under a curve whose points are thresholds, from the lowest, where all is positive, to the highest.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/train/metrics/mean.h"
#include "src/train/metrics/positives.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> AUCOptions::fields() {
  using O = AUCOptions;
  static constexpr OptionField all[] = {option<&O::num_thresholds>("num_thresholds").at_least(2),
                                        option<&O::curve>("curve").one_of(kCurves),
                                        option<&O::summation_method>("summation_method").one_of(kSummations),
                                        option<&O::thresholds>("thresholds").at_least(0).at_most(1),
                                        option<&O::multi_label>("multi_label"),
                                        option<&O::num_labels>("num_labels").at_least(1),
                                        option<&O::label_weights>("label_weights").at_least(0),
                                        option<&O::from_logits>("from_logits"),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::Count;

// With 0 and 1 added, a little outside.
std::vector<double> thresholds_of(const AUCOptions& options) {
  if (!options.thresholds) return detail::even_thresholds(options.num_thresholds);
  std::vector<double> all = *options.thresholds;
  const std::vector<double> ends = detail::even_thresholds(2);
  all.insert(all.end(), ends.begin(), ends.end());
  std::sort(all.begin(), all.end());
  return all;
}

struct Area final : Configured<Area, detail::PositivesBody, AUCOptions> {
  static constexpr std::string_view kName = "AUC", kText = "The area under a curve over thresholds.";

  explicit Area(const AUCOptions& given = {}) : Configured(given) {
    CAPSTAN_CHECK(!given.num_labels || given.multi_label, ValueError, kName,
                  ": option \"num_labels\" must be none, not ", *given.num_labels, ", unless \"multi_label\" is true");
    const std::size_t weights = given.label_weights ? given.label_weights->size() : 0;
    CAPSTAN_CHECK(!given.num_labels || weights == 0 || static_cast<std::int64_t>(weights) == *given.num_labels,
                  ValueError, kName, ": option \"label_weights\" must have one number for each of ",
                  given.num_labels.value_or(0), " labels, not ", weights);
    set_up({.thresholds = thresholds_of(given),
            .is_curve = true,
            .from_logits = given.from_logits,
            .multi_label = given.multi_label,
            .label_weights = given.label_weights.value_or(std::vector<double>{})},
           {{Count::kTruePositives, "true_positives"},
            {Count::kFalsePositives, "false_positives"},
            {Count::kTrueNegatives, "true_negatives"},
            {Count::kFalseNegatives, "false_negatives"}},
           given.dtype);
    if (!given.multi_label || given.num_labels) make_state(given.num_labels);
  }

  Tensor result() const override {
    if (!has_state()) return zeros({}, options.dtype.value_or(floatx() == float64 ? float64 : float32));
    const bool is_interpolated = options.summation_method == "interpolation";
    return over_labels(options.curve == "PR" && is_interpolated ? interpolated_precision() : parts());
  }

 private:
  static Tensor first_ends(const Tensor& x) { return x(slice(0, x.dim(0) - 1)); }
  static Tensor last_ends(const Tensor& x) { return x(slice(1, x.dim(0))); }

  // The areas between neighbouring thresholds, as widths times heights.
  Tensor parts() const {
    const Tensor tp = kept(0), fp = kept(1), tn = kept(2), fn = kept(3);
    const Tensor recall = divide_no_nan(tp, tp + fn);
    Tensor x = recall;
    Tensor y = recall;
    if (options.curve == "ROC") {
      x = divide_no_nan(fp, fp + tn);
    } else {
      y = divide_no_nan(tp, tp + fp);
      if (options.curve == "PRGAIN") {
        // 1 - P / N * mistakes / true positives; without any of these the gain of recall is 0, that of precision 1.
        const Tensor odds = divide_no_nan(tp + fn, fp + tn);
        x = where(tp > 0.0, maximum(1.0 - odds * divide_no_nan(fn, tp), 0.0), zeros_like(tp));
        y = 1.0 - odds * divide_no_nan(fp, tp);
      }
    }
    const Tensor a = first_ends(y);
    const Tensor b = last_ends(y);
    const Tensor height = options.summation_method == "interpolation" ? (a + b) / 2.0
                          : options.summation_method == "minoring"    ? minimum(a, b)
                                                                      : maximum(a, b);
    return (first_ends(x) - last_ends(x)) * height;
  }

  // Davis and Goadrich 2006: between two thresholds true positives are a line over all positives, and the integral of
  // their quotient has a logarithm.
  Tensor interpolated_precision() const {
    const Tensor tp = kept(0), fn = kept(3);
    const Tensor p = tp + kept(1);
    const Tensor first = first_ends(p);
    const Tensor last = last_ends(p);
    const Tensor rise = first_ends(tp) - last_ends(tp);
    const Tensor slope = divide_no_nan(rise, maximum(first - last, 0.0));
    const Tensor intercept = last_ends(tp) - slope * last;
    const Tensor ratio =
        where(logical_and(first > 0.0, last > 0.0), divide_no_nan(first, maximum(last, 0.0)), ones_like(last));
    return divide_no_nan(slope * (rise + intercept * log(ratio)), maximum(last_ends(tp) + last_ends(fn), 0.0));
  }

  Tensor over_labels(const Tensor& areas) const {
    if (!options.multi_label) return reduce_sum(areas);
    const Tensor by_label = reduce_sum(areas, 0);
    if (!options.label_weights) return reduce_mean(by_label);
    const Tensor weights = cast(constant(std::span<const double>(*options.label_weights)), by_label.dtype());
    CAPSTAN_CHECK(weights.shape() == by_label.shape(), ShapeError, "auc: there are ", weights.dim(0),
                  " label_weights for ", by_label.dim(0), " labels");
    return divide_no_nan(reduce_sum(by_label * weights), reduce_sum(weights));
  }
};

}  // namespace

AUC::AUC(const AUCOptions& options, std::string name) : Metric(make_configurable<Area>(options), std::move(name)) {}

}  // namespace metrics

const ClassInfo& detail::auc_metric() { return metrics::Area::info(); }

}  // namespace capstan
