// Configurations of models: how Keras describes a Sequential and a functional model, and models made of that.
//
// A layer is in the list of its model as serialize() writes it. A functional model says in addition what each layer
// is called on: a value is the name of a layer, which of its calls, counted from 0 within the model, and which of the
// tensors that the call gave. So the order of the list does not matter, and layers that are used several times are in
// it once.
#pragma once

#include "capstan/config.h"
#include "capstan/models.h"

namespace capstan::detail {

struct LayerState;

// Rows of the table of classes.
const ClassInfo& sequential_class();
const ClassInfo& functional_class();

// What Model::get_config() gives for the two.
AttributeValue sequential_config(const Layer& model);
AttributeValue functional_config(const Layer& model);

// The shape of the input of one example of a Sequential: its own, or that of the layer that it starts with, which may
// be a Sequential as well.
const InputShape& sequential_input(const LayerState& model);

}  // namespace capstan::detail
