#include "src/graph/units.h"

#include <algorithm>

#include "src/graph/loops.h"

namespace capstan {

namespace {

using Value = Graph::Value;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int32_t index(std::size_t i) { return static_cast<std::int32_t>(i); }

}  // namespace

void add_once(std::vector<Value>& values, Value value) {
  if (!is_among(values, value)) values.push_back(value);
}

Units::Units(const Graph& graph)
    : maker(graph.values.size(), kNobody),
      inside(graph.values.size(), true),
      leaves(graph.values.size()),
      bytes(graph.values.size()),
      written_by(graph.values.size(), kNobody) {
  find_units(graph);
  find_operands(graph);
  find_bytes(graph);
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written != Graph::kNone) written_by[at(captured.value)] = maker[at(captured.written)];
  }
}

void Units::find_units(const Graph& graph) {
  const std::vector<Graph::Node>& nodes = graph.nodes;
  for (std::size_t i = 0; i < nodes.size();) {
    const bool is_loop = nodes[i].group != Graph::kNone;
    const std::size_t end = graph.end_of_unit(i);
    bool follows = is_loop && !units.empty() && units.back().last - units.back().first == 1 &&
                   has_flag(*nodes[i - 1].op, kFinishesRows);
    follows =
        follows && std::any_of(nodes.begin() + index(i), nodes.begin() + index(end),
                               [&](const Graph::Node& node) { return is_among(node.inputs, nodes[i - 1].outputs[0]); });
    if (!follows) units.push_back({.first = i, .last = end, .operands = {}, .outputs = {}});
    Unit& unit = units.back();
    unit.last = end;
    unit.makes_outputs = has_flag(*nodes[i].op, kReturnsViews);
    unit.overwrites = !follows && (is_loop || nodes[i].op->kernel == nullptr);
    for (std::size_t n = i; n < end; ++n) {
      for (const Value output : nodes[n].outputs) maker[at(output)] = index(units.size()) - 1;
    }
    i = end;
  }
}

void Units::find_operands(const Graph& graph) {
  graph.for_each_result([&](Value value) { inside[at(value)] = false; });
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (std::size_t n = units[u].first; n < units[u].last; ++n) {
      for (const Value input : graph.nodes[n].inputs) {
        if (maker[at(input)] == index(u)) continue;
        inside[at(input)] = false;
        add_once(units[u].operands, input);
      }
    }
  }
  for (Unit& unit : units) {
    for (std::size_t n = unit.first; n < unit.last; ++n) {
      for (const Value output : graph.nodes[n].outputs) {
        if (unit.last - unit.first == 1) inside[at(output)] = false;
        if (!inside[at(output)]) unit.outputs.push_back(output);
      }
    }
  }
}

// What leaves the run, or is viewed by what does, lies outside of the arena.
void Units::find_bytes(const Graph& graph) {
  constexpr std::size_t kLine = 64;  // see Arena
  graph.for_each_result([&](Value value) { leaves[at(value)] = true; });
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const bool leaving =
        std::any_of(unit->outputs.begin(), unit->outputs.end(), [&](Value value) { return leaves[at(value)]; });
    for (const Value output : unit->outputs) {
      const Graph::ValueInfo& info = graph.values[at(output)];
      if (unit->makes_outputs || leaves[at(output)]) continue;
      bytes[at(output)] = std::max(kLine, (at(info.shape.size()) * size_of(info.dtype) + kLine - 1) / kLine * kLine);
    }
    if (!unit->makes_outputs || !leaving) continue;
    for (const Value operand : unit->operands) leaves[at(operand)] = true;
  }
}

}  // namespace capstan
