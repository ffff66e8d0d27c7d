// Where Keras keeps the weights of a model in `.weights.h5` files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capstan/layer.h"
#include "capstan/variable.h"

namespace capstan::detail {

// The weights of a model and of the layers within it, by the paths of their datasets: "layers/dense/vars/0". Layers
// that hold nothing count in the numbers of their classes, as they do in Keras. A layer in several places has the
// first.
std::vector<std::pair<std::string, Variable>> keras_weight_paths(const Layer& model);

}  // namespace capstan::detail
