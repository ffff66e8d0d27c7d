// The objects of a Checkpoint as Keras's and TensorFlow's would be in a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capstan/state.h"
#include "src/io/object_graph.h"

namespace capstan::detail {

struct TensorflowObjects {
  std::vector<io::TrackableNode> nodes;
  std::map<std::string, Tensor> tensors;  // by their keys in `nodes`
};

/// Objects by name; the count of saved checkpoints becomes `save_counter`. A model has its layers under the attributes
/// that Keras gives them, and a compiled one its optimizer; layers of a class of the program are under the names that
/// they were given, or of their class. An optimizer has the variables that it trains, too, so that TensorFlow finds
/// those that no attribute leads to. Errors: what State::save() throws.
TensorflowObjects tensorflow_objects(const std::vector<std::pair<std::string, State>>& objects,
                                     std::int64_t save_counter);

}  // namespace capstan::detail
