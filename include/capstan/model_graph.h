#pragma once

#include <functional>

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

}  // namespace capstan
