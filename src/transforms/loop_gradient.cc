#include "src/transforms/loop_gradient.h"

#include <algorithm>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/graph/known.h"
#include "src/graph/loops.h"
#include "src/graph/shapes.h"
#include "src/graph/tracer.h"

namespace capstan {

namespace {

// Whether what a node gives costs about as much to compute again as to read.
bool is_light(const Graph::Node& node) {
  if (node.renew || control_of(*node.op, node.attributes) != nullptr) return false;
  return has_flag(*node.op, kReturnsViews) || has_flag(*node.op, kCheapAgain) || loop_of(node);
}

std::size_t bytes_of(const Graph::ValueInfo& info) {
  return static_cast<std::size_t>(info.shape.size()) * size_of(info.dtype);
}

}  // namespace

std::unique_ptr<const LoopGradient> LoopGradient::make(const LoopParts& loop, std::size_t slots,
                                                       const std::vector<std::size_t>& targets,
                                                       const std::vector<std::size_t>& sources) {
  std::unique_ptr<LoopGradient> gradient(new LoopGradient(loop, targets, sources));
  return gradient->find_pullbacks(slots) ? std::move(gradient) : nullptr;
}

LoopGradient::LoopGradient(const LoopParts& loop, const std::vector<std::size_t>& targets,
                           const std::vector<std::size_t>& sources)
    : loop_(loop), targets_(targets), sources_(sources), body_graph_(loop.body->graph) {
  bind_known(body_graph_);
}

// The slots that a source leads to, with the sources that are captured or have rows.
void LoopGradient::find_wanted(std::size_t slots) {
  wanted_.assign(slots, false);
  for (const std::size_t source : sources_) wanted_[source] = true;
  const Paths paths = paths_of(*loop_.body, slots);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < loop_.carried; ++k) {
      for (std::size_t s = 0; s < slots && !wanted_[k]; ++s) {
        if (wanted_[s] && paths[k][s]) wanted_[k] = changed = true;
      }
    }
  }
}

bool LoopGradient::find_pullbacks(std::size_t slots) {
  constexpr std::size_t kMostPullbacks = 8;
  find_wanted(slots);
  for (const Graph::Node& node : body_graph_.nodes) {
    if (!is_light(node)) candidates_.insert(candidates_.end(), node.outputs.begin(), node.outputs.end());
  }
  Pattern pattern(loop_.carried + loop_.collected);
  for (const std::size_t target : targets_) {
    if (target < pattern.size()) pattern[target] = true;
  }
  for (;;) {
    const auto known = std::find_if(pullbacks_.begin(), pullbacks_.end(),
                                    [&](const Pullback& pullback) { return pullback.pattern == pattern; });
    if (!pullbacks_.empty()) pullbacks_.back().next = static_cast<std::size_t>(known - pullbacks_.begin());
    if (known != pullbacks_.end()) break;
    if (pullbacks_.size() == kMostPullbacks) return false;
    pullbacks_.push_back(pullback_of(pattern));
    std::fill_n(pattern.begin(), loop_.carried, false);
    for (const Pullback::Result& result : pullbacks_.back().results) {
      if (result.to == Pullback::To::kCotangent) pattern[result.slot] = true;
    }
  }
  keep_what_is_read();
  return true;
}

