#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capstan/graph_nodes.h"
#include "capstan/models.h"

namespace capstan {

/// Makes the copy of a layer of a model that clone_model() copies.
using CloneFunction = std::function<Layer(const Layer& layer)>;

/// A model of the same layers in the same places, with weights of its own, which are drawn anew: a Sequential, a
/// functional model, or one of a registered class with a configuration. `clone_function` makes each layer's copy;
/// unless given, a layer is made from its configuration, and a model inside is cloned. A layer that is used several
/// times stays one layer. The copy is not compiled. Errors: ValueError for a layer without a configuration, such as a
/// Lambda, unless `clone_function` copies it.
///
///     Sequential model({layers::Dense(4, {.activation = "relu", .input_shape = {3}}), layers::Dense(1)});
///     Model copy = clone_model(model);
///     copy.set_weights(model.get_weights());
CAPSTAN_EXPORT Model clone_model(const Model& model, const CloneFunction& clone_function = {});

/// The layers of a Sequential or functional model, and in their place those of models inside of it, whose names group
/// them: "inner/dense". Any other model is one node. A layer that is used several times is one node with the inputs of
/// all its uses.
///
///     for (const GraphNode& node : model_nodes(model)) std::puts((node.name + ": " + node.op).c_str());
CAPSTAN_EXPORT std::vector<GraphNode> model_nodes(const Model& model);

/// Options of model_to_dot and model_to_svg.
struct ModelGraphOptions {
  bool show_shapes = false;       ///< of what each layer gives
  bool show_layer_names = false;  ///< beside the classes
  std::string rankdir = "TB";     ///< from top to bottom, or "LR", from left to right
  bool expand_nested = false;     ///< models inside are shown as their layers
};
/// The layers of a Sequential or functional model as a graph, as Graphviz's text; any other model is one node. Errors:
/// ValueError for another direction.
///
///     std::string text = model_to_dot(model, {.show_shapes = true});   // digraph model { ...
CAPSTAN_EXPORT std::string model_to_dot(const Model& model, const ModelGraphOptions& options = {});
/// The same as an SVG image, which io::save_text writes to a file: Keras's plot_model. Errors: as model_to_dot.
///
///     std::string image = model_to_svg(model, {.show_shapes = true, .show_layer_names = true});
CAPSTAN_EXPORT std::string model_to_svg(const Model& model, const ModelGraphOptions& options = {});

}  // namespace capstan
