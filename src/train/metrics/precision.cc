#include <limits>

#include "capstan/ops/math.h"
#include "src/train/metrics/mean.h"
#include "src/train/metrics/positives.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> PrecisionOptions::fields() {
  using O = PrecisionOptions;
  static constexpr OptionField all[] = {
      option<&O::thresholds>("thresholds").at_least(0).at_most(1), option<&O::top_k>("top_k").at_least(1),
      option<&O::class_id>("class_id").at_least(0), option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::Count;

// True positives among them and the wrong ones of a kind.
template <class Derived, Count wrong>
struct RightOf : Configured<Derived, detail::PositivesBody, PrecisionOptions> {
  explicit RightOf(const PrecisionOptions& given = {})
      : Configured<Derived, detail::PositivesBody, PrecisionOptions>(given) {
    const double threshold = given.top_k ? -std::numeric_limits<double>::infinity() : 0.5;
    this->set_up({.thresholds = given.thresholds.value_or(std::vector{threshold}),
                  .top_k = given.top_k,
                  .class_id = given.class_id},
                 {{Count::kTruePositives, "true_positives"},
                  {wrong, wrong == Count::kFalsePositives ? "false_positives" : "false_negatives"}},
                 given.dtype);
    this->make_state({});
  }
  Tensor result() const override {
    const Tensor right = this->kept(0);
    return this->as_result(divide_no_nan(right, right + this->kept(1)));
  }
};

struct PrecisionBody final : RightOf<PrecisionBody, Count::kFalsePositives> {
  using RightOf::RightOf;
  static constexpr std::string_view kName = "Precision";
  static constexpr std::string_view kText = "How many of what is predicted as positive are positives.";
};
struct RecallBody final : RightOf<RecallBody, Count::kFalseNegatives> {
  using RightOf::RightOf;
  static constexpr std::string_view kName = "Recall", kText = "How many of the positives are predicted as such.";
};

}  // namespace

Precision::Precision(const PrecisionOptions& options, std::string name)
    : Metric(make_configurable<PrecisionBody>(options), std::move(name)) {}
Recall::Recall(const PrecisionOptions& options, std::string name)
    : Metric(make_configurable<RecallBody>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_precision_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&PrecisionBody::info(), &RecallBody::info()});
}

}  // namespace capstan
