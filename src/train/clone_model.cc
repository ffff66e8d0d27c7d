// Copies of models, layer by layer.
#include <algorithm>
#include <unordered_map>

#include "capstan/model_graph.h"
#include "src/core/check.h"
#include "src/train/functional.h"
#include "src/train/layer_state.h"
#include "src/train/op_layer.h"

namespace capstan {

using detail::FunctionalGraph;
using detail::LayerState;
using detail::SymbolicCall;
using detail::SymbolicValue;

namespace {

// The copies of the layers of one model.
class Copies {
 public:
  explicit Copies(const CloneFunction& function) : function_(function) {}

  const Layer& of(const Layer& layer) {
    if (detail::is_op_layer(layer)) return layer;
    const auto [place, is_new] = made_.try_emplace(&LayerState::body_of(layer));
    if (is_new) place->second = function_ ? function_(layer) : copy(layer);
    CAPSTAN_CHECK(place->second.has_value(), ValueError, "clone_model: the clone function gave no layer for ",
                  layer.name());
    return place->second;
  }

 private:
  static Layer copy(const Layer& layer) {
    return LayerState::of(layer).model != nullptr ? clone_model(Model(layer)) : layer_from(serialize(layer));
  }

  const CloneFunction& function_;
  std::unordered_map<const LayerBase*, Layer> made_;
};

Model clone_sequential(const Model& model, Copies& copies) {
  std::vector<Layer> layers;
  InputShape input_shape = LayerState::of(model).input_shape;
  if (!input_shape.is_given() && !model.layers().empty()) {
    input_shape = LayerState::of(model.layers()[0]).input_shape;
  }
  if (input_shape.is_given()) layers.push_back(layers::InputLayer(input_shape));
  for (const Layer& layer : model.layers()) layers.push_back(copies.of(layer));
  return Sequential(layers, model.name());
}

Model clone_functional(const Model& model, const FunctionalGraph& graph, Copies& copies) {
  std::unordered_map<const SymbolicCall*, std::vector<Tensor>> results;
  const auto replace = [&](Tensor& tensor) {
    const SymbolicValue* const value = detail::symbolic_value(tensor);
    if (value == nullptr) return;
    const auto found = results.find(value->call.get());
    if (found != results.end()) tensor = found->second.at(value->index);
  };
  Nest inputs = graph.inputs;
  detail::replace_tensors(inputs, [&](Tensor& tensor) {
    const SymbolicValue& value = *detail::symbolic_value(tensor);
    const Shape& shape = value.shape;
    const Shape example(std::vector<std::int64_t>(shape.begin() + 1, shape.end()));
    const std::optional<std::int64_t> batch = shape[0] < 0 ? std::nullopt : std::optional(shape[0]);
    const Tensor copy =
        Input(example, {.batch_size = batch, .dtype = tensor.dtype(), .name = value.call->layer.name()});
    std::vector<Tensor>& list = results[value.call.get()];
    list.resize(std::max(list.size(), value.index + 1));
    list[value.index] = copy;
    tensor = copy;
  });
  for (const std::shared_ptr<const SymbolicCall>& call : graph.calls) {
    Nest arguments = call->inputs;
    CallOptions options = call->options;
    detail::for_each_argument(arguments, options, replace);
    results[call.get()] = copies.of(call->layer)(arguments, options).tensors();
  }
  Nest outputs = graph.outputs;
  detail::replace_tensors(outputs, replace);
  return Model(inputs, outputs, model.name());
}

}  // namespace

Model clone_model(const Model& model, const CloneFunction& clone_function) {
  Copies copies(clone_function);
  if (const std::optional<FunctionalGraph> graph = detail::functional_graph(model)) {
    return clone_functional(model, *graph, copies);
  }
  if (model.type_name() == "Sequential") return clone_sequential(model, copies);
  return Model(layer_from(serialize(model)));
}

}  // namespace capstan
