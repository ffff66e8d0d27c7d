// Gradient descent, with and without momentum.
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> SGDOptions::fields() {
  static constexpr auto all = with_optimizer_options<SGDOptions>(
      {option<&SGDOptions::momentum>("momentum").at_least(0).at_most(1), option<&SGDOptions::nesterov>("nesterov")});
  return all;
}

namespace {

struct SGDRule final : Rule<SGDRule, SGDOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "SGD";
  static constexpr std::string_view kText = "Gradient descent, with momentum if that is given.";

  std::vector<Slot> slots(const Variable&) const override {
    return options.momentum == 0 ? std::vector<Slot>() : std::vector<Slot>{{"momentum"}};
  }

  void step(UpdateStep& s) const override {
    const Tensor change = s.rate() * s.gradient();
    if (options.momentum == 0) return s.set_variable(s.variable() - change);
    const Tensor moved = s.slot(0) * options.momentum - change;
    s.set_slot(0, moved);
    s.set_variable(s.variable() + (options.nesterov ? moved * options.momentum - change : moved));
  }

  bool rests_without_gradient() const override { return options.momentum == 0; }
};

}  // namespace

SGD::SGD(const SGDOptions& options) : Optimizer(make_configurable<SGDRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::sgd_class() { return optimizers::SGDRule::info(); }

}  // namespace capstan
