// Cross entropies of independent yes-or-no labels.
#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/train/losses/formula.h"
#include "src/train/remembered_logits.h"

namespace capstan {

namespace losses {

namespace {

// One value per element. `probabilities` becomes what the predictions stand for, if asked for.
Tensor elementwise(const Tensor& t, const Tensor& p, bool from_logits, Tensor* probabilities) {
  const Tensor logits = from_logits ? p : detail::remembered_logits(p, detail::kSigmoidAxis);
  if (probabilities != nullptr) *probabilities = from_logits ? sigmoid(p) : p;
  if (logits.has_value()) return sigmoid_cross_entropy_with_logits(t, logits);
  const Tensor clipped = detail::clip_probabilities(p);
  return -(t * log(clipped) + (1 - t) * log(1 - clipped));
}

}  // namespace

Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& options) {
  constexpr const char* kLoss = "binary_crossentropy";
  return detail::formula_of(kLoss, y_true, y_pred, [&](const Tensor& given, const Tensor& p) {
    detail::check_same_shape(kLoss, given, p);
    const int axis = detail::checked_axis(kLoss, p, options.axis);
    const Tensor t = detail::smooth_labels(given, options.label_smoothing, 2);
    return reduce_mean(elementwise(t, p, options.from_logits, nullptr), axis);
  });
}

Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                 const BinaryFocalCrossentropyOptions& options) {
  constexpr const char* kLoss = "binary_focal_crossentropy";
  return detail::formula_of(kLoss, y_true, y_pred, [&](const Tensor& given, const Tensor& predictions) {
    detail::check_same_shape(kLoss, given, predictions);
    const int axis = detail::checked_axis(kLoss, predictions, options.axis);
    const Tensor t = detail::smooth_labels(given, options.label_smoothing, 2);
    Tensor p;
    const Tensor entropy = elementwise(t, predictions, options.from_logits, &p);
    const Tensor right = t * p + (1 - t) * (1 - p);
    Tensor values = pow(1 - right, options.gamma) * entropy;
    if (options.apply_class_balancing) values = (t * options.alpha + (1 - t) * (1 - options.alpha)) * values;
    return reduce_mean(values, axis);
  });
}

std::span<const OptionField> CrossentropyLossOptions::fields() {
  using O = CrossentropyLossOptions;
  static constexpr auto all =
      with_loss_options<O>({option<&O::from_logits>("from_logits"), option<&O::label_smoothing>("label_smoothing"),
                            option<&O::axis>("axis")});
  return all;
}

std::span<const OptionField> BinaryFocalCrossentropyLossOptions::fields() {
  using O = BinaryFocalCrossentropyLossOptions;
  static constexpr auto all =
      with_loss_options<O>({option<&O::apply_class_balancing>("apply_class_balancing"), option<&O::alpha>("alpha"),
                            option<&O::gamma>("gamma"), option<&O::from_logits>("from_logits"),
                            option<&O::label_smoothing>("label_smoothing"), option<&O::axis>("axis")});
  return all;
}

namespace {

struct BinaryFormula final : LossFormula<BinaryFormula, CrossentropyLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "BinaryCrossentropy";
  static constexpr std::string_view kText = "Cross entropy of independent yes-or-no labels.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return binary_crossentropy(y_true, y_pred, {options.from_logits, options.label_smoothing, options.axis});
  }
};

struct BinaryFocalFormula final : LossFormula<BinaryFocalFormula, BinaryFocalCrossentropyLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "BinaryFocalCrossentropy";
  static constexpr std::string_view kText = "Cross entropy of yes-or-no labels, mostly of the badly predicted ones.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return binary_focal_crossentropy(y_true, y_pred,
                                     {options.apply_class_balancing, options.alpha, options.gamma, options.from_logits,
                                      options.label_smoothing, options.axis});
  }
};

}  // namespace

BinaryCrossentropy::BinaryCrossentropy(const CrossentropyLossOptions& options, std::string_view name)
    : Loss(make_configurable<BinaryFormula>(options), name) {}
BinaryFocalCrossentropy::BinaryFocalCrossentropy(const BinaryFocalCrossentropyLossOptions& options,
                                                 std::string_view name)
    : Loss(make_configurable<BinaryFocalFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::binary_crossentropy_loss() { return losses::BinaryFormula::info(); }
const ClassInfo& detail::binary_focal_crossentropy_loss() { return losses::BinaryFocalFormula::info(); }

}  // namespace capstan
