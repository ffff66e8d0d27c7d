// The best of one rate among the thresholds where another is good enough.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/metrics/mean.h"
#include "src/train/metrics/positives.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> SensitivityAtSpecificityOptions::fields() {
  using O = SensitivityAtSpecificityOptions;
  static constexpr OptionField all[] = {option<&O::specificity>("specificity", true).at_least(0).at_most(1),
                                        option<&O::num_thresholds>("num_thresholds").at_least(1),
                                        option<&O::class_id>("class_id").at_least(0),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> SpecificityAtSensitivityOptions::fields() {
  using O = SpecificityAtSensitivityOptions;
  static constexpr OptionField all[] = {option<&O::sensitivity>("sensitivity", true).at_least(0).at_most(1),
                                        option<&O::num_thresholds>("num_thresholds").at_least(1),
                                        option<&O::class_id>("class_id").at_least(0),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> PrecisionAtRecallOptions::fields() {
  using O = PrecisionAtRecallOptions;
  static constexpr OptionField all[] = {option<&O::recall>("recall", true).at_least(0).at_most(1),
                                        option<&O::num_thresholds>("num_thresholds").at_least(1),
                                        option<&O::class_id>("class_id").at_least(0),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> RecallAtPrecisionOptions::fields() {
  using O = RecallAtPrecisionOptions;
  static constexpr OptionField all[] = {option<&O::precision>("precision", true).at_least(0).at_most(1),
                                        option<&O::num_thresholds>("num_thresholds").at_least(1),
                                        option<&O::class_id>("class_id").at_least(0),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::Count;

class AllCounts : public detail::PositivesBody {
 protected:
  void set_up_all(std::int64_t num_thresholds, std::optional<std::int64_t> class_id, std::optional<DType> dtype) {
    set_up({.thresholds = num_thresholds == 1 ? std::vector{0.5} : detail::even_thresholds(num_thresholds),
            .class_id = class_id,
            .is_curve = true},
           {{Count::kTruePositives, "true_positives"},
            {Count::kFalsePositives, "false_positives"},
            {Count::kTrueNegatives, "true_negatives"},
            {Count::kFalseNegatives, "false_negatives"}},
           dtype);
    make_state({});
  }
  Tensor sensitivity() const { return divide_no_nan(kept(0), kept(0) + kept(3)); }
  Tensor specificity() const { return divide_no_nan(kept(2), kept(2) + kept(1)); }
  Tensor precision() const { return divide_no_nan(kept(0), kept(0) + kept(1)); }
  // The largest rate where the other is at least `least`; rates are not negative, so 0 stands for none.
  static Tensor best(const Tensor& rate, const Tensor& other, double least) {
    return reduce_max(where(other >= least, rate, zeros_like(rate)));
  }
};

template <class Derived, class Options>
struct Point : Configured<Derived, AllCounts, Options> {
  explicit Point(const Options& given = {}) : Configured<Derived, AllCounts, Options>(given) {
    this->set_up_all(given.num_thresholds, given.class_id, given.dtype);
  }
};

struct BestSensitivity final : Point<BestSensitivity, SensitivityAtSpecificityOptions> {
  using Point::Point;
  static constexpr std::string_view kName = "SensitivityAtSpecificity";
  static constexpr std::string_view kText = "The best sensitivity where the specificity is at least that given.";
  Tensor result() const override { return best(sensitivity(), specificity(), options.specificity); }
};
struct BestSpecificity final : Point<BestSpecificity, SpecificityAtSensitivityOptions> {
  using Point::Point;
  static constexpr std::string_view kName = "SpecificityAtSensitivity";
  static constexpr std::string_view kText = "The best specificity where the sensitivity is at least that given.";
  Tensor result() const override { return best(specificity(), sensitivity(), options.sensitivity); }
};
struct BestPrecision final : Point<BestPrecision, PrecisionAtRecallOptions> {
  using Point::Point;
  static constexpr std::string_view kName = "PrecisionAtRecall";
  static constexpr std::string_view kText = "The best precision where the recall is at least that given.";
  Tensor result() const override { return best(precision(), sensitivity(), options.recall); }
};
struct BestRecall final : Point<BestRecall, RecallAtPrecisionOptions> {
  using Point::Point;
  static constexpr std::string_view kName = "RecallAtPrecision";
  static constexpr std::string_view kText = "The best recall where the precision is at least that given.";
  Tensor result() const override { return best(sensitivity(), precision(), options.precision); }
};

}  // namespace

SensitivityAtSpecificity::SensitivityAtSpecificity(const SensitivityAtSpecificityOptions& options, std::string name)
    : Metric(make_configurable<BestSensitivity>(options), std::move(name)) {}
SpecificityAtSensitivity::SpecificityAtSensitivity(const SpecificityAtSensitivityOptions& options, std::string name)
    : Metric(make_configurable<BestSpecificity>(options), std::move(name)) {}
PrecisionAtRecall::PrecisionAtRecall(const PrecisionAtRecallOptions& options, std::string name)
    : Metric(make_configurable<BestPrecision>(options), std::move(name)) {}
RecallAtPrecision::RecallAtPrecision(const RecallAtPrecisionOptions& options, std::string name)
    : Metric(make_configurable<BestRecall>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_operating_point_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(),
              {&BestSensitivity::info(), &BestSpecificity::info(), &BestPrecision::info(), &BestRecall::info()});
}

}  // namespace capstan
