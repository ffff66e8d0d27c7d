// A graph as a list of named nodes.
#include <map>
#include <set>
#include <string>

#include "src/graph/graph.h"

namespace capstan {

namespace {

// Names that no other node has: "add", "add_1", "add_2".
class Names {
 public:
  std::string next(const std::string& wish) {
    std::string name = wish;
    // A wish may look like a name with a number, so there may be such a name already.
    for (int& count = counts_[wish]; !taken_.insert(name).second;) name = wish + "_" + std::to_string(++count);
    return name;
  }

 private:
  std::map<std::string, int> counts_;
  std::set<std::string> taken_;
};

std::string type_text(const Graph::ValueInfo& info) {
  return std::string(name_of(info.dtype)) + info.shape.to_string();
}

}  // namespace

std::vector<GraphNode> to_nodes(const Graph& graph) {
  std::vector<GraphNode> nodes;
  Names names;
  std::map<Graph::Value, std::string> name_of_value;
  const auto info = [&](Graph::Value value) -> const Graph::ValueInfo& {
    return graph.values[static_cast<std::size_t>(value)];
  };
  const auto add_source = [&](const std::string& wish, const char* op, Graph::Value value) {
    nodes.push_back({names.next(wish), op, {}, {type_text(info(value))}});
    name_of_value[value] = nodes.back().name;
  };
  const auto inputs_of = [&](const auto& values) {
    std::vector<std::string> inputs;
    for (const Graph::Value value : values) {
      if (value == Graph::kNone) continue;
      if (!name_of_value.contains(value)) add_source("constant", "constant", value);
      inputs.push_back(name_of_value.at(value));
    }
    return inputs;
  };
  for (const Graph::Value argument : graph.arguments) add_source("argument", "argument", argument);
  for (const Graph::Captured& captured : graph.captured) {
    const std::string& path = captured.variable.path();
    add_source(path.empty() ? "variable" : path, "variable", captured.value);
  }
  for (const Graph::Node& node : graph.nodes) {
    GraphNode named{{}, std::string(node.op->name), inputs_of(node.inputs), {}};
    named.name = names.next(named.op);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      named.outputs.push_back(type_text(info(node.outputs[i])));
      name_of_value[node.outputs[i]] = named.name + (i == 0 ? "" : ":" + std::to_string(i));
    }
    nodes.push_back(std::move(named));
  }
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written == Graph::kNone) continue;
    std::vector<std::string> inputs = inputs_of(std::vector{captured.written});
    const std::string& path = captured.variable.path();
    nodes.push_back({names.next((path.empty() ? "variable" : path) + "/write"), "write", std::move(inputs), {}});
  }
  if (std::vector<std::string> inputs = inputs_of(graph.results); !inputs.empty()) {
    nodes.push_back({names.next("return"), "return", std::move(inputs), {}});
  }
  return nodes;
}

}  // namespace capstan
