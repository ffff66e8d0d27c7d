// Lamb: Adam with steps as long as the variables say.
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> LambOptions::fields() {
  using O = LambOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::beta_1>("beta_1"), option<&O::beta_2>("beta_2"), option<&O::epsilon>("epsilon")});
  return all;
}

namespace {

struct LambRule final : Rule<LambRule, LambOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Lamb";
  static constexpr std::string_view kText = "Adam whose steps are as long as the norms of the variables say.";

  std::vector<Slot> slots(const Variable&) const override { return {{"momentum"}, {"velocity"}}; }

  Numbers numbers(const Moment& now) const override {
    const auto t = static_cast<double>(now.step);
    return {now.learning_rate, 1 - std::pow(options.beta_1, t), 1 - std::pow(options.beta_2, t)};
  }

  void step(UpdateStep& s) const override {
    const Tensor& w = s.variable();
    const Tensor& g = s.gradient();
    const Tensor m = s.slot(0) + (g - s.slot(0)) * (1 - options.beta_1);
    const Tensor v = s.slot(1) + (g * g - s.slot(1)) * (1 - options.beta_2);
    s.set_slot(0, m);
    s.set_slot(1, v);
    const Tensor change = m / s.number(1) / (sqrt(v / s.number(2)) + options.epsilon);
    const Tensor length = sqrt(reduce_sum(w * w));
    const Tensor given = sqrt(reduce_sum(change * change));
    const Tensor one = ones_like(length);
    const Tensor ratio = where(length > 0, where(given > 0, length / given, one), one);
    s.set_variable(w - ratio * s.rate() * change);
  }
};

}  // namespace

Lamb::Lamb(const LambOptions& options) : Optimizer(make_configurable<LambRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::lamb_class() { return optimizers::LambRule::info(); }

}  // namespace capstan
