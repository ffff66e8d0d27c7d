#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

Tensor huber(const Tensor& y_true, const Tensor& y_pred, const HuberOptions& options) {
  return detail::formula_of("huber", y_true, y_pred, [&](const Tensor& t, const Tensor& p) {
    const Tensor error = p - t;
    const Tensor size = abs(error);
    const double delta = options.delta;
    return reduce_mean(where(size <= delta, 0.5 * square(error), delta * size - 0.5 * delta * delta), -1);
  });
}

std::span<const OptionField> HuberLossOptions::fields() {
  using O = HuberLossOptions;
  static constexpr auto all = with_loss_options<O>({option<&O::delta>("delta")});
  return all;
}

namespace {

struct HuberFormula final : LossFormula<HuberFormula, HuberLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "Huber", kText = "Squared for small, linear for large differences.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return huber(y_true, y_pred, {.delta = options.delta});
  }
};

}  // namespace

Huber::Huber(const HuberLossOptions& options, std::string_view name)
    : Loss(make_configurable<HuberFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::huber_loss() { return losses::HuberFormula::info(); }

}  // namespace capstan
