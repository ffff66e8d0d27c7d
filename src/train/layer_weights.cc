// Weights of layers: those that a class makes, and those that it is given.
#include <algorithm>

#include "capstan/layer.h"
#include "capstan/ops/array.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/train/layer_state.h"

namespace capstan {

using detail::LayerState;

Variable LayerBase::add_weight(const WeightOptions& options) {
  LayerState& state = *state_;
  CAPSTAN_CHECK(state.accepts_weights, Error, name(), ": the weight \"", options.name,
                "\" cannot be added to a layer that is ", state.is_built ? "built" : "not being built",
                help("make weights in build(), which the layer's first call runs, or in a constructor"));
  if (state.path.empty()) state.path = resolve_name();
  const CreateVariables create;
  Variable variable(options.initializer(options.shape, state.dtype),
                    {.trainable = options.trainable && state.trainable, .name = options.name});
  variable.set_path(state.path + "/" + options.name);
  set_constraint(variable, options.constraint);
  state.weights.push_back({variable, options.trainable, options.regularizer});
  detail::structure_changed();
  return variable;
}

Variable detail::add_integer_weight(LayerBase& layer, const std::string& name) {
  LayerState& state = LayerState::of(layer);
  const CreateVariables create;
  Variable variable(zeros({}, int64), {.trainable = false, .name = name});
  variable.set_path(state.path + "/" + name);
  state.weights.push_back({variable, false, {}});
  detail::structure_changed();
  return variable;
}

void LayerBase::track(const Variable& variable) {
  LayerState& state = *state_;
  const auto is_same = [&](const detail::Weight& weight) { return weight.variable == variable; };
  if (std::any_of(state.weights.begin(), state.weights.end(), is_same)) return;
  state.weights.push_back({variable, variable.trainable(), {}});
  detail::structure_changed();
}

}  // namespace capstan