LoopGradient::Pullback LoopGradient::pullback_of(const Pattern& pattern) const {
  const Subgraph& body = *loop_.body;
  // A tensor that has been captured with its elements is a constant, but by those that are sources one can
  // differentiate.
  Graph forward = body.graph;
  std::vector<bool> open;
  std::vector<std::size_t> from;
  for (std::size_t i = 0; i < body.from.size(); ++i) {
    const bool is_known = forward.values[at(forward.input(i))].known.has_value();
    if (is_known) open.push_back(wanted_[body.from[i]]);
    if (!is_known || open.back()) from.push_back(body.from[i]);
  }
  bind_known(forward, open);
  forward.results.insert(forward.results.end(), candidates_.begin(), candidates_.end());
  mark_last_reads(forward);

  Pullback pullback{.pattern = pattern};
  GraphTracer tracer("gradient", false);
  const auto argument_like = [&](const Graph::ValueInfo& info) { return tracer.add_argument(info.dtype, info.shape); };
  std::vector<Tensor> inputs, watched;
  std::vector<std::size_t> watched_slots;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Graph::ValueInfo& info = forward.values[at(forward.input(i))];
    // Copies, so that each is a source of its own even if two are one tensor.
    inputs.push_back(identity(argument_like(info)));
    pullback.arguments.push_back({Pullback::From::kSlot, from[i]});
    if (!wanted_[from[i]] || !is_differentiable(info.dtype)) continue;
    watched.push_back(inputs.back());
    watched_slots.push_back(from[i]);
  }
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    argument_like(forward.values[at(candidates_[c])]);
    pullback.arguments.push_back({Pullback::From::kKept, c});
  }
  GradientOptions options;
  std::vector<std::size_t> target_results;
  for (std::size_t r = 0; r < pattern.size(); ++r) {
    const Graph::ValueInfo& info = forward.values[at(forward.results[r])];
    if (!pattern[r] || !is_differentiable(info.dtype)) continue;
    options.output_gradients.push_back(argument_like(info));
    pullback.arguments.push_back({Pullback::From::kCotangent, r});
    target_results.push_back(r);
  }
  GradientTape tape({.persistent = false, .watch_accessed_variables = false});
  tape.watch(watched);
  const std::vector<Tensor> outputs = run_graph(forward, std::move(inputs));
  std::vector<Tensor> targets;
  for (const std::size_t r : target_results) targets.push_back(outputs[r]);
  std::vector<Tensor> gradients;
  if (!targets.empty() && !watched.empty()) gradients = tape.gradient(targets, watched, options);

  std::vector<Tensor> results, sums;
  const std::size_t arguments = pullback.arguments.size();
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const std::size_t slot = watched_slots[k];
    const Tensor& gradient = gradients[k];
    if (!gradient.has_value()) continue;
    if (loop_.is_carried(slot) || loop_.has_rows(slot)) {
      pullback.results.push_back({loop_.is_carried(slot) ? Pullback::To::kCotangent : Pullback::To::kRow, slot});
      results.push_back(gradient.to_dense());
    } else if (gradient.is_row_sparse()) {
      pullback.results.push_back({Pullback::To::kIndices, slot});
      pullback.results.push_back({Pullback::To::kValues, slot});
      results.insert(results.end(), {gradient.indices(), gradient.values()});
    } else {
      pullback.sums.push_back(slot);
      sums.push_back(tracer.add_argument(gradient.dtype(), gradient.shape()) + gradient);
    }
  }
  const std::size_t own = results.size();
  results.insert(results.end(), sums.begin(), sums.end());
  results.insert(results.end(), outputs.begin() + static_cast<std::ptrdiff_t>(body.graph.results.size()),
                 outputs.begin() + static_cast<std::ptrdiff_t>(forward.results.size()));
  Graph graph = tracer.finish(results);

  // What is kept is read, not made.
  std::vector<Graph::Value> instead(graph.values.size(), Graph::kNone);
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const Graph::Value made = graph.results[own + sums.size() + c];
    if (!graph.values[at(made)].constant.has_value()) instead[at(made)] = graph.arguments[from.size() + c];
  }
  const auto replace = [&](Graph::Value& value) {
    if (instead[at(value)] != Graph::kNone) value = instead[at(value)];
  };
  for (Graph::Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), replace);
  graph.results.resize(own + sums.size());
  std::for_each(graph.results.begin(), graph.results.end(), replace);
  // A sum is updated where it lies, as a variable is.
  for (std::size_t k = 0; k < sums.size(); ++k) {
    graph.captured.push_back({Variable(), graph.arguments[arguments + k], graph.results[own + k]});
  }
  graph.arguments.resize(arguments);
  graph.results.resize(own);
  detach_shapes(graph);
  remove_dead(graph);

  std::vector<bool> is_read(graph.values.size());
  for (const Graph::Node& node : graph.nodes) {
    for (const Graph::Value input : node.inputs) is_read[at(input)] = true;
  }
  graph.for_each_result([&](Graph::Value value) { is_read[at(value)] = true; });
  std::vector<Graph::Value> read;
  std::vector<Pullback::Argument> read_arguments;
  for (std::size_t i = 0; i < arguments; ++i) {
    if (!is_read[at(graph.arguments[i])]) continue;
    read.push_back(graph.arguments[i]);
    read_arguments.push_back(pullback.arguments[i]);
  }
  graph.arguments = std::move(read);
  pullback.arguments = std::move(read_arguments);
  pullback.graph = std::move(graph);
  return pullback;
}

void LoopGradient::keep_what_is_read() {
  std::vector<std::size_t> number(candidates_.size(), candidates_.size());
  sums_in_place_.assign(wanted_.size(), true);
  const Subgraph& body = *loop_.body;
  for (Pullback& pullback : pullbacks_) {
    for (Pullback::Argument& argument : pullback.arguments) {
      if (argument.from == Pullback::From::kSlot) {
        const bool is_written =
            std::find(body.written.begin(), body.written.end(), argument.index) != body.written.end();
        reads_iterations_ = reads_iterations_ || loop_.is_carried(argument.index) || is_written;
      }
      if (argument.from != Pullback::From::kKept) continue;
      reads_iterations_ = true;
      std::size_t& kept = number[argument.index];
      if (kept == candidates_.size()) {
        kept = kept_bytes_.size();
        body_graph_.results.push_back(candidates_[argument.index]);
        kept_bytes_.push_back(bytes_of(body_graph_.values[at(candidates_[argument.index])]));
      }
      argument.index = kept;
    }
    pullback.program = std::make_unique<const Program>(pullback.graph);
    pullback.graph = {};
    const Graph& compiled = pullback.program->graph();
    for (std::size_t k = 0; k < pullback.sums.size(); ++k) {
      if (!pullback.program->updates_in_place(compiled.captured[k])) sums_in_place_[pullback.sums[k]] = false;
    }
  }
  if (!kept_bytes_.empty()) body_ = std::make_unique<const Program>(std::move(body_graph_));
  body_graph_ = {};
}

