// Adadelta: steps by the ratio of the mean squares of changes and gradients.
#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> AdadeltaOptions::fields() {
  using O = AdadeltaOptions;
  static constexpr auto all = with_optimizer_options<O>({option<&O::rho>("rho"), option<&O::epsilon>("epsilon")});
  return all;
}

namespace {

struct AdadeltaRule final : Rule<AdadeltaRule, AdadeltaOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Adadelta";
  static constexpr std::string_view kText = "Steps by the ratio of the mean squares of changes and gradients.";

  std::vector<Slot> slots(const Variable&) const override { return {{"accumulated_grad"}, {"accumulated_delta_var"}}; }

  void step(UpdateStep& s) const override {
    const Tensor g = s.gradient();
    const Tensor a = s.slot(0) * options.rho + g * g * (1 - options.rho);
    const Tensor change = sqrt(s.slot(1) + options.epsilon) * g / sqrt(a + options.epsilon);
    s.set_slot(0, a);
    s.set_slot(1, s.slot(1) * options.rho + change * change * (1 - options.rho));
    s.set_variable(s.variable() - s.rate() * change);
  }
};

}  // namespace

Adadelta::Adadelta(const AdadeltaOptions& options) : Optimizer(make_configurable<AdadeltaRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::adadelta_class() { return optimizers::AdadeltaRule::info(); }

}  // namespace capstan
