// LossScaleOptimizer: another optimizer with a scale of the loss that looks for the largest that is safe.
//
// It is a state of its own with the other's inside; what asks for rates, slots or hooks is sent on to that one. The
// scale and the count of finite updates are variables, so in a traced function they are part of the program, and the
// update is the branch of a cond(): counters of the host, such as that of the schedule, are not touched by an update
// that is left out.
#include <limits>

#include "capstan/control_flow.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/optimizers.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/row_sparse.h"
#include "src/train/classes.h"
#include "src/train/layer_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {
namespace optimizers {
namespace {

constexpr double kLeast = std::numeric_limits<float>::min(), kMost = 0x1p127;

// An option that is an optimizer.
struct InnerOptimizer {
  std::optional<Optimizer> optimizer;
};

void set_field(InnerOptimizer& field, const AttributeValue& value, std::string_view, std::string_view) {
  field.optimizer = get(value);
}

AttributeValue get_field(const InnerOptimizer& field) {
  return field.optimizer ? optimizers::serialize(*field.optimizer) : AttributeValue();
}

struct LossScaleOptions : LossScaleOptimizerOptions {
  InnerOptimizer inner_optimizer;
  static std::span<const OptionField> fields() {
    using O = LossScaleOptions;
    static constexpr OptionField all[] = {option<&O::inner_optimizer>("inner_optimizer", true),
                                          option<&O::initial_scale, O>("initial_scale").at_least(kLeast).at_most(kMost),
                                          option<&O::dynamic_growth_steps, O>("dynamic_growth_steps").at_least(1)};
    return all;
  }
};

struct LossScaleRule final : Configured<LossScaleRule, UpdateRule, LossScaleOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "LossScaleOptimizer";
  static constexpr std::string_view kText = "Another optimizer, for scaled losses; finds the scale.";

  void step(UpdateStep&) const override {}  // the other optimizer makes the updates
  OptimizerOptions common_options() const override { return {}; }
};

LossScaleOptions with_inner(const Optimizer& inner, const LossScaleOptimizerOptions& options) {
  LossScaleOptions all;
  static_cast<LossScaleOptimizerOptions&>(all) = options;
  all.inner_optimizer.optimizer = inner;
  return all;
}

}  // namespace

LossScaleOptimizer::LossScaleOptimizer(const Optimizer& inner_optimizer, const LossScaleOptimizerOptions& options)
    : Optimizer(make_configurable<LossScaleRule>(with_inner(inner_optimizer, options))) {}

}  // namespace optimizers

using detail::LossScaling;
using detail::OptimizerState;

std::unique_ptr<LossScaling> OptimizerState::make_scaling() const {
  const auto* const scale_rule = dynamic_cast<const optimizers::LossScaleRule*>(rule.get());
  if (scale_rule == nullptr) return nullptr;
  const auto& options = scale_rule->options;
  auto scaling = std::make_unique<LossScaling>();
  scaling->inner = options.inner_optimizer.optimizer->state_;
  scaling->growth_steps = options.dynamic_growth_steps;
  CAPSTAN_CHECK(!scaling->inner->settings.loss_scale_factor && scaling->inner->scaling() == nullptr, ValueError,
                "LossScaleOptimizer: the optimizer ", scaling->inner->name, " scales losses itself");
  const CreateVariables create;
  const auto variable = [&](const char* slot_name, const Tensor& first) {
    Variable made(first, {.trainable = false, .name = slot_name});
    made.set_path(name + "/" + slot_name);
    return made;
  };
  scaling->good_steps = variable("step_counter", zeros({}, int64));
  scaling->scale = variable("dynamic_scale", scalar(options.initial_scale, float32));
  return scaling;
}

void OptimizerState::apply_scaled(std::span<const Tensor> gradients, std::span<const Variable> variables) {
  const LossScaling& s = *scaling_;
  Tensor finite;
  std::vector<Tensor> unscaled;
  const Tensor scale = s.scale.value();
  for (const Tensor& gradient : gradients) {
    unscaled.push_back(gradient);
    if (!gradient.has_value()) continue;
    const Tensor here = reduce_all(is_finite(gradient.to_dense()));
    finite = finite.has_value() ? logical_and(finite, here) : here;
    unscaled.back() = on_values(gradient, [&](const Tensor& x) { return x / cast(scale, x.dtype()); });
  }
  // Without gradients the other optimizer says what is wrong.
  if (!finite.has_value()) return s.inner->apply(gradients, variables);
  cond(
      finite,
      [&] {
        s.inner->apply(unscaled, variables);
        const Tensor steps = s.good_steps + 1;
        const Tensor grows = steps >= s.growth_steps;
        s.good_steps.assign(where(grows, zeros_like(steps), steps));
        s.scale.assign(where(grows, minimum(scale * 2, optimizers::kMost), scale));
      },
      [&] {
        s.good_steps.assign(zeros({}, int64));
        s.scale.assign(maximum(scale * 0.5, optimizers::kLeast));
      });
}

const ClassInfo& detail::loss_scale_optimizer_class() { return optimizers::LossScaleRule::info(); }

}  // namespace capstan