// --- A run ---

class LoopGradient::Reverse {
 public:
  Reverse(const LoopGradient& gradient, const std::vector<Tensor>& slots, const std::vector<Tensor>& cotangents)
      : gradient_(gradient),
        loop_(gradient.loop_),
        slots_(slots),
        forward_(loop_, slots, gradient.body_ ? *gradient.body_ : loop_.body->program->of(loop_.body->graph),
                 gradient.kept_bytes_, gradient.reads_iterations_),
        given_(loop_.carried + loop_.collected),
        steps_(2 * gradient.pullbacks_.size()),
        sums_(slots.size()),
        spare_sums_(slots.size()),
        rows_(slots.size()) {
    for (std::size_t k = 0; k < cotangents.size(); ++k) {
      if (gradient.targets_[k] < given_.size()) given_[gradient.targets_[k]] = cotangents[k];
    }
    for (std::vector<Tensor>& buffers : buffers_) buffers.resize(loop_.carried);
  }

  std::vector<Tensor> run() {
    // Where nothing of the iterations is read, they count.
    const bool runs = gradient_.reads_iterations_ || loop_.condition != nullptr;
    const std::int64_t iterations = runs ? forward_.run() : loop_.rows;
    for (std::size_t k = 0; k < loop_.carried; ++k) {
      if (given_[k].has_value()) copy(given_[k], buffer(iterations, k));
    }
    Pattern pattern = gradient_.pullbacks_[0].pattern;
    std::size_t number = 0;
    for (std::int64_t t = iterations; t-- > 0;) {
      run_back(t, number);
      number = gradient_.pullbacks_[number].next;
      pattern = gradient_.pullbacks_[number].pattern;
    }
    std::vector<Tensor> gradients;
    for (const std::size_t source : gradient_.sources_) {
      const bool is_there = loop_.is_carried(source) && pattern[source];
      gradients.push_back(is_there ? buffer(0, source) : gradient_of(source));
    }
    return gradients;
  }

 private:
  using From = Pullback::From;
  using To = Pullback::To;

  // The runs of a pullback for iterations of one parity, and which operands lie elsewhere in each of them.
  struct Step {
    explicit Step(const Program& program) : program(program) {}
    Program::Repeated program;
    std::vector<std::size_t> moving, moving_results, moving_sums;
  };

  static void copy(const Tensor& from, const Tensor& to) {
    const std::size_t bytes = bytes_of({from.dtype(), from.shape(), {}});
    if (bytes > 0) std::memcpy(to.block()->data, from.block()->data, bytes);
  }

  Tensor zeros_of(std::size_t slot) const {
    Tensor zeros = new_tensor(slots_[slot].dtype(), slots_[slot].shape());
    const std::size_t bytes = bytes_of({zeros.dtype(), zeros.shape(), {}});
    if (bytes > 0) std::memset(zeros.block()->data, 0, bytes);
    return zeros;
  }

  // The cotangent of what is carried into an iteration.
  const Tensor& buffer(std::int64_t t, std::size_t slot) {
    Tensor& buffer = buffers_[t % 2][slot];
    if (!buffer.has_value()) buffer = new_tensor(slots_[slot].dtype(), slots_[slot].shape());
    return buffer;
  }

  Tensor& sum_of(std::size_t slot) {
    if (!sums_[slot].has_value()) sums_[slot] = zeros_of(slot);
    return sums_[slot];
  }

