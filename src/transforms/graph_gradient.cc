#include "src/transforms/graph_gradient.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capstan/ops/math.h"
#include "capstan/tape.h"
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

std::vector<Tensor> GraphGradient::run(const Graph& graph, const std::vector<Tensor>& inputs,
                                       std::span<const Tensor> cotangents) {
  std::call_once(made_, [&] { make(graph); });
  if (program_ == nullptr) return gradients_of(graph, inputs, {}, cotangents);
  std::vector<Tensor> dense;  // keeps what the program is lent
  std::vector<detail::Block*> blocks;
  for (const Tensor& input : inputs) blocks.push_back(input.block());
  for (const Tensor& cotangent : cotangents) {
    dense.push_back(cotangent.to_dense());
    blocks.push_back(dense.back().block());
  }
  std::vector<Tensor> gradients;
  program_->run(blocks, gradients);
  return gradients;
}

void GraphGradient::make(const Graph& graph) {
  const auto info = [&](Graph::Value value) -> const Graph::ValueInfo& {
    return graph.values[static_cast<std::size_t>(value)];
  };
  GraphTracer tracer("gradient", false);
  std::vector<Tensor> inputs;
  std::vector<Tensor> cotangents;
  const auto argument = [&](Graph::Value value) { return tracer.add_argument(info(value).dtype, info(value).shape); };
  for (const Graph::Value value : graph.arguments) inputs.push_back(argument(value));
  for (const Graph::Captured& captured : graph.captured) inputs.push_back(argument(captured.value));
  for (const Graph::Value result : graph.results) {
    if (result != Graph::kNone) cotangents.push_back(argument(result));
  }
  const std::vector<Tensor> gradients = gradients_of(graph, inputs, {}, cotangents);
  // A program would make dense what has few rows.
  const auto is_sparse = [](const Tensor& gradient) { return gradient.has_value() && gradient.is_row_sparse(); };
  if (std::any_of(gradients.begin(), gradients.end(), is_sparse)) return;
  program_ = std::make_unique<Program>(tracer.finish(gradients));
}

}  // namespace capstan
