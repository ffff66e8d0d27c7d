#include "src/transforms/loop_run.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/context.h"
#include "src/core/hooks.h"
#include "src/core/row_shape.h"
#include "src/graph/arena.h"

namespace capstan {

namespace {

std::size_t bytes_of(const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype()); }

std::byte* data_of(const Tensor& tensor) { return static_cast<std::byte*>(tensor.block()->data); }

}  // namespace

std::byte* LoopParts::row_of(const Tensor& all, std::int64_t iteration) const {
  const std::size_t bytes = static_cast<std::size_t>(all.size() / rows) * size_of(all.dtype());
  return data_of(all) + static_cast<std::size_t>(row(iteration)) * bytes;
}

bool LoopParts::has_lengths_of(const std::vector<Tensor>& slots) const {
  const auto is_made_for = [&](const Subgraph& part) {
    for (std::size_t i = 0; i < part.graph.arguments.size(); ++i) {
      const Shape& length = part.graph.values[static_cast<std::size_t>(part.graph.arguments[i])].shape;
      const std::size_t slot = part.from[i];
      if (slots[slot].shape() != (has_rows(slot) ? stacked_shape(rows, length) : length)) return false;
    }
    return true;
  };
  return is_made_for(*body) && (condition == nullptr || is_made_for(*condition));
}

bool can_repeat(const LoopParts& loop, const std::vector<Tensor>& slots, const EffectLog* log) {
  if (context.observers != nullptr || context.tracer != nullptr || log != nullptr) return false;
  // Its iterations are copied within memory, which only the processor's are.
  if (std::any_of(slots.begin(), slots.end(), [](const Tensor& slot) { return is_on_device(slot.block()); }))
    return false;
  return !loop.body->has_effects() && (loop.condition == nullptr || !loop.condition->has_effects()) &&
         loop.has_lengths_of(slots);
}

// --- Frames ---

Frames::Frames(const std::vector<std::size_t>& bytes, bool keeps) : keeps_(keeps) {
  constexpr std::size_t kPiece = 1 << 16;
  constexpr std::size_t kMost = 256;
  for (const std::size_t size : bytes) {
    offsets_.push_back(stride_);
    stride_ += Arena::rounded(size);
  }
  stride_ = std::max(stride_, Arena::kLine);
  if (keeps)
    log_frames_ = static_cast<unsigned>(std::bit_width(std::clamp<std::size_t>(kPiece / stride_, 1, kMost))) - 1;
}

void Frames::add_piece() {
  const std::size_t bytes = stride_ << log_frames_;
  Tensor tensor = new_tensor(DType::kFloat64, {static_cast<std::int64_t>(bytes / sizeof(double))});
  std::byte* const data = data_of(tensor);
  pieces_.push_back({std::move(tensor), data});
}

// --- Runs ---

LoopRun::LoopRun(const LoopParts& loop, std::vector<Tensor> slots, const Program& body,
                 const std::vector<std::size_t>& left, bool keeps)
    : loop_(loop), slots_(std::move(slots)), keeps_(keeps), frames_(find_changing(body, left), keeps) {
  for (std::size_t c = 0; c < changing_.size(); ++c) {
    const Tensor& begin = slots_[changing_[c]];
    if (bytes_of(begin) > 0) std::memcpy(frames_(0, c).data, data_of(begin), bytes_of(begin));
  }
  const Graph& graph = loop.body->graph;
  for (std::size_t k = 0; k < loop.collected; ++k) {
    const Graph::ValueInfo& row = graph.values[static_cast<std::size_t>(graph.results[loop.carried + k])];
    stacks_.push_back(new_tensor(row.dtype, stacked_shape(loop.rows, row.shape)));
  }
  body_ = start(*loop.body, body);
  for (std::size_t p = 0; p < body_.size(); ++p) set_results(body_[p]->program, static_cast<std::int64_t>(p));
  if (loop.condition == nullptr) return;
  condition_ = start(*loop.condition, loop.condition->program->of(loop.condition->graph));
  holds_ = new_tensor(DType::kBool, Shape{});
  for (const auto& phase : condition_) phase->program.set_result(0, data_of(holds_), holds_.block());
}

