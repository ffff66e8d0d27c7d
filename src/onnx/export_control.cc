// Control flow: loops over rows are Scan, choices are If. What a part reads from outside it finds there by its name.
#include <string>

#include "src/onnx/export.h"
#include "src/transforms/control_nodes.h"

namespace capstan::onnx {
namespace {

// Each output of a graph inside has a name of its own.
void add_output(const OpCall& c, GraphProto& graph, const std::string& name, DType dtype) {
  if (name.empty()) c.refuse("a result of it is a number that C++ computed from a length that is open");
  graph.outputs.push_back({.name = c.node("Identity", {name}), .type = type_number(dtype), .shape = {}});
}

void write_row_loop(OpCall& c) {
  const auto& loop = static_cast<const RowLoop&>(c.control());
  const auto& second = static_cast<const RowLoop&>(c.second_control());
  if (loop.effects) c.refuse("it makes draws or has other effects");
  GraphProto body = c.graph_of([&](GraphProto& graph) {
    std::vector<std::string> own;
    for (std::size_t i = 0; i < loop.carried + loop.sliced; ++i) {
      own.push_back(c.unused_name());
      graph.inputs.push_back({.name = own.back(), .type = type_number(c.dtype(i)), .shape = {}});
    }
    const std::vector<std::string> results = c.write_part(loop.body, second.body, own);
    for (std::size_t i = 0; i < results.size(); ++i) add_output(c, graph, results[i], loop.outputs[i].dtype);
  });
  body.name = c.op();
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < loop.carried + loop.sliced; ++i) inputs.push_back(c.in(i));
  const std::int64_t direction = loop.reverse ? 1 : 0;
  std::vector<Attribute> attributes = {
      attribute("body", std::move(body)), attribute("num_scan_inputs", static_cast<std::int64_t>(loop.sliced)),
      attribute("scan_input_directions", std::vector<std::int64_t>(loop.sliced, direction))};
  if (loop.collected > 0) {
    attributes.push_back(attribute("scan_output_directions", std::vector<std::int64_t>(loop.collected, direction)));
  }
  for (const std::string& output : c.nodes("Scan", inputs, std::move(attributes), loop.carried + loop.collected))
    c.give(output);
}

void write_cond(OpCall& c) {
  const auto& choice = static_cast<const Branches&>(c.control());
  const auto& second = static_cast<const Branches&>(c.second_control());
  if (choice.effects) c.refuse("it makes draws or has other effects");
  if (c.dtype(0) != DType::kBool || c.rank() != 0 || choice.branches.size() != 2) c.refuse("it chooses by a number");
  const auto branch = [&](std::size_t which) {
    GraphProto graph = c.graph_of([&](GraphProto& inside) {
      const std::vector<std::string> names = c.write_part(choice.branches[which], second.branches[which], {});
      for (std::size_t k = 0; k < choice.results.size(); ++k) {
        add_output(c, inside, names[choice.results[k]], choice.outputs[k].dtype);
      }
    });
    graph.name = choice.branches[which].name;
    return graph;
  };
  GraphProto then = branch(0), otherwise = branch(1);
  for (const std::string& output : c.nodes(
           "If", {c.in(0)}, {attribute("then_branch", std::move(then)), attribute("else_branch", std::move(otherwise))},
           choice.results.size()))
    c.give(output);
}

// What is computed again for a gradient is computed once.
void write_recomputed(OpCall& c) {
  const auto& node = static_cast<const Recomputed&>(c.control());
  if (node.effects) c.refuse("it makes draws or has other effects");
  for (const std::string& result :
       c.write_part(node.body, static_cast<const Recomputed&>(c.second_control()).body, {})) {
    if (result.empty()) c.refuse("a result of it is a number that C++ computed from a length that is open");
    c.give(result);
  }
}

constexpr ExportRow kRows[] = {
    {"cond", write_cond},
    {"foldl", write_row_loop},
    {"foldr", write_row_loop},
    {"map_fn", write_row_loop},
    {"recompute_grad", write_recomputed},
    {"scan", write_row_loop},
};

}  // namespace

std::span<const ExportRow> control_rows() { return kRows; }

}  // namespace capstan::onnx
