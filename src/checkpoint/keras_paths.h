// Where Keras keeps the weights of a model in `.weights.h5` files.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/layer.h"
#include "capstan/variable.h"

namespace capstan::detail {

// The weights of a model and of the layers within it, by the paths of their datasets: "layers/dense/vars/0". Layers
// that hold nothing count in the numbers of their classes, as they do in Keras. A layer in several places has the
// first; a weight that two layers hold is there twice.
//
// Keras finds the layers of a class of the user's own by the attributes that hold them. Members have no names here: a
// layer that was given a name is under it, one of such a class under that of the class, and others in a list,
// "layers", as in Keras's own models. Keras reads both from models and the first from layers; it writes an attribute
// that sorts after "layers" into the list. So `has_group`, if given, says which of the places a file has.
using HasGroup = std::function<bool(const std::string& path)>;
std::vector<std::pair<std::string, Variable>> keras_weight_paths(const Layer& model, const HasGroup& has_group = {});

}  // namespace capstan::detail
