// Cross entropies of labels that are probabilities.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/train/losses/formula.h"
#include "src/train/remembered_logits.h"

namespace capstan {

namespace losses {

Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& options) {
  constexpr const char* kLoss = "categorical_crossentropy";
  return detail::formula_of(kLoss, y_true, y_pred, [&](const Tensor& given, const Tensor& p) {
    const int axis = detail::checked_axis(kLoss, p, options.axis);
    detail::check_same_shape(kLoss, given, p);
    const Tensor t = detail::smooth_labels(given, options.label_smoothing, static_cast<double>(p.dim(axis)));
    const Tensor logits = options.from_logits ? p : detail::remembered_logits(p, axis);
    if (logits.has_value()) return softmax_cross_entropy_with_logits(t, logits, axis);
    const Tensor normalized = p / reduce_sum(p, axis, {.keepdims = true});
    return -reduce_sum(t * log(detail::clip_probabilities(normalized)), axis);
  });
}

Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                      const CategoricalFocalCrossentropyOptions& options) {
  constexpr const char* kLoss = "categorical_focal_crossentropy";
  return detail::formula_of(kLoss, y_true, y_pred, [&](const Tensor& given, const Tensor& predictions) {
    const int axis = detail::checked_axis(kLoss, predictions, options.axis);
    detail::check_same_shape(kLoss, given, predictions);
    const std::int64_t classes = predictions.dim(-1);
    const std::size_t weights = options.alpha.size();
    CAPSTAN_CHECK(weights == 1 || static_cast<std::int64_t>(weights) == classes, ShapeError, kLoss, ": alpha has ",
                  weights, " weights for ", classes, " classes");
    const Tensor t = detail::smooth_labels(given, options.label_smoothing, static_cast<double>(predictions.dim(axis)));
    const Tensor probabilities = options.from_logits ? softmax(predictions, axis) : predictions;
    const Tensor p = detail::clip_probabilities(probabilities / reduce_sum(probabilities, axis, {.keepdims = true}));
    const Tensor values = pow(1 - p, options.gamma) * -(t * log(p));
    const Tensor weighted = weights == 1 ? values * options.alpha[0]
                                         : values * cast(constant(std::span<const double>(options.alpha)), p.dtype());
    return reduce_sum(weighted, axis);
  });
}

std::span<const OptionField> CategoricalFocalCrossentropyLossOptions::fields() {
  using O = CategoricalFocalCrossentropyLossOptions;
  static constexpr auto all = with_loss_options<O>(
      {option<&O::alpha>("alpha"), option<&O::gamma>("gamma"), option<&O::from_logits>("from_logits"),
       option<&O::label_smoothing>("label_smoothing"), option<&O::axis>("axis")});
  return all;
}

namespace {

struct CategoricalFormula final : LossFormula<CategoricalFormula, CrossentropyLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "CategoricalCrossentropy";
  static constexpr std::string_view kText = "Cross entropy of labels that are probabilities, such as one-hot rows.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return categorical_crossentropy(y_true, y_pred, {options.from_logits, options.label_smoothing, options.axis});
  }
};

struct CategoricalFocalFormula final : LossFormula<CategoricalFocalFormula, CategoricalFocalCrossentropyLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "CategoricalFocalCrossentropy";
  static constexpr std::string_view kText = "Cross entropy of probabilities, mostly of the badly predicted ones.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return categorical_focal_crossentropy(
        y_true, y_pred, {options.alpha, options.gamma, options.from_logits, options.label_smoothing, options.axis});
  }
};

}  // namespace

CategoricalCrossentropy::CategoricalCrossentropy(const CrossentropyLossOptions& options, std::string_view name)
    : Loss(make_configurable<CategoricalFormula>(options), name) {}
CategoricalFocalCrossentropy::CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyLossOptions& options,
                                                           std::string_view name)
    : Loss(make_configurable<CategoricalFocalFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::categorical_crossentropy_loss() { return losses::CategoricalFormula::info(); }
const ClassInfo& detail::categorical_focal_crossentropy_loss() { return losses::CategoricalFocalFormula::info(); }

}  // namespace capstan
