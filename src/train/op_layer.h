// Ops between the layers of functional models that Keras wrote.
//
// In Keras an op on a value of a functional model is a part of it, in the list of layers beside them: masks are made
// so, and what a program computes between layers. Here it is a layer that calls the op of the registry, and is written
// as it was read.
#pragma once

#include <functional>
#include <string>

#include "capstan/layer.h"

namespace capstan::detail {

// Whether what is in the list of layers is an op: {"module": "keras.src.ops.numpy", "class_name": "NotEqual", ...}.
bool is_op_node(const AttributeValue& node);

// The layer of an op. The node has its name and its one call, {"args": [...], "kwargs": {...}}: the layer takes the
// values in it, in their order, as a list; numbers are part of the layer. Throws ValueError for an op that is not known
// here.
Layer op_layer(const AttributeValue& node);

// Of the layer of an op what is in the list of layers, with its one call, in which `value_of` gives what stands for
// each value.
AttributeValue op_node(const Layer& layer, const std::function<AttributeValue(std::size_t)>& value_of);
bool is_op_layer(const Layer& layer);

}  // namespace capstan::detail
