// From a compiled graph to a list of steps over fixed places.
#include <algorithm>

#include "src/core/op_for_programs.h"
#include "src/graph/arena.h"
#include "src/graph/program.h"

namespace capstan {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int32_t index(std::size_t i) { return static_cast<std::int32_t>(i); }

}  // namespace

// --- Steps ---

void Program::linearize() {
  // Values that somebody outside of the group that makes them reads.
  std::vector<std::int32_t> maker(graph_.values.size(), Graph::kNone);
  std::vector<bool> leaves(graph_.values.size());
  for (const Graph::Node& node : graph_.nodes) {
    for (const Graph::Value output : node.outputs) maker[at(output)] = node.group;
  }
  for (const Graph::Node& node : graph_.nodes) {
    for (const Graph::Value input : node.inputs) {
      if (node.group == Graph::kNone || maker[at(input)] != node.group) leaves[at(input)] = true;
    }
  }
  graph_.for_each_result([&](Graph::Value value) { leaves[at(value)] = true; });

  values_.resize(graph_.values.size());
  for (std::size_t i = 0; i < graph_.nodes.size();) {
    const std::size_t end = graph_.end_of_unit(i);
    const Graph::Node& node = graph_.nodes[i];
    if (node.group == Graph::kNone) {
      add_step(node);
    } else {
      add_group(std::span(graph_.nodes).subspan(i, end - i), leaves);
    }
    i = end;
  }
}

void Program::append(Step step, std::span<const Graph::Value> inputs, std::span<const Graph::Value> outputs) {
  step.first_input = index(step_inputs_.size());
  step.inputs = index(inputs.size());
  step.first_output = index(step_outputs_.size());
  step.outputs = index(outputs.size());
  step_inputs_.insert(step_inputs_.end(), inputs.begin(), inputs.end());
  for (const Graph::Value output : outputs) {
    values_[at(output)].output = index(step_outputs_.size());
    step_outputs_.push_back(output);
  }
  steps_.push_back(std::move(step));
}

void Program::add_step(const Graph::Node& node) {
  Step step;
  step.node = &node;
  step.is_loop = node.op->kernel == nullptr;
  step.makes_outputs = has_flag(*node.op, kReturnsViews);
  if (node.renew) step.renewed = renewed_++;
  append(std::move(step), node.inputs, node.outputs);
}

void Program::add_group(std::span<const Graph::Node> nodes, const std::vector<bool>& leaves) {
  Step step;
  step.node = nodes.data();
  step.group = index(groups_.size());
  groups_.emplace_back(graph_, nodes, leaves);
  append(std::move(step), groups_.back().inputs(), groups_.back().outputs());
}

// --- Places ---

std::span<const Graph::Value> Program::inputs_of(const Step& step) const {
  return std::span(step_inputs_).subspan(at(step.first_input), at(step.inputs));
}
std::span<const Graph::Value> Program::outputs_of(const Step& step) const {
  return std::span(step_outputs_).subspan(at(step.first_output), at(step.outputs));
}

