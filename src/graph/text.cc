#include <sstream>

#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/graph/control.h"
#include "src/graph/graph.h"
#include "src/graph/known.h"

namespace capstan {

namespace {

// Small constants are shown, large ones by their shape.
std::string constant_text(const Tensor& constant) {
  if (constant.size() != 1 || host_elements(constant) == nullptr || is_complex(constant.dtype())) return "constant";
  std::ostringstream text;
  text << constant.item<double>();
  return text.str();
}

std::string value_text(const Graph& graph, Graph::Value value) {
  if (value == Graph::kNone) return "none";
  const Graph::ValueInfo& info = graph.values[static_cast<std::size_t>(value)];
  return info.constant.has_value() ? constant_text(info.constant) + ":" + std::string(name_of(info.dtype))
                                   : "%" + std::to_string(value);
}

std::string type_text(const Graph& graph, Graph::Value value) {
  const Graph::ValueInfo& info = graph.values[static_cast<std::size_t>(value)];
  return std::string(name_of(info.dtype)) + info.shape.to_string();
}

std::string attribute_text(const Graph::Node& node) {
  std::string text;
  if (node.op->attributes == nullptr || node.renew) return text;
  if (const Control* control = control_of(*node.op, node.attributes)) {
    return control->details().empty() ? "" : ", " + control->details();
  }
  for (int i = 0; i < node.op->attributes->field_count; ++i) {
    const AttributeField& field = node.op->attributes->fields[i];
    text += ", " + std::string(field.name) + "=" + field.get(node.attributes).to_string();
  }
  return text;
}

template <class Values>
std::string list_of(const Values& values, const auto& text_of) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + text_of(value);
  return text;
}

std::string captured_name(const Graph::Captured& captured) {
  return captured.variable.path().empty() ? "variable" : captured.variable.path();
}

void write_graph(const Graph& graph, const std::string& indent, std::string& text) {
  const auto value = [&](Graph::Value v) { return value_text(graph, v); };
  const auto line = [&](const std::string& content) { text += indent + content + "\n"; };
  for (const Graph::Value argument : graph.arguments) {
    line(value(argument) + " = argument " + type_text(graph, argument));
  }
  for (const Graph::Captured& captured : graph.captured) {
    line(value(captured.value) + " = read " + captured_name(captured) + " " + type_text(graph, captured.value));
  }
  for (const Graph::Node& node : graph.nodes) {
    std::string types;
    for (const Graph::Value output : node.outputs) types += " " + type_text(graph, output);
    line(list_of(node.outputs, value) + " = " + std::string(node.op->name) + "(" + list_of(node.inputs, value) +
         attribute_text(node) + ")" + types +
         (node.group == Graph::kNone ? "" : " in loop " + std::to_string(node.group)) +
         (node.rerun == 0  ? ""
          : node.rerun < 0 ? " again"
                           : " in rerun " + std::to_string(node.rerun)));
    const Control* control = control_of(*node.op, node.attributes);
    if (control == nullptr) continue;
    for (const Subgraph* part : control->parts()) {
      Graph bound = part->graph;
      bind_known(bound);
      const std::size_t inputs = node.inputs.size();
      const auto taken = [&](std::size_t slot) {
        return slot < inputs ? value(node.inputs[slot]) : "cotangent " + std::to_string(slot - inputs);
      };
      std::vector<std::size_t> slots;
      part->for_each_program_slot([&](std::size_t slot) { slots.push_back(slot); });
      line("  " + part->name + "(" + list_of(slots, taken) + "):");
      write_graph(bound, indent + "    ", text);
    }
  }
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written != Graph::kNone) line("write " + captured_name(captured) + " " + value(captured.written));
  }
  line("return " + list_of(graph.results, value));
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  write_graph(graph, "", text);
  return text;
}

std::string to_dot(const Graph& graph) {
  std::ostringstream dot;
  dot << "digraph function {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const auto name = [](Graph::Value value) { return "v" + std::to_string(value); };
  const auto edges = [&](const std::vector<Graph::Value>& from, const std::string& to) {
    for (const Graph::Value value : from) {
      if (value != Graph::kNone && !graph.values[static_cast<std::size_t>(value)].constant.has_value()) {
        dot << "  " << name(value) << " -> " << to << ";\n";
      }
    }
  };
  const auto box = [&](const std::string& id, const std::string& label) {
    dot << "  " << id << " [label=\"" << label << "\"];\n";
  };
  for (const Graph::Value argument : graph.arguments) {
    box(name(argument), "argument\\n" + type_text(graph, argument));
  }
  for (const Graph::Captured& captured : graph.captured) {
    box(name(captured.value), "variable\\n" + type_text(graph, captured.value));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Graph::Node& node = graph.nodes[i];
    const std::string id = node.outputs.empty() ? "n" + std::to_string(i) : name(node.outputs[0]);
    box(id, std::string(node.op->name) + (node.outputs.empty() ? "" : "\\n" + type_text(graph, node.outputs[0])));
    edges(node.inputs, id);
    for (std::size_t k = 1; k < node.outputs.size(); ++k) {
      box(name(node.outputs[k]), type_text(graph, node.outputs[k]));
      dot << "  " << id << " -> " << name(node.outputs[k]) << ";\n";
    }
  }
  for (std::size_t i = 0; i < graph.captured.size(); ++i) {
    if (graph.captured[i].written == Graph::kNone) continue;
    box("w" + std::to_string(i), "write");
    edges({graph.captured[i].written}, "w" + std::to_string(i));
  }
  box("result", "return");
  edges(graph.results, "result");
  return dot.str() + "}\n";
}

}  // namespace capstan
