// The graph of objects in TensorFlow's checkpoints: TrackableObjectGraph, in a tensor of texts under a key of its own.
//
// A node is an object of the program that wrote the checkpoint: it has children under the names of the attributes that
// hold them, and a variable has the key of its value. TensorFlow restores along the children, not along the keys. Node
// 0 is the Checkpoint itself. An object may be the child of several, and objects may hold each other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace capstan::io {

inline constexpr const char kObjectGraphKey[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
/// What the value of a variable is called among the attributes of its node.
inline constexpr const char kVariableValue[] = "VARIABLE_VALUE";

struct TrackableAttribute {
  std::string name = kVariableValue;
  std::string full_name = {};  ///< what the variable was called where it was made
  std::string key = {};        ///< of a tensor in the checkpoint
};

struct TrackableNode {
  std::vector<std::pair<std::string, std::size_t>> children = {};  ///< nodes by name, in the order of the file
  std::vector<TrackableAttribute> attributes = {};                 ///< one, for a variable; of tables several
  bool counts = false;  ///< written only: as found by an object that is made later, though there is nothing for it
};

/// Reads a graph. Throws IoError, in the name of `reader` with the place in `file`, for what is no graph, or for a
/// child that is none of its nodes.
std::vector<TrackableNode> parse_object_graph(const std::string& reader, const std::string& file,
                                              std::string_view bytes);

/// Gives every attribute the key that TensorFlow gives it: that of the shortest path, "optimizer/_variables/2" and then
/// "/.ATTRIBUTES/VARIABLE_VALUE". Names are escaped: '/' is ".S", '.' is "..".
void set_keys(std::vector<TrackableNode>& nodes);

/// The bytes of a graph.
std::string object_graph_bytes(const std::vector<TrackableNode>& nodes);

}  // namespace capstan::io