void Program::find_places() {
  // What leaves the run, or what such a thing is a view of.
  std::vector<bool> leaves(graph_.values.size());
  graph_.for_each_result([&](Graph::Value value) { leaves[at(value)] = true; });
  last_read_.assign(graph_.values.size(), 0);
  graph_.for_each_result([&](Graph::Value value) { last_read_[at(value)] = steps_.size(); });
  for (std::size_t s = steps_.size(); s-- > 0;) {
    const Step& step = steps_[s];
    std::size_t last = s;
    bool leaving = false;
    for (const Graph::Value output : outputs_of(step)) {
      last_read_[at(output)] = std::max(last_read_[at(output)], s);
      if (!step.makes_outputs) continue;
      last = std::max(last, last_read_[at(output)]);
      leaving = leaving || leaves[at(output)];
    }
    for (const Graph::Value input : inputs_of(step)) {
      last_read_[at(input)] = std::max(last_read_[at(input)], last);
      if (leaving) leaves[at(input)] = true;
    }
  }

  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (graph_.values[v].constant.has_value()) values_[v].place = Place::kConstant;
  }
  for (std::size_t i = 0; i < graph_.input_count(); ++i) {
    ValueState& state = values_[at(graph_.input(i))];
    state.place = Place::kInput;
    state.variable = index(i);
  }
  for (Step& step : steps_) {
    for (const Graph::Value output : outputs_of(step)) {
      values_[at(output)].place = step.makes_outputs   ? Place::kMade
                                  : leaves[at(output)] ? Place::kOutput
                                                       : Place::kArena;
    }
    const std::optional<std::int64_t> distance = distance_of_view(step);
    if (!distance || leaves[at(outputs_of(step)[0])]) continue;
    ValueState& view = values_[at(outputs_of(step)[0])];
    const ValueState& base = values_[at(inputs_of(step)[0])];
    const bool is_part = base.place == Place::kView;
    step.is_layout = true;
    view.place = base.place == Place::kArena ? Place::kArena : Place::kView;
    view.offset = at(*distance) + (is_part ? base.offset : 0);
    if (view.place == Place::kView) view.whole = is_part ? base.whole : inputs_of(step)[0];
  }
  find_borders(leaves);
  for (std::size_t i = 0; i < graph_.captured.size(); ++i) {
    if (!can_be_in_place(i)) continue;
    ValueState& state = values_[at(graph_.captured[i].written)];
    state.place = Place::kInPlace;
    state.variable = index(graph_.arguments.size() + i);
  }
  for (std::size_t k = 0; k < step_outputs_.size(); ++k) {
    const Place place = values_[at(step_outputs_[k])].place;
    if (place == Place::kOutput || place == Place::kInPlace) own_outputs_.push_back(step_outputs_[k]);
    if (place != Place::kArena) passing_outputs_.push_back(index(k));
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const Graph::Value output : outputs_of(steps_[s])) {
      const ValueState& state = values_[at(output)];
      const std::size_t last = last_read_[at(output)];
      if (state.place == Place::kMade && last < steps_.size()) steps_[last].drop.push_back(state.output);
    }
  }
}

// A variable may be updated where it lies if the step that computes its new value is the last to read the old one, and
// reads each element before it writes it, and if nothing behind it can fail: a run that fails changes nothing.
bool Program::can_be_in_place(std::size_t i) const {
  const Graph::Captured& captured = graph_.captured[i];
  if (captured.written == Graph::kNone) return false;
  const ValueState& state = values_[at(captured.written)];
  if (state.place != Place::kOutput) return false;
  for (const Graph::Value result : graph_.results) {
    if (result == captured.written || result == captured.value) return false;
  }
  for (const Graph::Captured& other : graph_.captured) {
    if (&other != &captured && (other.written == captured.written || other.written == captured.value)) return false;
  }
  std::size_t maker = 0;
  while (state.output >= steps_[maker].first_output + steps_[maker].outputs) ++maker;
  const Step& step = steps_[maker];
  if (last_read_[at(captured.value)] > maker) return false;
  for (std::size_t s = maker; s < steps_.size(); ++s) {
    if (steps_[s].group >= 0) continue;
    const OpDef& op = *steps_[s].node->op;
    if (steps_[s].is_loop ? for_programs(op).refuses_elements : !for_programs(op).never_fails) return false;
  }
  for (const Step& other : steps_) {
    const std::span<const Graph::Value> inputs = inputs_of(other);
    const bool reads = is_among(inputs, captured.value);
    if (reads && other.makes_outputs) return false;
  }
  const auto output = at(state.output - step.first_output);
  const std::span<const Graph::Value> inputs = inputs_of(step);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == captured.value && !may_overwrite(step, k, output)) return false;
  }
  return true;
}