  Step& start(std::int64_t t, std::size_t number) {
    std::unique_ptr<Step>& started = steps_[2 * number + static_cast<std::size_t>(t % 2)];
    if (started != nullptr) return *started;
    const Pullback& pullback = gradient_.pullbacks_[number];
    started = std::make_unique<Step>(*pullback.program);
    Step& step = *started;
    const auto set_input = [&](std::size_t i, const Tensor& tensor) {
      step.program.set_input(i, tensor.block()->data, tensor.block());
    };
    const auto set_result = [&](std::size_t r, const Tensor& tensor) {
      step.program.set_result(r, tensor.block()->data, tensor.block());
    };
    for (std::size_t i = 0; i < pullback.arguments.size(); ++i) {
      const auto [from, index] = pullback.arguments[i];
      if (from == From::kCotangent && index < loop_.carried) {
        set_input(i, buffer(t + 1, index));
      } else if (from == From::kSlot && !forward_.moves(index)) {
        step.program.set_input(i, slots_[index].block());
      } else {
        step.moving.push_back(i);
      }
    }
    for (std::size_t r = 0; r < pullback.results.size(); ++r) {
      const auto [to, slot] = pullback.results[r];
      if (to == To::kCotangent) {
        set_result(r, buffer(t, slot));
      } else {
        step.moving_results.push_back(r);
      }
    }
    for (std::size_t k = 0; k < pullback.sums.size(); ++k) {
      if (gradient_.sums_in_place_[pullback.sums[k]]) {
        set_input(pullback.arguments.size() + k, sum_of(pullback.sums[k]));
        set_result(pullback.results.size() + k, sum_of(pullback.sums[k]));
      } else {
        step.moving_sums.push_back(k);
      }
    }
    return step;
  }

  void run_back(std::int64_t t, std::size_t number) {
    const Pullback& pullback = gradient_.pullbacks_[number];
    Step& step = start(t, number);
    for (const std::size_t i : step.moving) {
      const auto [from, index] = pullback.arguments[i];
      const Frames::Place place = from == From::kSlot ? forward_.slot(t, index)
                                  : from == From::kKept
                                      ? forward_.left(t, index)
                                      : Frames::Place{loop_.row_of(given_[index], t), given_[index].block()};
      step.program.set_input(i, place.data, place.owner);
    }
    for (const std::size_t r : step.moving_results) {
      const auto [to, slot] = pullback.results[r];
      if (to == To::kRow) {
        const Tensor& rows = sum_of(slot);
        step.program.set_result(r, loop_.row_of(rows, t), rows.block());
        continue;
      }
      const Graph& graph = pullback.program->graph();
      const Graph::ValueInfo& info = graph.values[at(graph.results[r])];
      const Tensor part = new_tensor(info.dtype, info.shape);
      step.program.set_result(r, part.block()->data, part.block());
      (to == To::kIndices ? rows_[slot].indices : rows_[slot].values).push_back(part);
    }
    for (const std::size_t k : step.moving_sums) {
      Tensor& sum = sum_of(pullback.sums[k]);
      Tensor& next = spare_sums_[pullback.sums[k]];
      if (!next.has_value()) next = new_tensor(sum.dtype(), sum.shape());
      step.program.set_input(pullback.arguments.size() + k, sum.block()->data, sum.block());
      step.program.set_result(pullback.results.size() + k, next.block()->data, next.block());
      std::swap(sum, next);
    }
    step.program.run();
  }

  // Of what is not carried, or what has none.
  Tensor gradient_of(std::size_t slot) const {
    const bool has_sum = !loop_.is_carried(slot) && sums_[slot].has_value();
    Tensor sum = has_sum ? sums_[slot] : zeros_of(slot);
    if (rows_[slot].values.empty()) return sum;
    const Tensor rows =
        make_row_sparse(concat(rows_[slot].indices, 0), concat(rows_[slot].values, 0), slots_[slot].shape()).to_dense();
    return has_sum ? sum + rows : rows;
  }

  struct Rows {
    std::vector<Tensor> indices, values;
  };
  const LoopGradient& gradient_;
  const LoopParts& loop_;
  const std::vector<Tensor>& slots_;
  LoopRun forward_;
  std::vector<Tensor> given_;                 // by result of the loop
  std::vector<std::unique_ptr<Step>> steps_;  // by pullback and parity
  std::vector<Tensor> buffers_[2];
  std::vector<Tensor> sums_, spare_sums_;  // by slot; rows as well
  std::vector<Rows> rows_;                 // row-sparse ones
};

std::vector<Tensor> LoopGradient::run(std::vector<Tensor> slots) const {
  const std::vector<Tensor> cotangents(slots.end() - static_cast<std::ptrdiff_t>(targets_.size()), slots.end());
  slots.resize(wanted_.size());
  return Reverse(*this, slots, cotangents).run();
}

const LoopGradient* LazyLoopGradient::now(const Control& of, const std::vector<Tensor>& slots, const EffectLog* log,
                                          const std::vector<std::size_t>& targets,
                                          const std::vector<std::size_t>& sources) const {
  const auto* const node = dynamic_cast<const LoopNode*>(&of);
  if (node == nullptr || !can_repeat(node->loop(), slots, log)) return nullptr;
  made_.run([&] { gradient_ = LoopGradient::make(node->loop(), slots.size() - targets.size(), targets, sources); });
  return gradient_.get();
}

}  // namespace capstan
