// Weights in `.h5` files as Keras 1 and 2 wrote them, and Keras 3 still does: whole models, and weights alone.
//
// The layers that have weights are in a list in their order, `layer_names`, and each has a list of its weights in
// their order, `weight_names`; both are attributes of groups. A model within a model is one layer. So weights are found
// by their order, whatever layers are called. A whole model has its configuration, and what compile() was given, as
// texts in attributes of the root, and the variables of the optimizer in a group.
//
// Files are written as Keras 3 does. It has no place for the shapes that classes of one's own were built for.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/checkpoint/keras_weights.h"
#include "src/io/hdf5_writer.h"

namespace capstan::detail {

/// Whether layers are called in a file as in the model, which they are if the file says what the model is.
enum class LayerNames { kAreTheModels, kAreAny };

/// What the datasets of a file are for this model, as match_keras_weights() does, without the optimizer. Throws IoError
/// in the name of `reader` for a file without such lists, with names in them that it does not have, or with other
/// layers than `layers` says.
KerasWeights match_legacy_weights(const char* reader, const std::map<std::string, Tensor>& stored,
                                  const io::Hdf5Texts& texts, const std::string& path, const Model& model,
                                  const std::vector<std::pair<std::string, Variable>>& weights, LayerNames layers);

/// The configuration of a whole model, in the form of a `.keras` archive. Throws IoError for a file without one.
AttributeValue legacy_config(const char* reader, const io::Hdf5Texts& texts, const std::string& path);

/// The optimizer of a whole model under the names that State has: nothing if there is none, or Keras 2 wrote it, whose
/// slots have another order.
NamedTensors legacy_optimizer(const std::map<std::string, Tensor>& stored, const io::Hdf5Texts& texts,
                              const Model& model);

/// What a whole model is as a file: `config` is as in a `.keras` archive. The optimizer and what compile() was given go
/// together, as in Keras.
struct LegacyModel {
  NamedTensors tensors;
  io::Hdf5Attributes attributes;
};
LegacyModel legacy_model(const Model& model, const AttributeValue& config, bool include_optimizer);

}  // namespace capstan::detail
