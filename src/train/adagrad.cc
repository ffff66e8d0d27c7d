// Adagrad: each element has a rate of its own, which only falls.
#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> AdagradOptions::fields() {
  using O = AdagradOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::initial_accumulator_value>("initial_accumulator_value").at_least(0), option<&O::epsilon>("epsilon")});
  return all;
}

namespace {

struct AdagradRule final : Rule<AdagradRule, AdagradOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Adagrad";
  static constexpr std::string_view kText = "Divides by the root of the sum of the squares of all gradients.";

  std::vector<Slot> slots(const Variable&) const override {
    return {{.name = "accumulator", .initial = options.initial_accumulator_value}};
  }

  void step(UpdateStep& s) const override {
    const Tensor a = s.slot(0) + s.gradient() * s.gradient();
    s.set_slot(0, a);
    s.set_variable(s.variable() - s.rate() * s.gradient() / sqrt(a + options.epsilon));
  }

  bool rests_without_gradient() const override { return true; }
};

}  // namespace

Adagrad::Adagrad(const AdagradOptions& options) : Optimizer(make_configurable<AdagradRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::adagrad_class() { return optimizers::AdagradRule::info(); }

}  // namespace capstan
