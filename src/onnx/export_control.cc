// Control flow: loops over rows are Scan, loops until a condition fails are Loop, choices are If. What a part reads
// from outside it finds there by its name.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/onnx/export.h"
#include "src/transforms/control_nodes.h"

namespace capstan::onnx {
namespace {

void refuse_unknown(const OpCall& c, const std::string& name) {
  if (name.empty()) c.refuse("a result of it is a number that C++ computed from a length that is open");
}

// Each output of a graph inside has a name of its own.
void add_output(const OpCall& c, GraphProto& graph, const std::string& name, DType dtype) {
  refuse_unknown(c, name);
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

// The condition is asked before the first iteration, and at the end of each for the next one.
void write_while_loop(OpCall& c) {
  const auto& loop = static_cast<const WhileLoop&>(c.control());
  const auto& second = static_cast<const WhileLoop&>(c.second_control());
  if (loop.effects) c.refuse("it makes draws or has other effects");
  const auto goes_on = [&](std::span<const std::string> variables) {
    return c.write_part(loop.condition, second.condition, variables)[0];
  };
  std::vector<std::string> inputs = {loop.limit < 0 ? "" : c.scalar(static_cast<double>(loop.limit), DType::kInt64),
                                     goes_on({})};
  if (inputs[1].empty()) c.refuse("its condition is a number that C++ computed from a length that is open");
  for (std::size_t i = 0; i < loop.count; ++i) inputs.push_back(c.in(i));
  GraphProto body = c.graph_of([&](GraphProto& graph) {
    using Lengths = std::optional<std::vector<std::int64_t>>;
    const auto add_input = [&](DType dtype, const Lengths& shape) {
      graph.inputs.push_back({.name = c.unused_name(), .type = type_number(dtype), .shape = shape});
      return graph.inputs.back().name;
    };
    // The number of the iteration and the condition. onnxruntime has to know that they are scalars.
    add_input(DType::kInt64, Lengths(std::in_place));
    add_input(DType::kBool, Lengths(std::in_place));
    std::vector<std::string> own;
    for (std::size_t i = 0; i < loop.count; ++i) own.push_back(add_input(c.dtype(i), {}));
    const std::vector<std::string> next = c.write_part(loop.body, second.body, own);
    for (const std::string& variable : next) refuse_unknown(c, variable);
    add_output(c, graph, goes_on(next), DType::kBool);
    for (std::size_t i = 0; i < loop.count; ++i) add_output(c, graph, next[i], loop.outputs[i].dtype);
  });
  body.name = c.op();
  for (const std::string& output : c.nodes("Loop", inputs, {attribute("body", std::move(body))}, loop.count))
    c.give(output);
}

// A choice among branches.
class Choice {
 public:
  explicit Choice(const OpCall& c)
      : c_(c),
        first_(static_cast<const Branches&>(c.control())),
        second_(static_cast<const Branches&>(c.second_control())) {
    if (first_.effects) c.refuse("it makes draws or has other effects");
  }

  // One If, with graphs of its own for both branches.
  std::vector<std::string> choose(const std::string& condition, GraphProto then, GraphProto otherwise) const {
    return c_.nodes("If", {condition},
                    {attribute("then_branch", std::move(then)), attribute("else_branch", std::move(otherwise))},
                    first_.results.size());
  }
  GraphProto branch(std::size_t which) const {
    return graph_of(which, [&] { return results(which); });
  }
  // By a number, among the branches from this one on; the last one is that of all other numbers.
  std::vector<std::string> choose_from(std::size_t from, const std::string& number) const {
    if (from + 1 == first_.branches.size()) return results(from);
    const std::string is_first = c_.node("Equal", {number, c_.scalar(static_cast<double>(from), c_.dtype(0))});
    GraphProto then = branch(from);
    GraphProto otherwise = graph_of(from + 1, [&] { return choose_from(from + 1, number); });
    return choose(is_first, std::move(then), std::move(otherwise));
  }

 private:
  std::vector<std::string> results(std::size_t which) const {
    const std::vector<std::string> all = c_.write_part(first_.branches[which], second_.branches[which], {});
    std::vector<std::string> names;
    for (const std::size_t result : first_.results) names.push_back(all[result]);
    return names;
  }
  template <class Write>
  GraphProto graph_of(std::size_t which, const Write& write) const {
    GraphProto graph = c_.graph_of([&](GraphProto& inside) {
      const std::vector<std::string> names = write();
      for (std::size_t k = 0; k < names.size(); ++k) add_output(c_, inside, names[k], first_.outputs[k].dtype);
    });
    graph.name = first_.branches[which].name;
    return graph;
  }

  const OpCall& c_;
  const Branches& first_;
  const Branches& second_;
};

void write_cond(OpCall& c) {
  const Choice choice(c);
  GraphProto then = choice.branch(0), otherwise = choice.branch(1);
  for (const std::string& output : choice.choose(c.in(0), std::move(then), std::move(otherwise))) c.give(output);
}

void write_switch_case(OpCall& c) {
  for (const std::string& result : Choice(c).choose_from(0, c.in(0))) {
    refuse_unknown(c, result);
    c.give(result);
  }
}

// What is computed again for a gradient is computed once.
void write_recomputed(OpCall& c) {
  const auto& node = static_cast<const Recomputed&>(c.control());
  if (node.effects) c.refuse("it makes draws or has other effects");
  for (const std::string& result :
       c.write_part(node.body, static_cast<const Recomputed&>(c.second_control()).body, {})) {
    refuse_unknown(c, result);
    c.give(result);
  }
}

constexpr ExportRow kControlRows[] = {
    {"cond", write_cond},
    {"foldl", write_row_loop},
    {"foldr", write_row_loop},
    {"map_fn", write_row_loop},
    {"recompute_grad", write_recomputed},
    {"scan", write_row_loop},
    {"switch_case", write_switch_case},
    {"while_loop", write_while_loop},
};

}  // namespace

std::span<const ExportRow> control_rows() { return kControlRows; }

}  // namespace capstan::onnx
