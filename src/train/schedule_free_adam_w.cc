// ScheduleFreeAdamW: Adam whose variables lie between its own sequence and the mean of that sequence.
#include <algorithm>
#include <cmath>

#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> ScheduleFreeAdamWOptions::fields() {
  using O = ScheduleFreeAdamWOptions;
  static constexpr auto all =
      with_optimizer_options<O>({option<&O::beta_1>("beta_1").above(0).at_most(1), option<&O::beta_2>("beta_2"),
                                 option<&O::epsilon>("epsilon"), option<&O::warmup_steps>("warmup_steps").at_least(0)});
  return all;
}

namespace {

struct ScheduleFreeAdamWRule final : Rule<ScheduleFreeAdamWRule, ScheduleFreeAdamWOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "ScheduleFreeAdamW";
  static constexpr std::string_view kText = "Adam with a running mean of its steps instead of a schedule.";

  std::vector<Slot> slots(const Variable&) const override {
    return {{.name = "momentum", .is_copy = true}, {"velocity"}};
  }

  Numbers numbers(const Moment& now) const override {
    const auto t = static_cast<double>(now.step);
    const double part = options.warmup_steps == 0 ? 1 : std::min(1.0, t / options.warmup_steps);
    return {now.learning_rate * part, 1 - std::pow(options.beta_2, t), 1 / t};
  }

  void step(UpdateStep& s) const override {
    const double rest = 1 - options.beta_1;
    const Tensor& g = s.gradient();
    const Tensor v = s.slot(1) + (g * g - s.slot(1)) * (1 - options.beta_2);
    const Tensor z = s.slot(0) - s.rate() * g / (sqrt(v / s.number(1)) + options.epsilon);
    const Tensor x = (s.variable() - s.slot(0) * rest) / options.beta_1;
    const Tensor mean = x * (1 - s.number(2)) + z * s.number(2);
    s.set_slot(0, z);
    s.set_slot(1, v);
    s.set_variable(z * rest + mean * options.beta_1);
  }
};

}  // namespace

ScheduleFreeAdamW::ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options)
    : Optimizer(make_configurable<ScheduleFreeAdamWRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::schedule_free_adam_w_class() { return optimizers::ScheduleFreeAdamWRule::info(); }

}  // namespace capstan
