#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "src/core/backend.h"
#include "src/graph/graph.h"

namespace capstan {

namespace {

std::string element_bytes(const Tensor& constant) {
  return std::string(static_cast<const char*>(constant.raw_data()), size_of(constant.dtype()));
}

}  // namespace

void merge_duplicates(Graph& graph) {
  // What stands for each value from now on.
  std::vector<Graph::Value> instead(graph.values.size());
  std::iota(instead.begin(), instead.end(), 0);

  std::map<std::tuple<DType, std::vector<std::int64_t>, std::string>, Graph::Value> constants;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Graph::ValueInfo& info = graph.values[i];
    // Some stand for a shape alone and have no elements.
    if (!info.constant.has_value() || info.constant.size() != 1 || host_elements(info.constant) == nullptr) continue;
    const std::vector<std::int64_t> dims(info.shape.begin(), info.shape.end());
    const auto value = static_cast<Graph::Value>(i);
    instead[i] = constants.emplace(std::tuple(info.dtype, dims, element_bytes(info.constant)), value).first->second;
  }

  const auto replace = [&](Graph::Value& value) {
    if (value != Graph::kNone) value = instead[static_cast<std::size_t>(value)];
  };
  // Attributes are compared by their bytes: different padding keeps equal ops apart, which is merely a missed chance.
  std::map<std::pair<const OpDef*, std::vector<Graph::Value>>, std::vector<const Graph::Node*>> seen;
  std::vector<Graph::Node> kept;
  kept.reserve(graph.nodes.size());  // so that pointers into it stay valid
  for (Graph::Node& node : graph.nodes) {
    for (Graph::Value& input : node.inputs) replace(input);
    const Graph::Node* twin = nullptr;
    std::vector<const Graph::Node*>& same_inputs = seen[{node.op, node.inputs}];
    for (const Graph::Node* other : same_inputs) {
      const std::size_t bytes = node.op->attributes == nullptr ? 0 : node.op->attributes->size;
      const bool equal = std::memcmp(node.attributes, other->attributes, bytes) == 0;
      if (equal && node.rerun == other->rerun && !node.has_effect()) twin = other;
    }
    if (twin == nullptr) {
      kept.push_back(std::move(node));
      same_inputs.push_back(&kept.back());
      continue;
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      instead[static_cast<std::size_t>(node.outputs[k])] = twin->outputs[k];
    }
  }
  graph.nodes = std::move(kept);
  for (Graph::Value& result : graph.results) replace(result);
  for (Graph::Captured& captured : graph.captured) replace(captured.written);
}

}  // namespace capstan
