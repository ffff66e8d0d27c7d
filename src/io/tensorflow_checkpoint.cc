// The graph of objects in TensorFlow's checkpoints: TrackableObjectGraph, under a key of its own.
//
// A node has children by name and, if it is a variable, the key of its value. TensorFlow restores along the children,
// not along the keys.
#include <optional>

#include "capstan/tensorflow_files.h"
#include "src/core/check.h"
#include "src/io/tensor_bundle.h"
#include "src/io/wire.h"

namespace capstan::io {
namespace {

using wire::Field;
using wire::Kind;
using wire::Message;

constexpr const char* kGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr const char* kValue = "VARIABLE_VALUE";
constexpr const char* kValueKey = "/.ATTRIBUTES/VARIABLE_VALUE";

// SerializedTensor: name, full_name, checkpoint_key.
void read_attribute(Message message, std::map<std::string, std::string>& names) {
  std::string name, key;
  while (const std::optional<Field> field = message.next()) {
    if (field->number != 2 && field->number != 3) continue;
    message.expect(*field, Kind::kBytes);
    (field->number == 2 ? name : key) = field->bytes;
  }
  names[key] = name;
}

// Nodes, and in them attributes.
std::map<std::string, std::string> variable_names(const std::string& file, const std::string& bytes) {
  std::map<std::string, std::string> names;
  Message graph("load_tensorflow_checkpoint", file, bytes);
  while (const std::optional<Field> node = graph.next()) {
    if (node->number != 1) continue;
    Message message = graph.inside(*node);
    while (const std::optional<Field> field = message.next()) {
      if (field->number == 2) read_attribute(message.inside(*field), names);
    }
  }
  return names;
}

// An object: its children by name, or a variable.
struct Node {
  std::map<std::string, std::size_t> children = {};
  std::string variable = {};  // its path
};

// The objects that paths lead to; number 0 is the checkpoint.
std::vector<Node> objects_of(const std::map<std::string, Tensor>& tensors) {
  std::vector<Node> nodes(1);
  for (const auto& [path, tensor] : tensors) {
    CAPSTAN_CHECK(!path.empty() && path.find('.') == std::string::npos, ValueError,
                  "save_tensorflow_checkpoint: the name \"", path, "\" is empty or has a '.'");
    std::size_t node = 0;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string part = path.substr(begin, end - begin);
      CAPSTAN_CHECK(!part.empty(), ValueError, "save_tensorflow_checkpoint: the name \"", path, "\" has an empty part");
      CAPSTAN_CHECK(nodes[node].variable.empty(), ValueError, "save_tensorflow_checkpoint: \"", nodes[node].variable,
                    "\" is a tensor, so \"", path, "\" cannot be in it");
      const auto [child, is_new] = nodes[node].children.emplace(part, nodes.size());
      node = child->second;
      if (is_new) nodes.emplace_back();
      begin = end + 1;
    }
    nodes[node].variable = path;
  }
  return nodes;
}

std::string graph_message(const std::vector<Node>& nodes) {
  wire::Writer graph;
  for (const Node& node : nodes) {
    wire::Writer message;
    for (const auto& [name, number] : node.children) {
      wire::Writer child;
      child.varint(1, number);
      child.bytes(2, name);
      message.bytes(1, child.text());
    }
    if (!node.variable.empty()) {
      wire::Writer attribute;
      attribute.bytes(1, kValue);
      attribute.bytes(2, node.variable);
      attribute.bytes(3, node.variable + kValueKey);
      message.bytes(2, attribute.text());
    }
    graph.bytes(1, message.text());
  }
  return graph.take();
}

}  // namespace

TensorflowCheckpoint load_tensorflow_checkpoint(const std::string& prefix) {
  constexpr const char* kReader = "load_tensorflow_checkpoint";
  TensorBundle bundle = read_tensor_bundle(kReader, prefix);
  TensorflowCheckpoint result{NamedArrays(prefix, kReader)};
  static_cast<std::map<std::string, Tensor>&>(result.tensors) = std::move(bundle.tensors);
  const auto graph = bundle.texts.find(kGraphKey);
  if (graph != bundle.texts.end()) {
    for (const std::string& bytes : graph->second) result.variable_names = variable_names(prefix + ".index", bytes);
    bundle.texts.erase(graph);
  }
  result.texts = std::move(bundle.texts);
  return result;
}

void save_tensorflow_checkpoint(const std::string& prefix, const std::map<std::string, Tensor>& tensors) {
  TensorBundle bundle;
  bundle.texts[kGraphKey] = {graph_message(objects_of(tensors))};
  for (const auto& [path, tensor] : tensors) bundle.tensors.emplace(path + kValueKey, tensor);
  write_tensor_bundle("save_tensorflow_checkpoint", prefix, bundle);
}

}  // namespace capstan::io
