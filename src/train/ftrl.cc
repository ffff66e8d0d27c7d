// Ftrl: "follow the regularised leader".
#include "capstan/ops/math.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> FtrlOptions::fields() {
  using O = FtrlOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::learning_rate_power>("learning_rate_power").at_most(0),
       option<&O::initial_accumulator_value>("initial_accumulator_value").at_least(0),
       option<&O::l1_regularization_strength>("l1_regularization_strength").at_least(0),
       option<&O::l2_regularization_strength>("l2_regularization_strength").at_least(0),
       option<&O::l2_shrinkage_regularization_strength>("l2_shrinkage_regularization_strength").at_least(0),
       option<&O::beta>("beta")});
  return all;
}

namespace {

struct FtrlRule final : Rule<FtrlRule, FtrlOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Ftrl";
  static constexpr std::string_view kText = "Follows the regularised leader: zero where gradients are few.";

  std::vector<Slot> slots(const Variable&) const override {
    return {{.name = "accumulator", .initial = options.initial_accumulator_value}, {"linear"}};
  }

  // Twice the strength of l2 depends on the rate.
  Numbers numbers(const Moment& now) const override {
    return {now.learning_rate, 2 * (options.l2_regularization_strength + options.beta / (2 * now.learning_rate))};
  }

  void step(UpdateStep& s) const override {
    const Tensor& w = s.variable();
    const Tensor& g = s.gradient();
    const double shrinkage = 2 * options.l2_shrinkage_regularization_strength;
    const double l1 = options.l1_regularization_strength;
    const Tensor accumulated = s.slot(0) + g * g;
    const Tensor power = powered(accumulated);
    const Tensor pull = shrinkage == 0 ? g : g + w * shrinkage;
    const Tensor linear = s.slot(1) + (pull - (power - powered(s.slot(0))) / s.rate() * w);
    const Tensor quadratic = power / s.rate() + s.number(1);
    s.set_slot(0, accumulated);
    s.set_slot(1, linear);
    s.set_variable((maximum(minimum(linear, l1), -l1) - linear) / quadratic);
  }

 private:
  Tensor powered(const Tensor& x) const {
    return options.learning_rate_power == -0.5 ? sqrt(x) : pow(x, -options.learning_rate_power);
  }
};

}  // namespace

Ftrl::Ftrl(const FtrlOptions& options) : Optimizer(make_configurable<FtrlRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::ftrl_class() { return optimizers::FtrlRule::info(); }

}  // namespace capstan
