// Nadam: Adam with Nesterov's momentum.
#include <cmath>

#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> NadamOptions::fields() {
  using O = NadamOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::beta_1>("beta_1"), option<&O::beta_2>("beta_2"), option<&O::epsilon>("epsilon")});
  return all;
}

namespace {

struct NadamRule final : Rule<NadamRule, NadamOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Nadam";
  static constexpr std::string_view kText = "Adam with Nesterov's momentum.";

  std::vector<Slot> slots(const Variable&) const override { return {{"momentum"}, {"velocity"}}; }

  Numbers numbers(const Moment& now) const override {
    const double product = product_up_to(now.step);
    const double u = factor(now.step);
    const double next = factor(now.step + 1);
    return {now.learning_rate, next / (1 - product * next), (1 - u) / (1 - product),
            1 - std::pow(options.beta_2, static_cast<double>(now.step))};
  }

  void step(UpdateStep& s) const override {
    const Tensor g = s.gradient();
    const Tensor m = s.slot(0) + (g - s.slot(0)) * (1 - options.beta_1);
    const Tensor v = s.slot(1) + (g * g - s.slot(1)) * (1 - options.beta_2);
    s.set_slot(0, m);
    s.set_slot(1, v);
    const Tensor ahead = m * s.number(1) + g * s.number(2);
    s.set_variable(s.variable() - ahead * s.rate() / (sqrt(v / s.number(3)) + options.epsilon));
  }

 private:
  double factor(std::int64_t step) const {
    return options.beta_1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(step)));
  }

  // The product of the factors of all steps so far. It follows from the number of the step; the latest is kept, so that
  // a step costs one factor.
  double product_up_to(std::int64_t step) const {
    if (step < latest_) {
      latest_ = 0;
      product_ = 1;
    }
    while (latest_ < step) product_ *= factor(++latest_);
    return product_;
  }

  mutable std::int64_t latest_ = 0;
  mutable double product_ = 1;
};

}  // namespace

Nadam::Nadam(const NadamOptions& options) : Optimizer(make_configurable<NadamRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::nadam_class() { return optimizers::NadamRule::info(); }

}  // namespace capstan
