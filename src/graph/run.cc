// Runs a graph op by op. A value is dropped, or given up to the op, where it is read last, so that buffers are reused
// as in a function written by hand.
#include <bit>
#include <utility>

#include "src/core/apply.h"
#include "src/core/profiler.h"
#include "src/graph/control.h"
#include "src/graph/graph.h"
#include "src/graph/known.h"
#include "src/graph/run_attributes.h"

namespace capstan {

namespace {

bool is_last_read(const Graph::Node& node, std::size_t i) { return i < 64 && (node.last_reads >> i & 1) != 0; }

void run_control(const Control& control, const Graph::Node& node, std::vector<Tensor>& values, EffectLog* log) {
  Span span(SpanKind::kOp, control.op->name);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Tensor& value = values[static_cast<std::size_t>(node.inputs[i])];
    inputs.push_back(is_last_read(node, i) ? std::move(value) : Tensor(value));
  }
  const bool log_read = control.effects && (node.unread_outputs & 1) == 0;
  std::vector<Tensor> outputs = call_control(control, std::move(inputs), log, log_read);
  span.close(outputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (k < 64 && (node.unread_outputs >> k & 1) != 0) continue;
    values[static_cast<std::size_t>(node.outputs[k])] = std::move(outputs[k]);
  }
}

}  // namespace

std::vector<Tensor> run_graph(const Graph& graph, std::vector<Tensor> inputs, EffectLog* log) {
  const std::vector<bool> skipped = nodes_to_skip(graph, inputs);
  std::vector<Tensor> values(graph.values.size());
  const auto at = [](Graph::Value value) { return static_cast<std::size_t>(value); };
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].constant.has_value()) values[i] = graph.values[i].constant;
    if (!skipped.empty() && graph.values[i].known.has_value()) values[i] = graph.values[i].known;
  }
  for (std::size_t i = 0; i < graph.arguments.size(); ++i) values[at(graph.arguments[i])] = std::move(inputs[i]);
  for (std::size_t i = 0; i < graph.captured.size(); ++i) {
    values[at(graph.captured[i].value)] = std::move(inputs[graph.arguments.size() + i]);
  }
  inputs.clear();

  const bool replay = log != nullptr && log->replay;
  std::vector<Operand> operands;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Graph::Node& node = graph.nodes[n];
    if (!skipped.empty() && skipped[n]) continue;
    if (const Control* control = control_of(*node.op, node.attributes)) {
      run_control(*control, node, values, log);
      continue;
    }
    if (replay && node.has_effect()) {
      for (const Graph::Value output : node.outputs) values[at(output)] = log->values[log->next++];
      continue;
    }
    const RunAttributes attributes(node);
    operands.clear();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Tensor& value = values[at(node.inputs[i])];
      operands.push_back(is_last_read(node, i) ? Operand(std::move(value)) : Operand(std::as_const(value)));
    }
    if (node.outputs.size() == 1) {
      values[at(node.outputs[0])] = apply(*node.op, operands, attributes.data());
    } else {
      std::vector<Tensor> outputs = apply_all(*node.op, operands, attributes.data());
      for (std::size_t k = 0; k < outputs.size(); ++k) values[at(node.outputs[k])] = std::move(outputs[k]);
    }
    attributes.close();
    for (std::uint64_t last = node.last_reads; last != 0; last &= last - 1) {
      values[at(node.inputs[static_cast<std::size_t>(std::countr_zero(last))])] = {};
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Tensor& output = values[at(node.outputs[k])];
      if (log != nullptr && node.has_effect()) log->values.push_back(output);
      if (k < 64 && (node.unread_outputs >> k & 1) != 0) output = {};
    }
  }

  std::vector<Tensor> results;
  for (const Graph::Value result : graph.results) {
    results.push_back(result == Graph::kNone ? Tensor() : values[at(result)]);
  }
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written != Graph::kNone) results.push_back(values[at(captured.written)]);
  }
  return results;
}

}  // namespace capstan
