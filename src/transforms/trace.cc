#include "src/transforms/trace.h"

#include <mutex>
#include <algorithm>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/context.h"
#include "src/core/variable_state.h"
#include "src/graph/cut.h"
#include "src/graph/known.h"
#include "src/graph/price.h"
#include "src/graph/shapes.h"
#include "src/graph/tracer.h"
#include "src/tape/call_with_paths.h"
#include "src/transforms/uses.h"

namespace capstan {

namespace {

// Nanoseconds: where handing a lock of another language over and back is less than a hundredth.
constexpr double kShort = 10'000;

// Whether all parts of a tensor, which may be row-sparse, are so.
template <class Holds>
bool all_parts(const Tensor& tensor, const Holds& holds) {
  if (!tensor.is_row_sparse()) return holds(tensor.block());
  return holds(tensor.indices().block()) && holds(tensor.values().block());
}

std::vector<detail::Block*> blocks_of(const std::vector<Tensor>& tensors) {
  std::vector<detail::Block*> blocks;
  for (const Tensor& tensor : tensors) blocks.push_back(tensor.block());
  return blocks;
}

// The graph that tapes and the compiler get, with so many of the captures as arguments.
Graph observed_graph(const Graph& raw, const std::vector<bool>& known) {
  Graph graph = raw;
  bind_known(graph, known);
  detach_shapes(graph);
  fold_constants(graph);
  tidy(graph);
  return graph;
}

}  // namespace

// A call that has been recorded.
struct Trace::Call final : CallWithPaths {
  std::shared_ptr<const Trace> trace;
  const ObservedGraph* of = nullptr;  // a part of it
  std::vector<Tensor> inputs;
  std::vector<Tensor> effects;

  bool op_by_op() const { return context.observers != nullptr || context.tracer != nullptr || trace->has_effects; }

  std::string_view name() const override { return trace->name; }
  Path path(std::size_t input, std::size_t result) const override {
    std::size_t position = 0;  // among results of which some do not exist
    for (;; ++position) {
      if (of->graph.results[position] != Graph::kNone && result-- == 0) break;
    }
    const Flow flow = flow_between(of->graph, input, position);
    return {flow.exists, flow.cut == nullptr ? std::string_view() : flow.cut->name};
  }
  std::vector<Tensor> gradients(std::span<const Tensor> cotangents) const override {
    return op_by_op() ? gradients_of(of->graph, inputs, effects, cotangents)
                      : of->gradient.run(of->graph, inputs, cotangents, trace->budget);
  }
  std::vector<Tensor> tangents(std::span<const Tensor> of_inputs) const {
    return op_by_op() ? tangents_of(of->graph, inputs, effects, of_inputs)
                      : of->tangent.run(of->graph, inputs, of_inputs);
  }
};

void Trace::make_program(std::size_t memory_budget) {
  const SuspendTrace suspend;
  budget = memory_budget;
  plain.graph = observed_graph(raw, {});
  program.emplace(plain.graph, budget);
  has_effects = std::any_of(plain.graph.nodes.begin(), plain.graph.nodes.end(),
                            [](const Graph::Node& node) { return node.has_effect(); });
  const std::optional<double> time = short_time_of(program->graph());
  is_short = time.has_value() && *time < kShort && program->plan().stages.empty();
  const auto is_concrete = [](const detail::Block* block) { return !is_symbolic(block); };
  is_bound_ = !std::all_of(captures.begin(), captures.end(),
                           [&](const Tensor& capture) { return all_parts(capture, is_concrete); });
}

bool Trace::knows_captures() const {
  const auto* const around = dynamic_cast<const GraphTracer*>(context.tracer);
  const auto knows = [&](const detail::Block* block) { return !is_symbolic(block) || around->knows(block); };
  return around != nullptr && std::all_of(captures.begin(), captures.end(),
                                          [&](const Tensor& capture) { return all_parts(capture, knows); });
}

const ObservedGraph& Trace::with_captures(const std::vector<bool>& known) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ObservedGraph>& found = with_captures_[known];
  if (found == nullptr) {
    const SuspendTrace suspend;
    auto made = std::make_unique<ObservedGraph>();
    made->graph = observed_graph(raw, known);
    found = std::move(made);
  }
  return *found;
}

