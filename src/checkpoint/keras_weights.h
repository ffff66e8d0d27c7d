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

/// The variables of an optimizer as Keras numbers them. One that scales the loss of another has four of its own, a
/// count and a rate that mean nothing, the number of good steps and the scale, and then those of the other, which are
/// `inner` as well.
struct KerasOptimizer {
  std::vector<Tensor> variables, inner = {};
};

/// Those of a file under the names that State has; nothing if there are none or the model is not compiled.
NamedTensors state_of_keras_optimizer(const KerasOptimizer& stored, const Model& model);

/// Those of a model; none if it is not compiled, or if its optimizer waits for slots that a Checkpoint restored, of
/// which it cannot say which they are.
KerasOptimizer keras_optimizer_of(const Model& model);

/// The datasets of a file, with the optimizer of a compiled model.
NamedTensors keras_weights_of(const Model& model, bool include_optimizer = true);

}  // namespace capstan::detail
