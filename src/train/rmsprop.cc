// RMSprop: steps by the root of the mean square of the gradient.
#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> RMSpropOptions::fields() {
  using O = RMSpropOptions;
  static constexpr auto all =
      with_optimizer_options<O>({option<&O::rho>("rho"), option<&O::momentum>("momentum"),
                                 option<&O::epsilon>("epsilon"), option<&O::centered>("centered")});
  return all;
}

namespace {

struct RMSpropRule final : Rule<RMSpropRule, RMSpropOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "RMSprop";
  static constexpr std::string_view kText = "Divides by the root of the mean square of the gradient.";

  std::vector<Slot> slots(const Variable&) const override {
    std::vector<Slot> slots{{.name = "velocity", .in_block = true}};
    if (options.momentum > 0) slots.push_back({.name = "momentum", .in_block = true});
    if (options.centered) slots.push_back({.name = "average_gradient", .in_block = true});
    return slots;
  }

  void step(UpdateStep& s) const override {
    const Tensor g = s.gradient();
    const Tensor v = s.slot(0) * options.rho + g * g * (1 - options.rho);
    s.set_slot(0, v);
    Tensor square = v + options.epsilon;
    if (options.centered) {
      const std::size_t last = options.momentum > 0 ? 2 : 1;
      const Tensor mean = s.slot(last) * options.rho + g * (1 - options.rho);
      s.set_slot(last, mean);
      square = v - mean * mean + options.epsilon;
    }
    Tensor change = s.rate() * g / sqrt(square);
    if (options.momentum > 0) {
      change = s.slot(1) * options.momentum + change;
      s.set_slot(1, change);
    }
    s.set_variable(s.variable() - change);
  }
};

}  // namespace

RMSprop::RMSprop(const RMSpropOptions& options) : Optimizer(make_configurable<RMSpropRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::rmsprop_class() { return optimizers::RMSpropRule::info(); }

}  // namespace capstan