void Trace::run(std::span<const Source> leaves, RunBuffers& buffers, std::vector<Tensor>& outputs) const {
  const Graph& graph = context.tracer == nullptr ? plain.graph : raw;
  std::vector<detail::Block*>& blocks = buffers.blocks;
  // Those among the arguments, each once, and then those that the trace has captured.
  std::vector<detail::VariableState*>& variables = buffers.variables;
  for (const Source& leaf : leaves) {
    if (leaf.tensor() != nullptr) {
      blocks.push_back(leaf.tensor()->block());
    } else if (std::find(variables.begin(), variables.end(), leaf.variable()->state()) == variables.end()) {
      variables.push_back(leaf.variable()->state());
    }
  }
  const std::size_t tensors = blocks.size();
  for (std::size_t i = variables.size(); i < graph.captured.size(); ++i) {
    variables.push_back(graph.captured[i].variable.state());
  }
  for (detail::VariableState* variable : variables) {
    notify_read(*variable);
    blocks.push_back(current_value(*variable).block());
  }
  if (context.observers == nullptr && context.tracer == nullptr) {
    program->run(blocks, outputs);
  } else {
    std::vector<Tensor> inputs;
    inputs.reserve(blocks.size());
    for (detail::Block* block : blocks) inputs.push_back(share(block));
    // Within a trace its ops become nodes of that, and its tapes see them one by one.
    if (context.tracer == nullptr) {
      outputs = run_and_record(inputs, tensors);
    } else {
      const auto position = inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(tensors), captures.size(), {});
      std::transform(captures.begin(), captures.end(), position, [](const Tensor& c) { return c.to_dense(); });
      outputs = run_graph(graph, std::move(inputs));
    }
  }
  std::size_t next = graph.results.size();
  const PauseObservers pause;
  for (std::size_t i = 0; i < graph.captured.size(); ++i) {
    if (graph.captured[i].written == Graph::kNone) continue;
    Tensor& written = outputs[next++];
    // One that was updated where it lies is empty.
    if (written.has_value()) replace_value(*variables[i], std::move(written));
  }
  outputs.resize(graph.results.size());
  for (std::size_t i = rows.size(); i-- > 0;) {
    const auto& [position, shape] = rows[i];
    const auto values = outputs.begin() + static_cast<std::ptrdiff_t>(position) + 1;
    outputs[position] = make_row_sparse(std::move(outputs[position]), std::move(*values), shape);
    outputs.erase(values);
  }
}

// `inputs` are so many tensors, then the values of variables.
std::vector<Tensor> Trace::run_and_record(const std::vector<Tensor>& inputs, std::size_t tensors) const {
  const Graph& graph = plain.graph;
  // Captures that somebody knows are inputs of what is recorded; to the run they are constants.
  std::vector<Tensor> recorded = inputs;
  const ObservedGraph* derivatives = &plain;
  std::vector<bool> known;
  for (const Tensor& capture : captures) {
    const Tensor dense = capture.to_dense();  // which those see who know the rows
    known.push_back(is_known(dense.block()));
    if (known.back()) recorded.insert(recorded.begin() + static_cast<std::ptrdiff_t>(tensors++), dense);
  }
  if (recorded.size() > inputs.size()) derivatives = &with_captures(known);
  const std::vector<ObservedInput> sources = observed(recorded);
  EffectLog log;
  std::vector<Tensor> outputs;
  {
    const PauseObservers pause;
    // A guard has to see every op.
    if (has_effects || context.guard != nullptr) {
      outputs = run_graph(graph, inputs, &log);
    } else {
      program->run(blocks_of(inputs), outputs);
    }
    // A result may be an argument itself, or the same tensor as another; a record has outputs of its own.
    for (std::size_t i = 0; i < graph.results.size(); ++i) {
      if (outputs[i].has_value()) outputs[i] = identity(outputs[i]);
    }
  }
  std::vector<Tensor> results;  // those that exist
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    if (outputs[i].has_value()) results.push_back(outputs[i]);
  }
  if (results.empty()) return outputs;
  const auto call = std::make_shared<Call>();
  call->trace = shared_from_this();
  call->of = derivatives;
  call->inputs = std::move(recorded);
  call->effects = std::move(log.values);
  const CustomRule rule = {.vjp = RuleWithPaths{call},
                           .jvp = [call](std::span<const Tensor> tangents) { return call->tangents(tangents); }};
  notify(context.observers, CustomCall{sources, results, rule});
  return outputs;
}

}  // namespace capstan
