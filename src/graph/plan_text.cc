// The names of steps, and plans as text.
#include <algorithm>

#include "src/graph/execution_plan.h"
#include "src/graph/loops.h"

namespace capstan {

namespace {

using Place = ExecutionPlan::Place;

std::string name_of_node(const Graph::Node& node) {
  const std::optional<LoopOfOp> loop = loop_of(node);
  return loop && loop->input >= 0 ? "gradient(" + std::string(loop->op->name) + ")" : std::string(node.op->name);
}

std::string name_of_group(const Graph& graph, Graph::Value group) {
  constexpr int kNamed = 8;
  std::string name;
  int count = 0;
  for (const Graph::Node& node : graph.nodes) {
    if (node.group == group && ++count <= kNamed) name += (name.empty() ? "" : ", ") + name_of_node(node);
  }
  if (count > kNamed) name += ", " + std::to_string(count - kNamed) + " more";
  return "loop(" + name + ")";
}

std::string place_text(const ExecutionPlan& plan, const ExecutionPlan::ValueState& state) {
  switch (state.place) {
    case Place::kUnknown:
      return "";
    case Place::kInput:
      return " input " + std::to_string(state.variable);
    case Place::kConstant:
      return " constant";
    case Place::kArena:
      return " arena " + std::to_string(static_cast<std::ptrdiff_t>(state.offset));
    case Place::kOutput:
      return " result";
    case Place::kInPlace:
      return " in place of %" + std::to_string(plan.graph.input(at(state.variable)));
    case Place::kMade:
      return " made";
    case Place::kPassing:
      return " passing";
    case Place::kView:
      return " in %" + std::to_string(state.whole) + " at " + std::to_string(state.offset);
  }
  return "";
}

}  // namespace

std::string name_of(const ExecutionPlan& plan, const ExecutionPlan::Step& step) {
  if (step.group >= 0) return name_of_group(plan.graph, step.node->group);
  const auto name_of_loop = [&](std::int32_t loop) {
    return name_of_group(plan.graph, plan.groups[at(loop)].nodes()[0].group);
  };
  std::string name = name_of_node(*step.node);
  if (step.prologue >= 0) name = name_of_loop(step.prologue) + " + " + name;
  if (step.epilogue >= 0) name += " + " + name_of_loop(step.epilogue);
  if (step.sums != nullptr) name += " + " + name_of_node(*step.sums);
  return name;
}

std::string to_text(const ExecutionPlan& plan) {
  std::string text;
  for (const ExecutionPlan::Step& step : plan.steps) {
    if (step.stage >= 0) text += "stage " + std::to_string(step.stage) + " task " + std::to_string(step.task) + ": ";
    text += (step.is_layout ? "no step: " : "") + name_of(plan, step) + ":";
    for (const Graph::Value input : plan.inputs_of(step)) {
      text += input == Graph::kNone                               ? " none"
              : plan.graph.values[at(input)].constant.has_value() ? " constant"
                                                                  : " %" + std::to_string(input);
    }
    const char* separator = " -> ";
    for (const Graph::Value output : plan.outputs_of(step)) {
      text += separator + ("%" + std::to_string(output)) + place_text(plan, plan.values[at(output)]);
      if (const ExecutionPlan::Border* const border = plan.border_of(output)) {
        text += " with " + std::to_string(border->before) + " bytes before and " + std::to_string(border->after) +
                " behind it";
      }
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace capstan
