// Runs a graph op by op. A value is dropped, or given up to the op, where it is read last, so that buffers are reused
// as in a function written by hand.
#include <bit>
#include <cstring>
#include <utility>

#include "src/core/apply.h"
#include "src/core/context.h"
#include "src/graph/graph.h"

namespace capstan {

std::vector<Tensor> run_graph(const Graph& graph, std::vector<Tensor> inputs, EffectValues* effects) {
  std::vector<Tensor> values(graph.values.size());
  const auto at = [](Graph::Value value) { return static_cast<std::size_t>(value); };
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].constant.has_value()) values[i] = graph.values[i].constant;
  }
  for (std::size_t i = 0; i < graph.arguments.size(); ++i) values[at(graph.arguments[i])] = std::move(inputs[i]);
  for (std::size_t i = 0; i < graph.captured.size(); ++i) {
    values[at(graph.captured[i].value)] = std::move(inputs[graph.arguments.size() + i]);
  }
  inputs.clear();

  const bool again = effects != nullptr && !effects->empty();
  std::size_t effect = 0;
  std::vector<Operand> operands;
  for (const Graph::Node& node : graph.nodes) {
    if (again && node.has_effect()) {
      for (const Graph::Value output : node.outputs) values[at(output)] = (*effects)[effect++];
      continue;
    }
    alignas(16) std::byte renewed[sizeof(node.attributes)];
    const void* attributes = node.op->attributes == nullptr ? nullptr : node.attributes;
    // In an enclosing trace the node is not run but traced once more, and renewed at every run of that.
    const bool traced = node.renew && context.tracer != nullptr;
    if (node.renew && !traced) {
      std::memcpy(renewed, node.attributes, sizeof(renewed));
      node.renew(renewed);
      attributes = renewed;
    }
    operands.clear();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Tensor& value = values[at(node.inputs[i])];
      const bool last = i < 64 && (node.last_reads >> i & 1) != 0;
      operands.push_back(last ? Operand(std::move(value)) : Operand(std::as_const(value)));
    }
    if (node.outputs.size() == 1) {
      values[at(node.outputs[0])] = apply(*node.op, operands, attributes);
    } else {
      std::vector<Tensor> outputs = apply_all(*node.op, operands, attributes);
      for (std::size_t k = 0; k < outputs.size(); ++k) values[at(node.outputs[k])] = std::move(outputs[k]);
    }
    if (traced) context.tracer->renew_attributes(node.renew);
    for (std::uint64_t last = node.last_reads; last != 0; last &= last - 1) {
      values[at(node.inputs[static_cast<std::size_t>(std::countr_zero(last))])] = {};
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Tensor& output = values[at(node.outputs[k])];
      if (effects != nullptr && node.has_effect()) effects->push_back(output);
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
