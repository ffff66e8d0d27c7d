#include "src/transforms/graph_gradient.h"

#include <mutex>
#include <algorithm>
#include <iterator>
#include <utility>

#include "capstan/forward.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
#include "src/graph/tracer.h"

namespace capstan {

std::vector<Tensor> gradients_of(const Graph& graph, std::vector<Tensor> inputs, std::vector<Tensor> effects,
                                 std::span<const Tensor> cotangents) {
  // Copies, so that each is a source of its own even if two arguments are one tensor.
  for (Tensor& input : inputs) input = identity(input);
  GradientTape tape({.persistent = false, .watch_accessed_variables = false});
  std::vector<Tensor> watched;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(watched),
               [](const Tensor& input) { return is_differentiable(input.dtype()); });
  tape.watch(watched);
  EffectLog log = EffectLog::again(std::move(effects));
  const std::vector<Tensor> outputs = run_graph(graph, inputs, &log);
  std::vector<Tensor> targets;
  GradientOptions options;
  std::size_t next = 0;
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    if (!outputs[i].has_value()) continue;
    const Tensor& cotangent = cotangents[next++];
    if (!is_differentiable(outputs[i].dtype())) continue;
    targets.push_back(outputs[i]);
    options.output_gradients.push_back(cotangent);
  }
  return tape.gradient(targets, inputs, options);
}

std::vector<Tensor> tangents_of(const Graph& graph, std::vector<Tensor> inputs, std::vector<Tensor> effects,
                                std::span<const Tensor> tangents) {
  std::vector<Tensor> primals;
  std::vector<Tensor> moving;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!tangents[i].has_value()) continue;
    inputs[i] = identity(inputs[i]);
    primals.push_back(inputs[i]);
    moving.push_back(tangents[i]);
  }
  const ForwardAccumulator accumulator(primals, moving);
  EffectLog log = EffectLog::again(std::move(effects));
  std::vector<Tensor> outputs = run_graph(graph, std::move(inputs), &log);
  outputs.resize(graph.results.size());
  std::erase_if(outputs, [](const Tensor& output) { return !output.has_value(); });
  return accumulator.jvp(outputs);
}

namespace {

// What a program made of a graph takes first.
std::vector<Tensor> symbolic_inputs(GraphTracer& tracer, const Graph& graph) {
  std::vector<Tensor> inputs;
  const auto add = [&](Graph::Value value) {
    const Graph::ValueInfo& info = graph.values[static_cast<std::size_t>(value)];
    inputs.push_back(tracer.add_argument(info.dtype, info.shape));
  };
  for (const Graph::Value value : graph.arguments) add(value);
  for (const Graph::Captured& captured : graph.captured) add(captured.value);
  return inputs;
}

}  // namespace

std::vector<Tensor> GraphTangent::run(const Graph& graph, const std::vector<Tensor>& inputs,
                                      std::span<const Tensor> tangents) {
  std::vector<bool> which;
  std::vector<detail::Block*> blocks;
  for (const Tensor& input : inputs) blocks.push_back(input.block());
  for (const Tensor& tangent : tangents) {
    which.push_back(tangent.has_value());
    if (tangent.has_value()) blocks.push_back(tangent.block());
  }
  const Program* program = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Program>& kept = programs_[which];
    if (kept == nullptr) {
      GraphTracer tracer("jvp", false);
      std::vector<Tensor> symbols = symbolic_inputs(tracer, graph);
      std::vector<Tensor> moving(tangents.size());
      for (std::size_t i = 0; i < moving.size(); ++i) {
        if (which[i]) moving[i] = tracer.add_argument(tangents[i].dtype(), tangents[i].shape());
      }
      kept = std::make_unique<Program>(tracer.finish(tangents_of(graph, std::move(symbols), {}, moving)));
    }
    program = kept.get();
  }
  std::vector<Tensor> found;
  program->run(blocks, found);
  return found;
}

std::vector<Tensor> GraphGradient::run(const Graph& graph, const std::vector<Tensor>& inputs,
                                       std::span<const Tensor> cotangents, std::size_t budget) {
  made_.run([&] { make(graph, budget); });
  std::vector<Tensor> dense;  // keeps what the program is lent
  std::vector<detail::Block*> blocks;
  for (const Tensor& input : inputs) blocks.push_back(input.block());
  for (const Tensor& cotangent : cotangents) {
    dense.push_back(cotangent.to_dense());
    blocks.push_back(dense.back().block());
  }
  std::vector<Tensor> found;
  program_->run(blocks, found);
  std::vector<Tensor> gradients;
  std::size_t next = 0;
  for (const std::optional<Shape>& rows : rows_) {
    Tensor gradient = std::move(found[next++]);
    gradients.push_back(rows ? make_row_sparse(std::move(gradient), std::move(found[next++]), *rows)
                             : std::move(gradient));
  }
  return gradients;
}

void GraphGradient::make(const Graph& graph, std::size_t budget) {
  const auto info = [&](Graph::Value value) -> const Graph::ValueInfo& {
    return graph.values[static_cast<std::size_t>(value)];
  };
  GraphTracer tracer("gradient", false);
  const std::vector<Tensor> inputs = symbolic_inputs(tracer, graph);
  std::vector<Tensor> cotangents;
  for (const Graph::Value result : graph.results) {
    if (result != Graph::kNone) cotangents.push_back(tracer.add_argument(info(result).dtype, info(result).shape));
  }
  std::vector<Tensor> results;
  for (const Tensor& gradient : gradients_of(graph, inputs, {}, cotangents)) {
    if (gradient.has_value() && gradient.is_row_sparse()) {
      rows_.emplace_back(gradient.shape());
      results.insert(results.end(), {gradient.indices(), gradient.values()});
    } else {
      rows_.emplace_back();
      results.push_back(gradient);
    }
  }
  program_ = std::make_unique<Program>(tracer.finish(results), budget);
}

}  // namespace capstan
