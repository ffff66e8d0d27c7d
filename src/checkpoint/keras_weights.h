// Weights of models in files as Keras writes them: `.weights.h5`.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capstan/io.h"
#include "capstan/models.h"
#include "capstan/optimizers.h"
#include "capstan/state.h"

namespace capstan::detail {

/// What such a file holds.
struct KerasWeights {
  io::NamedArrays weights;      // by the names that `weights` of the model have here; others keep theirs
  NamedTensors optimizer = {};  // by the names that State has, if the file has an optimizer's
};

/// What the datasets of a file are for this model; `weights` are named_weights() of it, `path` is for errors.
KerasWeights match_keras_weights(std::map<std::string, Tensor> stored, const std::string& path, const Model& model,
                                 const std::vector<std::pair<std::string, Variable>>& weights);

/// Takes the optimizer out of the datasets of a file, under the names that State has; nothing if a model is not
/// compiled.
NamedTensors take_keras_optimizer(std::map<std::string, Tensor>& stored, const Model& model);

/// The datasets of a file, with the optimizer of a compiled model.
NamedTensors keras_weights_of(const Model& model, bool include_optimizer = true);

}  // namespace capstan::detail