// Whether an output may have the memory of an operand.
bool Program::may_overwrite(const Step& step, std::size_t input, std::size_t output) const {
  if (is_accompanied(step)) {
    // The kernel reads its operands until it ends, and so do sums and a prologue.
    const std::size_t in = step.node->inputs.size(), out = step.node->outputs.size();
    if (step.epilogue < 0 || input < in || output < out) return false;
    const FusedGroup& loop = groups_[at(step.epilogue)];
    return input - in < loop.inputs().size() && output - out < loop.outputs().size() &&
           loop.may_overwrite(input - in, output - out);
  }
  if (step.group >= 0) return groups_[at(step.group)].may_overwrite(input, output);
  if (step.is_loop) {
    const Graph::ValueInfo& in = graph_.values[at(inputs_of(step)[input])];
    const Graph::ValueInfo& out = graph_.values[at(outputs_of(step)[output])];
    return in.shape == out.shape && in.dtype == out.dtype;
  }
  return has_flag(*step.node->op, kUpdatesInPlace) && input == output;
}

// Values of the arena share it by the steps between which they live. All of a stage count as one step, but what is read
// in one task alone is free for what that task computes next.
void Program::plan_memory() {
  StagedArena arena(kMostTasks + 1);
  const std::vector<std::int32_t> reader = readers_in_stages();
  const auto first_of = [&](std::size_t s) {
    while (s > 0 && s < steps_.size() && steps_[s].stage >= 0 && steps_[s - 1].stage == steps_[s].stage) --s;
    return s;
  };
  const auto last_of = [&](std::size_t s) {
    while (s + 1 < steps_.size() && steps_[s].stage >= 0 && steps_[s + 1].stage == steps_[s].stage) ++s;
    return s;
  };
  std::vector<Piece> pieces;
  std::vector<std::int32_t> piece_of(graph_.values.size(), -1);
  const auto share_piece = [&](Graph::Value value, Graph::Value with) {
    piece_of[at(value)] = piece_of[at(with)];
    std::size_t& end = pieces[at(piece_of[at(value)])].end;
    end = std::max(end, last_of(last_read_[at(value)]));
  };
  // The value whose memory a value has: itself, or what it is a view of.
  std::vector<Graph::Value> root(graph_.values.size(), Graph::kNone);
  // With its border.
  const auto bytes_of = [&](Graph::Value value) {
    const Graph::ValueInfo& info = graph_.values[at(value)];
    const Border* const border = border_of(value);
    return at(info.shape.size()) * size_of(info.dtype) + (border == nullptr ? 0 : border->room + border->after);
  };
  const auto room_before = [&](Graph::Value value) {
    const Border* const border = border_of(value);
    return border == nullptr ? 0 : border->room;
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (s > 0 && steps_[s - 1].stage != step.stage) arena.end_stage();
    std::vector<Graph::Value> dying, shared;
    for (const Graph::Value input : inputs_of(step)) {
      const Graph::Value from = root[at(input)];
      const bool dies = from != Graph::kNone && last_read_[at(from)] == s;
      std::vector<Graph::Value>& list = dies && step.stage >= 0 && reader[at(from)] == kMostTasks ? shared : dying;
      if (dies && std::find(list.begin(), list.end(), from) == list.end()) list.push_back(from);
    }
    const std::span<const Graph::Value> outputs = outputs_of(step);
    const std::optional<std::size_t> over_product = output_over_product(step);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      ValueState& state = values_[at(outputs[o])];
      if (state.place != Place::kArena || (over_product && *over_product == o)) continue;
      if (step.is_layout) {
        root[at(outputs[o])] = root[at(inputs_of(step)[0])];
        // What pads a value begins before it.
        state.offset += values_[at(inputs_of(step)[0])].offset;
        share_piece(outputs[o], inputs_of(step)[0]);
        continue;
      }
      root[at(outputs[o])] = outputs[o];
      const std::size_t bytes = bytes_of(outputs[o]);
      const auto heir = std::find_if(dying.begin(), dying.end(), [&](Graph::Value value) {
        const bool bare = border_of(value) == nullptr && border_of(outputs[o]) == nullptr;
        return bare && bytes_of(value) == bytes && can_inherit(step, root, value, o);
      });
      if (heir == dying.end()) {
        state.offset = arena.take(step.task, bytes) + room_before(outputs[o]);
        piece_of[at(outputs[o])] = index(pieces.size());
        pieces.push_back(
            {bytes, first_of(s), last_of(last_read_[at(outputs[o])]), state.offset - room_before(outputs[o])});
      } else {
        state.offset = values_[at(*heir)].offset;
        share_piece(outputs[o], *heir);
        dying.erase(heir);
      }
    }
    if (over_product) {
      values_[at(outputs[*over_product])].offset = values_[at(outputs[0])].offset;
      share_piece(outputs[*over_product], outputs[0]);
      root[at(outputs[0])] = Graph::kNone;
      root[at(outputs[*over_product])] = outputs[*over_product];
    }
    const auto end = [&](std::int32_t task, Graph::Value value) {
      arena.give_back(task, values_[at(value)].offset - room_before(value), bytes_of(value));
    };
    for (const Graph::Value value : dying) end(step.task, value);
    for (const Graph::Value value : shared) end(kMostTasks, value);
    for (const Graph::Value output : outputs) {
      if (root[at(output)] == output && last_read_[at(output)] == s) end(step.task, output);
    }
  }
  arena_bytes_ = arena.size();
  // Where what comes step by step leaves gaps that nothing fits, all is placed anew.
  constexpr std::size_t kMostPacked = 4000;
  if (pieces.size() <= kMostPacked && peak_of(pieces) < arena_bytes_) {
    std::vector<std::size_t> begins;
    for (const Piece& piece : pieces) begins.push_back(piece.offset);
    const std::size_t packed = pack(pieces);
    for (std::size_t v = 0; v < values_.size() && packed < arena_bytes_; ++v) {
      if (piece_of[v] >= 0) values_[v].offset += pieces[at(piece_of[v])].offset - begins[at(piece_of[v])];
    }
    arena_bytes_ = std::min(arena_bytes_, packed);
  }
  std::erase_if(steps_, [](const Step& step) { return step.is_layout; });
}

