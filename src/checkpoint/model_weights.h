// Weights of a file that become those of a model.
#pragma once

#include <string>

#include "src/checkpoint/keras_weights.h"

namespace capstan::detail {

/// Takes over the weights of a file, and the optimizer if both have one: Model::load_weights() in the name of `what`.
/// Throws ValueError, before anything is changed, for weights that are missing, left over or different, unless
/// `skip_mismatch`; `remedy` is for its text.
void take_weights(const char* what, const std::string& path, const Model& model, KerasWeights file, bool skip_mismatch,
                  const std::string& remedy);

}  // namespace capstan::detail
