// What a checkpoint of TensorFlow has for the objects of a Checkpoint.
//
// As in TensorFlow, objects are found along the attributes that lead to them, not by keys. Two things are found
// otherwise, because Keras's own names for them say less than their order: the layers of a Sequential or functional
// model are those of its `_operations` that have weights, in their order, so that operations of masks do not count; and
// in a class of the program, whose members have no names in C++, what was not given the name of an attribute is what
// no name was found for, in its order, if both are as many. What still has no place is looked for among the variables
// that an optimizer trains.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capstan/state.h"
#include "src/io/object_graph.h"
#include "src/io/tensor_bundle.h"

namespace capstan::detail {

struct MatchedObjects {
  NamedTensors tensors = {};                // by the names that a Checkpoint has
  std::vector<std::string> left_over = {};  // lines of a StateDifference, with keys of the file
  bool has_any = false;                     // whether an object has taken something
};

/// `bundle` is the checkpoint of this graph. Throws IoError, in the name of `reader`, for a graph that names tensors
/// which are not there.
MatchedObjects match_tensorflow_objects(const std::string& reader, const std::string& prefix,
                                        const std::vector<io::TrackableNode>& nodes, const io::TensorBundle& bundle,
                                        const std::vector<std::pair<std::string, State>>& objects);

}  // namespace capstan::detail
