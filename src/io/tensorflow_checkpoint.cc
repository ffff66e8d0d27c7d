// TensorFlow's checkpoints as tensors by the paths of attributes that lead to them.
#include <algorithm>

#include "capstan/tensorflow_files.h"
#include "src/core/check.h"
#include "src/io/object_graph.h"
#include "src/io/tensor_bundle.h"

namespace capstan::io {
namespace {

// The objects that paths lead to; number 0 is the checkpoint.
std::vector<TrackableNode> objects_of(const std::map<std::string, Tensor>& tensors) {
  std::vector<TrackableNode> nodes(1);
  std::vector<std::map<std::string, std::size_t>> children(1);
  for (const auto& [path, tensor] : tensors) {
    CAPSTAN_CHECK(!path.empty() && path.find('.') == std::string::npos, ValueError,
                  "save_tensorflow_checkpoint: the name \"", path, "\" is empty or has a '.'");
    std::size_t node = 0;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string part = path.substr(begin, end - begin);
      CAPSTAN_CHECK(!part.empty(), ValueError, "save_tensorflow_checkpoint: the name \"", path, "\" has an empty part");
      CAPSTAN_CHECK(nodes[node].attributes.empty(), ValueError, "save_tensorflow_checkpoint: \"",
                    nodes[node].attributes[0].full_name, "\" is a tensor, so \"", path, "\" cannot be in it");
      const auto [child, is_new] = children[node].emplace(part, nodes.size());
      if (is_new) {
        nodes[node].children.emplace_back(part, nodes.size());
        nodes.emplace_back();
        children.emplace_back();
      }
      node = child->second;
      begin = end + 1;
    }
    nodes[node].attributes = {{.full_name = path}};
  }
  // What TensorFlow counts saved checkpoints in: `restore` asks for the object, and finds that it keeps its value;
  // `read` does not ask, and would complain of a value.
  if (!children[0].contains("save_counter")) {
    nodes[0].children.emplace_back("save_counter", nodes.size());
    nodes.push_back({.counts = true});
  }
  set_keys(nodes);
  return nodes;
}

}  // namespace

TensorflowCheckpoint load_tensorflow_checkpoint(const std::string& prefix) {
  constexpr const char* kReader = "load_tensorflow_checkpoint";
  TensorBundle bundle = read_tensor_bundle(kReader, prefix);
  TensorflowCheckpoint result{NamedArrays(prefix, kReader)};
  static_cast<std::map<std::string, Tensor>&>(result.tensors) = std::move(bundle.tensors);
  const auto graph = bundle.texts.find(kObjectGraphKey);
  if (graph != bundle.texts.end()) {
    for (const std::string& bytes : graph->second) {
      for (const TrackableNode& node : parse_object_graph(kReader, prefix + ".index", bytes)) {
        for (const TrackableAttribute& one : node.attributes) result.variable_names[one.key] = one.full_name;
      }
    }
    bundle.texts.erase(graph);
  }
  result.texts = std::move(bundle.texts);
  return result;
}

void save_tensorflow_checkpoint(const std::string& prefix, const std::map<std::string, Tensor>& tensors) {
  TensorBundle bundle;
  const std::vector<TrackableNode> nodes = objects_of(tensors);
  bundle.texts[kObjectGraphKey] = {object_graph_bytes(nodes)};
  for (const TrackableNode& node : nodes) {
    for (const TrackableAttribute& one : node.attributes) bundle.tensors.emplace(one.key, tensors.at(one.full_name));
  }
  write_tensor_bundle("save_tensorflow_checkpoint", prefix, bundle);
}

}  // namespace capstan::io