// Returns the bytes of a frame's values.
std::vector<std::size_t> LoopRun::find_changing(const Program& body, const std::vector<std::size_t>& left) {
  const Subgraph& part = *loop_.body;
  const Graph& graph = body.graph();
  std::vector<std::size_t> bytes;
  position_.assign(slots_.size(), kStays);
  const auto add = [&](std::size_t slot, std::size_t result, Graph::Value value) {
    // One that the body only hands on stays where it is.
    bool stays = false;
    std::size_t input = 0;
    part.for_each_program_slot([&](std::size_t from) {
      stays = stays || (from == slot && graph.input(input) == value);
      ++input;
    });
    if (stays) return;
    position_[slot] = changing_.size();
    changing_.push_back(slot);
    result_.push_back(result);
    bytes.push_back(bytes_of(slots_[slot]));
  };
  for (std::size_t k = 0; k < loop_.carried; ++k) add(k, k, graph.results[k]);
  std::size_t w = 0;
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written == Graph::kNone) continue;
    add(part.written[w], graph.results.size() + w, captured.written);
    ++w;
  }
  left_ = left.size();
  bytes.insert(bytes.end(), left.begin(), left.end());
  return bytes;
}

Frames::Place LoopRun::slot(std::int64_t iteration, std::size_t slot) {
  const Tensor& begin = slots_[slot];
  if (loop_.has_rows(slot)) return {loop_.row_of(begin, iteration), begin.block()};
  return changes(slot) ? frames_(iteration, position_[slot]) : Frames::Place{data_of(begin), begin.block()};
}

LoopRun::Phases LoopRun::start(const Subgraph& part, const Program& program) {
  Phases phases;
  for (std::int64_t parity = 0; parity < (keeps_ ? 1 : 2); ++parity) {
    Phase& phase = *phases.emplace_back(std::make_unique<Phase>(program));
    std::size_t next = 0;
    part.for_each_program_slot([&](std::size_t from) {
      const std::size_t input = next++;
      if (!moves(from)) return phase.program.set_input(input, slots_[from].block());
      const Frames::Place place = slot(loop_.has_rows(from) ? 0 : parity, from);
      phase.program.set_input(input, place.data, place.owner);
      if (phase.program.reads(input) && (keeps_ || loop_.has_rows(from))) phase.moving.push_back({input, from});
    });
  }
  return phases;
}

LoopRun::Phase& LoopRun::begin(Phases& phases, std::int64_t iteration) {
  Phase& phase = *phases[static_cast<std::size_t>(iteration) % phases.size()];
  for (const auto& [input, from] : phase.moving) {
    const Frames::Place place = slot(iteration, from);
    phase.program.set_input(input, place.data, place.owner);
  }
  return phase;
}

bool LoopRun::continues(std::int64_t iteration) {
  if (condition_.empty()) return iteration < loop_.rows;
  if (iteration == loop_.limit) return false;
  begin(condition_, iteration).program.run();
  return *reinterpret_cast<const bool*>(data_of(holds_));
}

// Where an iteration leaves what it gives.
void LoopRun::set_results(Program::Repeated& body, std::int64_t iteration) {
  for (std::size_t c = 0; c < changing_.size(); ++c) {
    const Frames::Place place = frames_(iteration + 1, c);
    body.set_result(result_[c], place.data, place.owner);
  }
  for (std::size_t k = 0; k < left_; ++k) {
    const Frames::Place place = left(iteration, k);
    body.set_result(loop_.carried + loop_.collected + k, place.data, place.owner);
  }
}

std::int64_t LoopRun::run() {
  for (iterations_ = 0; continues(iterations_); ++iterations_) {
    check_interrupt();
    Program::Repeated& body = begin(body_, iterations_).program;
    if (keeps_) set_results(body, iterations_);
    for (std::size_t k = 0; k < loop_.collected; ++k) {
      body.set_result(loop_.carried + k, loop_.row_of(stacks_[k], iterations_), stacks_[k].block());
    }
    body.run();
  }
  return iterations_;
}

std::vector<Tensor> LoopRun::outputs() {
  const auto end_of = [&](std::size_t from) {
    if (!changes(from) || iterations_ == 0) return slots_[from];
    Tensor value = new_tensor(slots_[from].dtype(), slots_[from].shape());
    if (bytes_of(value) > 0) std::memcpy(data_of(value), slot(iterations_, from).data, bytes_of(value));
    return value;
  };
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < loop_.carried; ++k) outputs.push_back(end_of(k));
  for (Tensor& stack : stacks_) outputs.push_back(std::move(stack));
  for (const std::size_t slot : loop_.body->written) outputs.push_back(end_of(slot));
  return outputs;
}

std::vector<Tensor> run_repeated(const LoopParts& loop, std::vector<Tensor> slots) {
  LoopRun run(loop, std::move(slots), loop.body->program->of(loop.body->graph), {}, false);
  run.run();
  return run.outputs();
}

}  // namespace capstan
