// Mean cross entropies.
#include "capstan/losses.h"
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
  static constexpr OptionField all[] = {option<&O::from_logits>("from_logits"), option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::MeanOf;

struct Binary final : MeanOf<Binary, BinaryCrossentropyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "BinaryCrossentropy";
  static constexpr std::string_view kText = "The mean cross entropy of yes-or-no labels.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::binary_crossentropy(y_true, y_pred, {options.from_logits, options.label_smoothing});
  }
};
struct Categorical final : MeanOf<Categorical, CategoricalCrossentropyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "CategoricalCrossentropy";
  static constexpr std::string_view kText = "The mean cross entropy of labels that are probabilities.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::categorical_crossentropy(y_true, y_pred,
                                            {options.from_logits, options.label_smoothing, options.axis});
  }
};
struct Sparse final : MeanOf<Sparse, SparseCategoricalCrossentropyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "SparseCategoricalCrossentropy";
  static constexpr std::string_view kText = "The mean cross entropy of labels that are class numbers.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return losses::sparse_categorical_crossentropy(y_true, y_pred, {options.from_logits, options.axis});
  }
};

}  // namespace

BinaryCrossentropy::BinaryCrossentropy(const BinaryCrossentropyOptions& options, std::string name)
    : Metric(std::make_shared<Binary>(options), std::move(name)) {}
CategoricalCrossentropy::CategoricalCrossentropy(const CategoricalCrossentropyOptions& options, std::string name)
    : Metric(std::make_shared<Categorical>(options), std::move(name)) {}
SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const SparseCategoricalCrossentropyOptions& options,
                                                             std::string name)
    : Metric(std::make_shared<Sparse>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_crossentropy_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&Binary::info(), &Categorical::info(), &Sparse::info()});
}

}  // namespace capstan
