// Mean cross entropies.
#include "capstan/losses.h"
#include "capstan/ops/math.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> BinaryCrossentropyOptions::fields() {
  using O = BinaryCrossentropyOptions;
  static constexpr OptionField all[] = {option<&O::from_logits>("from_logits"),
                                        option<&O::label_smoothing>("label_smoothing"),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> CategoricalCrossentropyOptions::fields() {
  using O = CategoricalCrossentropyOptions;
  static constexpr OptionField all[] = {option<&O::from_logits>("from_logits"),
                                        option<&O::label_smoothing>("label_smoothing"), option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> SparseCategoricalCrossentropyOptions::fields() {
  using O = SparseCategoricalCrossentropyOptions;
  static constexpr OptionField all[] = {option<&O::from_logits>("from_logits"),
                                        option<&O::ignore_class>("ignore_class"), option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::MeanOf;

struct BinaryEntropy final : MeanOf<BinaryEntropy, BinaryCrossentropyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "BinaryCrossentropy";
  static constexpr std::string_view kText = "The mean cross entropy of yes-or-no labels.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::binary_crossentropy(y_true, y_pred, {options.from_logits, options.label_smoothing});
  }
};
struct CategoricalEntropy final : MeanOf<CategoricalEntropy, CategoricalCrossentropyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "CategoricalCrossentropy";
  static constexpr std::string_view kText = "The mean cross entropy of labels that are probabilities.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::categorical_crossentropy(y_true, y_pred,
                                            {options.from_logits, options.label_smoothing, options.axis});
  }
};
struct SparseEntropy final : MeanOf<SparseEntropy, SparseCategoricalCrossentropyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "SparseCategoricalCrossentropy";
  static constexpr std::string_view kText = "The mean cross entropy of labels that are class numbers.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::sparse_categorical_crossentropy(
        y_true, y_pred,
        {.from_logits = options.from_logits, .axis = options.axis, .ignore_class = options.ignore_class});
  }
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) override {
    if (!options.ignore_class || !sample_weight.has_value()) {
      return MeanOf::update_state(y_true, y_pred, sample_weight);
    }
    const Tensor weights = with_errors_of(default_name(), [&] {
      const Tensor counts = detail::counted_labels(y_true, *options.ignore_class, y_pred.rank() - 1);
      return detail::fit_weights(sample_weight, counts.rank()) * cast(counts, sample_weight.dtype());
    });
    MeanOf::update_state(y_true, y_pred, weights);
  }
};

}  // namespace

BinaryCrossentropy::BinaryCrossentropy(const BinaryCrossentropyOptions& options, std::string name)
    : Metric(make_configurable<BinaryEntropy>(options), std::move(name)) {}
CategoricalCrossentropy::CategoricalCrossentropy(const CategoricalCrossentropyOptions& options, std::string name)
    : Metric(make_configurable<CategoricalEntropy>(options), std::move(name)) {}
SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const SparseCategoricalCrossentropyOptions& options,
                                                             std::string name)
    : Metric(make_configurable<SparseEntropy>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_crossentropy_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&BinaryEntropy::info(), &CategoricalEntropy::info(), &SparseEntropy::info()});
}

}  // namespace capstan
