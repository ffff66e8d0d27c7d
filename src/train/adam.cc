// Adam and AdamW.
#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"
#include "src/train/moments.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> AdamOptions::fields() {
  using O = AdamOptions;
  static constexpr auto all =
      with_optimizer_options<O>({option<&O::beta_1>("beta_1"), option<&O::beta_2>("beta_2"),
                                 option<&O::epsilon>("epsilon"), option<&O::amsgrad>("amsgrad")});
  return all;
}

namespace {

template <class Derived>
struct AdamBase : Rule<Derived, AdamOptions> {
  using Rule<Derived, AdamOptions>::Rule;

  std::vector<Slot> slots(const Variable&) const override {
    std::vector<Slot> slots{{"momentum"}, {"velocity"}};
    if (this->options.amsgrad) slots.push_back({.name = "velocity_hat", .in_block = true});
    return slots;
  }

  Numbers numbers(const Moment& now) const override {
    const AdamOptions& o = this->options;
    return {detail::corrected_rate(o.beta_1, o.beta_2, now)};
  }

  void step(UpdateStep& s) const override {
    const AdamOptions& o = this->options;
    const Tensor g = s.gradient();
    const Tensor m = s.slot(0) + (g - s.slot(0)) * (1 - o.beta_1);
    Tensor v = s.slot(1) + (g * g - s.slot(1)) * (1 - o.beta_2);
    s.set_slot(0, m);
    s.set_slot(1, v);
    if (o.amsgrad) {
      v = maximum(s.slot(2), v);
      s.set_slot(2, v);
    }
    s.set_variable(s.variable() - m * s.rate() / (sqrt(v) + o.epsilon));
  }
};

struct AdamRule final : AdamBase<AdamRule> {
  using AdamBase::AdamBase;
  static constexpr std::string_view kName = "Adam";
  static constexpr std::string_view kText = "Steps by the moments of the gradient, in Keras's form.";
};

AdamOptions with_weight_decay(AdamOptions options) {
  if (!options.weight_decay) options.weight_decay = 0.004;
  return options;
}

struct AdamWRule final : AdamBase<AdamWRule> {
  explicit AdamWRule(const AdamOptions& options = {}) : AdamBase(with_weight_decay(options)) {}
  static constexpr std::string_view kName = "AdamW";
  static constexpr std::string_view kText = "Adam with a weight decay of 0.004 unless given.";
};

}  // namespace

Adam::Adam(const AdamOptions& options) : Optimizer(make_configurable<AdamRule>(options)) {}
AdamW::AdamW(const AdamOptions& options) : Optimizer(make_configurable<AdamWRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::adam_class() { return optimizers::AdamRule::info(); }
const ClassInfo& detail::adam_w_class() { return optimizers::AdamWRule::info(); }

}  // namespace capstan