// Whether an output may lie where an operand lies that dies in the step: if that is read through one operand only.
bool Program::can_inherit(const Step& step, const std::vector<Graph::Value>& root, Graph::Value value,
                          std::size_t output) const {
  const std::span<const Graph::Value> inputs = inputs_of(step);
  std::size_t position = inputs.size();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (root[at(inputs[k])] != value) continue;
    // Not by one that begins elsewhere, either.
    if (position != inputs.size() || values_[at(inputs[k])].offset != values_[at(value)].offset) return false;
    position = k;
  }
  return may_overwrite(step, position, output);
}

void Program::find_users() {
  first_user_.assign(graph_.values.size() + 1, 0);
  for (const Step& step : steps_) {
    for (const Graph::Value input : inputs_of(step)) ++first_user_[at(input) + 1];
  }
  for (std::size_t v = 0; v < graph_.values.size(); ++v) first_user_[v + 1] += first_user_[v];
  users_.resize(at(first_user_.back()));
  std::vector<std::int32_t> next(first_user_.begin(), first_user_.end() - 1);
  for (const Step& step : steps_) {
    for (std::int32_t k = step.first_input; k < step.first_input + step.inputs; ++k) {
      users_[at(next[at(step_inputs_[at(k)])]++)] = k;
    }
  }
  first_view_.assign(graph_.values.size() + 1, 0);
  for (const ValueState& state : values_) {
    if (state.place == Place::kView) ++first_view_[at(state.whole) + 1];
  }
  for (std::size_t v = 0; v < graph_.values.size(); ++v) first_view_[v + 1] += first_view_[v];
  views_.resize(at(first_view_.back()));
  next.assign(first_view_.begin(), first_view_.end() - 1);
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    if (values_[v].place == Place::kView) views_[at(next[at(values_[v].whole)]++)] = index(v);
  }
}

}  // namespace capstan
