// Lion: steps by the sign of the momentum.
#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> LionOptions::fields() {
  using O = LionOptions;
  static constexpr auto all =
      with_optimizer_options<O>({option<&O::beta_1>("beta_1").above(0).at_most(1), option<&O::beta_2>("beta_2")});
  return all;
}

namespace {

struct LionRule final : Rule<LionRule, LionOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Lion";
  static constexpr std::string_view kText = "Steps by the sign of the momentum.";

  std::vector<Slot> slots(const Variable&) const override { return {{"momentum"}}; }

  void step(UpdateStep& s) const override {
    const Tensor& m = s.slot(0);
    const Tensor& g = s.gradient();
    s.set_variable(s.variable() - s.rate() * sign(m * options.beta_1 + g * (1 - options.beta_1)));
    s.set_slot(0, m * options.beta_2 + g * (1 - options.beta_2));
  }
};

}  // namespace

Lion::Lion(const LionOptions& options) : Optimizer(make_configurable<LionRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::lion_class() { return optimizers::LionRule::info(); }

}  // namespace capstan
