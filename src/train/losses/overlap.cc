// Losses of regions: one minus how much what is labelled and what is predicted overlap.
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

namespace {

constexpr double kEpsilon = 1e-7;

Axes axes_of(const std::optional<std::vector<int>>& axis) { return axis ? Axes(*axis) : Axes(); }

}  // namespace

Tensor dice(const Tensor& y_true, const Tensor& y_pred, const DiceOptions& options) {
  return detail::formula_of("dice", y_true, y_pred, [&](const Tensor& t, const Tensor& p) {
    detail::check_same_shape("dice", t, p);
    const Axes axes = axes_of(options.axis);
    return 1 - 2 * reduce_sum(t * p, axes) / (reduce_sum(t, axes) + reduce_sum(p, axes) + kEpsilon);
  });
}

Tensor tversky(const Tensor& y_true, const Tensor& y_pred, const TverskyOptions& options) {
  return detail::formula_of("tversky", y_true, y_pred, [&](const Tensor& t, const Tensor& p) {
    detail::check_same_shape("tversky", t, p);
    const Axes axes = axes_of(options.axis);
    const Tensor both = reduce_sum(t * p, axes);
    const Tensor too_much = reduce_sum((1 - t) * p, axes);
    const Tensor too_little = reduce_sum(t * (1 - p), axes);
    return 1 - both / (both + options.alpha * too_much + options.beta * too_little + kEpsilon);
  });
}

std::span<const OptionField> DiceLossOptions::fields() {
  using O = DiceLossOptions;
  static constexpr auto all = with_loss_options<O>({option<&O::axis>("axis")});
  return all;
}

std::span<const OptionField> TverskyLossOptions::fields() {
  using O = TverskyLossOptions;
  static constexpr auto all =
      with_loss_options<O>({option<&O::alpha>("alpha"), option<&O::beta>("beta"), option<&O::axis>("axis")});
  return all;
}

namespace {

struct DiceFormula final : LossFormula<DiceFormula, DiceLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "Dice", kText = "How little labelled and predicted regions overlap.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return dice(y_true, y_pred, {.axis = options.axis});
  }
};

struct TverskyFormula final : LossFormula<TverskyFormula, TverskyLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "Tversky";
  static constexpr std::string_view kText = "How little regions overlap, with weights for both kinds of mistakes.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return tversky(y_true, y_pred, {options.alpha, options.beta, options.axis});
  }
};

}  // namespace

Dice::Dice(const DiceLossOptions& options, std::string_view name)
    : Loss(make_configurable<DiceFormula>(options), name) {}
Tversky::Tversky(const TverskyLossOptions& options, std::string_view name)
    : Loss(make_configurable<TverskyFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::dice_loss() { return losses::DiceFormula::info(); }
const ClassInfo& detail::tversky_loss() { return losses::TverskyFormula::info(); }

}  // namespace capstan
