// Losses of labels that are class numbers.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/losses/formula.h"
#include "src/train/remembered_logits.h"

namespace capstan {

namespace losses {

namespace {

void check_labels(const char* loss, const Tensor& y_true, const Tensor& y_pred, const Tensor& labels) {
  CAPSTAN_CHECK(y_pred.rank() > 0 && labels.rank() == y_pred.rank() - 1, ShapeError, loss,
                ": labels must have the shape of the predictions without the classes",
                arguments({{"y_true", y_true}, {"y_pred", y_pred}}));
}

// body(labels, predictions); errors name the loss and what it was given.
template <class Body>
Tensor of_class_numbers(const char* loss, const Tensor& y_true, const Tensor& y_pred, const Body& body) {
  try {
    return with_errors_of(loss, [&] {
      const Tensor p = detail::floating_predictions(y_pred);
      return body(detail::class_numbers(y_true, p), p);
    });
  } catch (const Error&) {
    detail::rethrow_with({"loss", loss, y_true, y_pred});
  }
}

}  // namespace

Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                       const SparseCrossentropyOptions& options) {
  constexpr const char* kLoss = "sparse_categorical_crossentropy";
  return of_class_numbers(kLoss, y_true, y_pred, [&](const Tensor& labels, const Tensor& p) {
    const int axis = detail::checked_axis(kLoss, p, options.axis);
    CAPSTAN_CHECK(axis == p.rank() - 1, ValueError, kLoss, ": the classes must be the last axis, not axis ",
                  options.axis);
    check_labels(kLoss, y_true, y_pred, labels);
    const Tensor logits = options.from_logits ? p : detail::remembered_logits(p, axis);
    Tensor counts;
    if (options.ignore_class) counts = detail::counted_labels(y_true, *options.ignore_class, labels.rank());
    // Keras takes logarithms of clipped probabilities as logits, which normalises them once more.
    const Tensor values = sparse_softmax_cross_entropy_with_logits(
        counts.has_value() ? where(counts, labels, zeros_like(labels)) : labels,
        logits.has_value() ? logits : log(detail::clip_probabilities(p)));
    return counts.has_value() ? where(counts, values, zeros_like(values)) : values;
  });
}

Tensor categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                                             const GeneralizedCrossEntropyOptions& options) {
  constexpr const char* kLoss = "categorical_generalized_cross_entropy";
  CAPSTAN_CHECK(options.q > 0 && options.q < 1, ValueError, kLoss, ": q must be between 0 and 1, not ", options.q);
  return of_class_numbers(kLoss, y_true, y_pred, [&](const Tensor& labels, const Tensor& p) {
    check_labels(kLoss, y_true, y_pred, labels);
    const Tensor right = squeeze(gather(p, expand_dims(labels, -1), -1, p.rank() - 1), -1);
    return (1 - pow(right, options.q)) / options.q;
  });
}

std::span<const OptionField> SparseCrossentropyLossOptions::fields() {
  using O = SparseCrossentropyLossOptions;
  static constexpr auto all = with_loss_options<O>(
      {option<&O::from_logits>("from_logits"), option<&O::ignore_class>("ignore_class"), option<&O::axis>("axis")});
  return all;
}

std::span<const OptionField> GeneralizedCrossEntropyLossOptions::fields() {
  using O = GeneralizedCrossEntropyLossOptions;
  static constexpr auto all = with_loss_options<O>({option<&O::q>("q").above(0).at_most(1)});
  return all;
}

namespace {

struct SparseFormula final : LossFormula<SparseFormula, SparseCrossentropyLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "SparseCategoricalCrossentropy";
  static constexpr std::string_view kText = "Cross entropy of labels that are class numbers.";

  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return sparse_categorical_crossentropy(
        y_true, y_pred,
        {.from_logits = options.from_logits, .axis = options.axis, .ignore_class = options.ignore_class});
  }

  Tensor counts(const Tensor& y_true, const Tensor&, const Tensor& values) const override {
    if (!options.ignore_class) return {};
    return detail::counted_labels(y_true, *options.ignore_class, values.rank());
  }
};

struct GeneralizedFormula final : LossFormula<GeneralizedFormula, GeneralizedCrossEntropyLossOptions> {
  static constexpr std::string_view kName = "CategoricalGeneralizedCrossEntropy";
  static constexpr std::string_view kText = "A loss of class numbers that trusts labels less than a cross entropy.";
  explicit GeneralizedFormula(const GeneralizedCrossEntropyLossOptions& given) : LossFormula(given) {
    CAPSTAN_CHECK(options.q < 1, ValueError, kName, ": option \"q\" must be less than 1, not ", options.q);
  }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return categorical_generalized_cross_entropy(y_true, y_pred, {.q = options.q});
  }
};

}  // namespace

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const SparseCrossentropyLossOptions& options,
                                                             std::string_view name)
    : Loss(make_configurable<SparseFormula>(options), name) {}
CategoricalGeneralizedCrossEntropy::CategoricalGeneralizedCrossEntropy(
    const GeneralizedCrossEntropyLossOptions& options, std::string_view name)
    : Loss(make_configurable<GeneralizedFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::sparse_categorical_crossentropy_loss() { return losses::SparseFormula::info(); }
const ClassInfo& detail::generalized_cross_entropy_loss() { return losses::GeneralizedFormula::info(); }

}  // namespace capstan
