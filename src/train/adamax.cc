// Adamax: Adam with the largest gradient instead of the second moment.
#include <cmath>

#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> AdamaxOptions::fields() {
  using O = AdamaxOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::beta_1>("beta_1"), option<&O::beta_2>("beta_2"), option<&O::epsilon>("epsilon")});
  return all;
}

namespace {

struct AdamaxRule final : Rule<AdamaxRule, AdamaxOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Adamax";
  static constexpr std::string_view kText = "Adam with the largest gradient instead of the second moment.";

  std::vector<Slot> slots(const Variable&) const override { return {{"momentum"}, {"norm"}}; }

  Numbers numbers(const Moment& now) const override {
    return {now.learning_rate, 1 - std::pow(options.beta_1, static_cast<double>(now.step))};
  }

  void step(UpdateStep& s) const override {
    const Tensor m = s.slot(0) + (s.gradient() - s.slot(0)) * (1 - options.beta_1);
    const Tensor u = maximum(s.slot(1) * options.beta_2, abs(s.gradient()));
    s.set_slot(0, m);
    s.set_slot(1, u);
    s.set_variable(s.variable() - s.rate() * m / (s.number(1) * (u + options.epsilon)));
  }
};

}  // namespace

Adamax::Adamax(const AdamaxOptions& options) : Optimizer(make_configurable<AdamaxRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::adamax_class() { return optimizers::AdamaxRule::info(); }

}  // namespace capstan
