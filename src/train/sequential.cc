// Layers one after the other.
#include <algorithm>
#include <string_view>

#include "capstan/models.h"
#include "src/core/check.h"
#include "src/train/fit_ranks.h"
#include "src/train/layer_state.h"
#include "src/train/model_config.h"
#include "src/train/remembered_lookup.h"
#include "src/train/trainer.h"

namespace capstan {

using detail::LayerState;

namespace {

// The same for any number of examples.
Shape with_batch(const InputShape& input) {
  Shape shape{-1};
  for (const std::int64_t length : input.shape()) shape.push_back(length);
  return shape;
}

class SequentialBody final : public ModelBody {
 public:
  explicit SequentialBody(const std::string& name) : ModelBody("Sequential", {.name = name}) { passes_masks(); }
  const ClassInfo& class_info() const override { return detail::sequential_class(); }

 protected:
  AttributeValue get_config() const override { return detail::sequential_config(LayerBase::self()); }
  Tensor call(const Tensor& x, const CallOptions& options) override {
    const LayerState& state = LayerState::of(*this);
    if (state.sublayers.empty()) return x;
    const InputShape& due = detail::sequential_input(state);
    if (due.is_given() && x.rank() != due.shape().rank() + 1) [[unlikely]] {
      const Tensor fitting = detail::fit_input(x, with_batch(due));
      if (fitting.rank() != x.rank()) return call(fitting, options);
    }
    // Options are large, so none are made where there is nothing but what all layers get.
    const bool is_plain = !options.mask.has_value() && !options.initial_state.has_value() &&
                          !options.attention_mask.has_value() && !options.use_causal_mask &&
                          !options.return_attention_scores;
    if (is_plain) return call_all(x, options, options);
    // The mask that was given is that of the input; what layers give carries its own.
    return call_all(x, {.training = options.training, .mask = options.mask}, {.training = options.training});
  }

 private:
  Tensor call_all(const Tensor& x, const CallOptions& first, const CallOptions& others) {
    // By number: a layer may be added while this runs for the first time.
    const std::vector<Layer>& layers = LayerState::of(*this).sublayers;
    detail::CallScope& scope = *detail::CallScope::current();
    const auto call_next = [&](std::size_t i, const Tensor& in, const CallOptions& how) {
      detail::give_to_one_layer(scope, i + 1 < layers.size() ? &layers[i + 1] : nullptr);
      return layers[i](in, how);
    };
    Tensor y = call_next(0, x, first);
    for (std::size_t i = 1; i < layers.size(); ++i) y = call_next(i, y, others);
    return y;
  }
};

// Whether `part` is `layer` or somewhere below it.
bool contains(const Layer& layer, const LayerState& part) {
  const LayerState& state = LayerState::of(layer);
  return &state == &part || std::any_of(state.sublayers.begin(), state.sublayers.end(),
                                        [&](const Layer& sublayer) { return contains(sublayer, part); });
}

void build_if_known(const Sequential& model) {
  const InputShape& input = detail::sequential_input(LayerState::of(model));
  if (input.is_given()) model.build(with_batch(input));
}

void add_all(const Sequential& model, std::span<const Layer> layers) {
  for (const Layer& layer : layers) model.add(layer);
  build_if_known(model);
}

void remove_last(LayerState& state) {
  state.members.erase(LayerState::of(state.sublayers.back()).id);
  state.sublayers.pop_back();
  --state.placed;
}

// What was known of the model with other layers.
void layers_changed(const Sequential& model) {
  LayerState& state = LayerState::of(model);
  state.is_built = false;
  state.output_shapes.clear();
  Trainer::state(model).forget_traces();
  detail::structure_changed();
}

}  // namespace

const InputShape& detail::sequential_input(const LayerState& model) {
  const LayerState* part = &model;
  while (!part->input_shape.is_given() && !part->sublayers.empty()) {
    if (part != &model && part->type_name != std::string_view("Sequential")) break;
    part = &LayerState::of(part->sublayers[0]);
  }
  return part->input_shape;
}

Sequential::Sequential() : Sequential(std::initializer_list<Layer>()) {}

Sequential::Sequential(std::initializer_list<Layer> layers, const std::string& name)
    : Model(make_configurable<SequentialBody>(name)) {
  add_all(*this, std::span(layers.begin(), layers.size()));
}

Sequential::Sequential(const std::vector<Layer>& layers, const std::string& name)
    : Model(make_configurable<SequentialBody>(name)) {
  add_all(*this, layers);
}

void Sequential::add(const Layer& layer) const {
  LayerState& state = LayerState::of(*this);
  if (layer.type_name() == "InputLayer" && state.sublayers.empty()) {
    CAPSTAN_CHECK(!state.input_shape.is_given(), ValueError, "sequential: ", name(), " has an input of shape ",
                  state.input_shape.shape(), " already");
    state.input_shape = LayerState::of(layer).input_shape;
    return;
  }
  CAPSTAN_CHECK(!contains(layer, state), ValueError, "sequential: ", layer.name(), " cannot be added to ", name(),
                ", which it contains");
  for (const Layer& known : state.sublayers) {
    const bool is_same = &LayerState::of(known) == &LayerState::of(layer);
    CAPSTAN_CHECK(is_same || known.name() != layer.name(), ValueError, "sequential: ", name(),
                  " has a layer with the name \"", layer.name(), "\" already");
  }
  const bool was_built = is_built();
  state.sublayers.push_back(layer);
  ++state.placed;
  LayerState::of(layer).latest_parent = state.id;
  layers_changed(*this);
  if (!was_built) return;
  try {
    build_if_known(*this);
  } catch (...) {
    remove_last(state);
    layers_changed(*this);
    state.is_built = true;
    throw;
  }
}

Layer Sequential::pop() const {
  LayerState& state = LayerState::of(*this);
  CAPSTAN_CHECK(state.sublayers.size() > 1, IndexError, "pop: ", name(), " has ", state.sublayers.size(),
                " layers, and keeps one");
  const bool was_built = is_built();
  const Layer last = state.sublayers.back();
  remove_last(state);
  layers_changed(*this);
  if (was_built) build_if_known(*this);
  return last;
}

}  // namespace capstan
