// Layers one after the other.
#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/train/layer_state.h"

namespace capstan {

using detail::LayerState;

Sequential::Sequential() : Model("sequential", {}) {}

Sequential::Sequential(std::initializer_list<Layer> layers, const std::string& name)
    : Model("sequential", {.name = name}) {
  add_all(std::span(layers.begin(), layers.size()));
}

Sequential::Sequential(const std::vector<Layer>& layers, const std::string& name)
    : Model("sequential", {.name = name}) {
  add_all(layers);
}

void Sequential::add_all(std::span<const Layer> layers) {
  for (const Layer& layer : layers) add(layer);
  if (layers.empty()) return;
  const InputShape& input = LayerState::of(layers[0]).input_shape;
  if (!input.is_given()) return;
  Shape shape{-1};
  for (std::int64_t length : input.shape()) shape.push_back(length);
  build(shape);
}

void Sequential::add(const Layer& layer) {
  LayerState& state = LayerState::of(*this);
  CAPSTAN_CHECK(!is_built(), ValueError, "sequential: ", layer.name(), " cannot be added to ", name(),
                ", which is built");
  for (const Layer& known : state.sublayers) {
    CAPSTAN_CHECK(known.name() != layer.name(), ValueError, "sequential: ", name(), " has a layer with the name \"",
                  layer.name(), "\" already");
  }
  state.sublayers.push_back(layer);
  ++state.placed;
  LayerState::of(layer).latest_parent = state.id;
  detail::structure_changed();
}

// Runs the layers once on one example of zeros: that makes the weights of layers of any class, also of those that tell
// nobody the shape of their result.
void Sequential::build(const Shape& input_shape) {
  LayerState& state = LayerState::of(*this);
  if (state.is_built || built_here_) return;
  if (detail::CallScope::current() != nullptr && &detail::CallScope::current()->layer == &state)
    return;  // the call builds
  Shape shape = input_shape;
  CAPSTAN_CHECK(shape.rank() >= 1, ShapeError,
                "sequential: an input shape has a batch axis, but this is that of a scalar");
  if (shape[0] < 0) shape.set(0, 1);
  const DType dtype = state.sublayers.empty() ? state.compute_dtype : LayerState::of(state.sublayers[0]).compute_dtype;
  PauseObservers pause;
  (*this)(zeros(shape, dtype), {.training = false});
}

Tensor Sequential::call(const Tensor& x, const CallOptions& options) {
  // By number: a layer may be added while this runs for the first time.
  const std::vector<Layer>& layers = LayerState::of(*this).sublayers;
  Tensor y = x;
  for (std::size_t i = 0; i < layers.size(); ++i) y = layers[i](y, {.mask = options.mask});
  return y;
}

}  // namespace capstan
