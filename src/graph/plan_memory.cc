// Where in the arena its values lie: those that do not live at once share memory.
#include <algorithm>
#include <optional>

#include "src/graph/arena.h"
#include "src/graph/execution_plan.h"
#include "src/graph/stages.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;
using Place = ExecutionPlan::Place;
using ValueState = ExecutionPlan::ValueState;
using Border = ExecutionPlan::Border;

constexpr std::int32_t kMostTasks = ExecutionPlan::kMostTasks;

// Whether an output may lie where an operand lies that dies in the step: if that is read through one operand only.
bool can_inherit(const ExecutionPlan& plan, const Step& step, const std::vector<Graph::Value>& root, Graph::Value value,
                 std::size_t output) {
  const std::span<const Graph::Value> inputs = plan.inputs_of(step);
  std::size_t position = inputs.size();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (root[at(inputs[k])] != value) continue;
    // Not by one that begins elsewhere, either.
    if (position != inputs.size() || plan.values[at(inputs[k])].offset != plan.values[at(value)].offset) return false;
    position = k;
  }
  return may_overwrite(plan, step, position, output);
}

// The output of an epilogue that lies where the product lies, which nobody else reads: the loop writes each row over
// the one that it has read.
std::optional<std::size_t> output_over_product(const ExecutionPlan& plan, const Step& step) {
  if (step.epilogue < 0) return std::nullopt;
  const std::span<const Graph::Value> outputs = plan.outputs_of(step);
  const Graph::Value product = outputs[0];
  if (plan.last_read[at(product)] != at(&step - plan.steps.data())) return std::nullopt;
  const std::vector<Graph::Value>& inputs = plan.groups[at(step.epilogue)].inputs();
  const auto position = std::find(inputs.begin(), inputs.end(), product) - inputs.begin();
  for (std::size_t o = 1; o <= plan.groups[at(step.epilogue)].outputs().size(); ++o) {
    const bool in_arena = plan.values[at(outputs[o])].place == Place::kArena;
    if (in_arena && plan.groups[at(step.epilogue)].may_overwrite(at(position), o - 1)) return o;
  }
  return std::nullopt;
}

}  // namespace

// Values of the arena share it by the steps between which they live. All of a stage count as one step, but what is read
// in one task alone is free for what that task computes next.
void plan_memory(ExecutionPlan& plan) {
  StagedArena arena(kMostTasks + 1);
  const std::vector<std::int32_t> reader = readers_in_stages(plan);
  const auto first_of = [&](std::size_t s) {
    while (s > 0 && s < plan.steps.size() && plan.steps[s].stage >= 0 && plan.steps[s - 1].stage == plan.steps[s].stage)
      --s;
    return s;
  };
  const auto last_of = [&](std::size_t s) {
    while (s + 1 < plan.steps.size() && plan.steps[s].stage >= 0 && plan.steps[s + 1].stage == plan.steps[s].stage) ++s;
    return s;
  };
  std::vector<Piece> pieces;
  std::vector<std::int32_t> piece_of(plan.graph.values.size(), -1);
  const auto share_piece = [&](Graph::Value value, Graph::Value with) {
    piece_of[at(value)] = piece_of[at(with)];
    std::size_t& end = pieces[at(piece_of[at(value)])].end;
    end = std::max(end, last_of(plan.last_read[at(value)]));
  };
  // The value whose memory a value has: itself, or what it is a view of.
  std::vector<Graph::Value> root(plan.graph.values.size(), Graph::kNone);
  // With its border.
  const auto bytes_of = [&](Graph::Value value) {
    const Graph::ValueInfo& info = plan.graph.values[at(value)];
    const Border* const border = plan.border_of(value);
    return at(info.shape.size()) * size_of(info.dtype) + (border == nullptr ? 0 : border->room + border->after);
  };
  const auto room_before = [&](Graph::Value value) {
    const Border* const border = plan.border_of(value);
    return border == nullptr ? 0 : border->room;
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (s > 0 && plan.steps[s - 1].stage != step.stage) arena.end_stage();
    std::vector<Graph::Value> dying, shared;
    for (const Graph::Value input : plan.inputs_of(step)) {
      const Graph::Value from = root[at(input)];
      const bool dies = from != Graph::kNone && plan.last_read[at(from)] == s;
      std::vector<Graph::Value>& list = dies && step.stage >= 0 && reader[at(from)] == kMostTasks ? shared : dying;
      if (dies && std::find(list.begin(), list.end(), from) == list.end()) list.push_back(from);
    }
    const std::span<const Graph::Value> outputs = plan.outputs_of(step);
    const std::optional<std::size_t> over_product = output_over_product(plan, step);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      ValueState& state = plan.values[at(outputs[o])];
      if (state.place != Place::kArena || (over_product && *over_product == o)) continue;
      if (step.is_layout) {
        root[at(outputs[o])] = root[at(plan.inputs_of(step)[0])];
        // What pads a value begins before it.
        state.offset += plan.values[at(plan.inputs_of(step)[0])].offset;
        share_piece(outputs[o], plan.inputs_of(step)[0]);
        continue;
      }
      root[at(outputs[o])] = outputs[o];
      const std::size_t bytes = bytes_of(outputs[o]);
      const auto heir = std::find_if(dying.begin(), dying.end(), [&](Graph::Value value) {
        const bool bare = plan.border_of(value) == nullptr && plan.border_of(outputs[o]) == nullptr;
        return bare && bytes_of(value) == bytes && can_inherit(plan, step, root, value, o);
      });
      if (heir == dying.end()) {
        state.offset = arena.take(step.task, bytes) + room_before(outputs[o]);
        piece_of[at(outputs[o])] = index(pieces.size());
        pieces.push_back(
            {bytes, first_of(s), last_of(plan.last_read[at(outputs[o])]), state.offset - room_before(outputs[o])});
      } else {
        state.offset = plan.values[at(*heir)].offset;
        share_piece(outputs[o], *heir);
        dying.erase(heir);
      }
    }
    if (over_product) {
      plan.values[at(outputs[*over_product])].offset = plan.values[at(outputs[0])].offset;
      share_piece(outputs[*over_product], outputs[0]);
      root[at(outputs[0])] = Graph::kNone;
      root[at(outputs[*over_product])] = outputs[*over_product];
    }
    const auto end = [&](std::int32_t task, Graph::Value value) {
      arena.give_back(task, plan.values[at(value)].offset - room_before(value), bytes_of(value));
    };
    for (const Graph::Value value : dying) end(step.task, value);
    for (const Graph::Value value : shared) end(kMostTasks, value);
    for (const Graph::Value output : outputs) {
      if (root[at(output)] == output && plan.last_read[at(output)] == s) end(step.task, output);
    }
  }
  plan.arena_bytes = arena.size();
  // Where what comes step by step leaves gaps that nothing fits, all is placed anew.
  constexpr std::size_t kMostPacked = 4000;
  if (pieces.size() <= kMostPacked && peak_of(pieces) < plan.arena_bytes) {
    std::vector<std::size_t> begins;
    for (const Piece& piece : pieces) begins.push_back(piece.offset);
    const std::size_t packed = pack(pieces);
    for (std::size_t v = 0; v < plan.values.size() && packed < plan.arena_bytes; ++v) {
      if (piece_of[v] >= 0) plan.values[v].offset += pieces[at(piece_of[v])].offset - begins[at(piece_of[v])];
    }
    plan.arena_bytes = std::min(plan.arena_bytes, packed);
  }
  std::erase_if(plan.steps, [](const Step& step) { return step.is_layout; });
}

}  // namespace capstan
