#include "src/graph/units.h"

#include <algorithm>

#include "src/graph/execution_plan.h"

namespace capstan {

namespace {

using Value = Graph::Value;

}  // namespace

void add_once(std::vector<Value>& values, Value value) {
  if (!is_among(values, value)) values.push_back(value);
}

Units::Units(const Graph& graph)
    : maker(graph.values.size(), kNobody),
      in_prologue(graph.values.size()),
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
  ExecutionPlan plan;
  plan.graph = graph;
  make_steps(plan);
  for (const ExecutionPlan::Step& step : plan.steps) {
    Unit& unit = units.emplace_back();
    unit.nodes = nodes_of(plan, step);
    for (const std::size_t n : unit.nodes) {
      for (const Value output : graph.nodes[n].outputs) maker[at(output)] = index(units.size()) - 1;
    }
    if (step.prologue >= 0) {
      for (const Graph::Node& node : plan.groups[at(step.prologue)].nodes()) in_prologue[at(node.outputs[0])] = true;
    }
    unit.makes_outputs = step.makes_outputs;
    unit.overwrites = !step.is_accompanied() && (step.group >= 0 || step.is_loop);
  }
}

void Units::find_operands(const Graph& graph) {
  graph.for_each_result([&](Value value) { inside[at(value)] = false; });
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const std::size_t n : units[u].nodes) {
      for (const Value input : graph.nodes[n].inputs) {
        if (maker[at(input)] == index(u) || in_prologue[at(input)]) continue;
        inside[at(input)] = false;
        add_once(units[u].operands, input);
      }
    }
  }
  for (Unit& unit : units) {
    for (const std::size_t n : unit.nodes) {
      for (const Value output : graph.nodes[n].outputs) {
        if (unit.nodes.size() == 1) inside[at(output)] = false;
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
