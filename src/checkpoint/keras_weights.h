// Weights of models in files as Keras writes them: `.weights.h5`.
#pragma once

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

/// Reads a file for this model; `weights` are named_weights() of it. Throws IoError.
KerasWeights load_keras_weights(const std::string& path, const Model& model,
                                const std::vector<std::pair<std::string, Variable>>& weights);

/// Writes a file, with the optimizer of a compiled model. Throws ValueError for weights that such a file has no form
/// for, IoError.
void save_keras_weights(const std::string& path, const Model& model);

}  // namespace capstan::detail
