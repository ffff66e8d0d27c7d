#include "src/transforms/batching.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/hooks.h"
#include "src/core/row_shape.h"
#include "src/graph/control.h"
#include "src/graph/run_attributes.h"
#include "src/ops/batching.h"

namespace capstan {

namespace {

// Every item has its own draws.
bool differs_by_itself(const OpDef& op) { return has_flag(op, kStateful) && !has_flag(op, kSameForItems); }

// Says once for each op that it has no rule for what it was given.
void report(const OpDef& op, const Control* control) {
  static std::mutex mutex;
  static std::set<std::string> reported;
  const std::string name = control != nullptr ? control->name() : std::string(op.name);
  const std::lock_guard lock(mutex);
  if (!reported.insert(name).second) return;
  warn(name + " runs item by item in a vectorized call, which is slow");
}

// One call of a node, by itself.
std::vector<Tensor> run_plain(const Graph::Node& node, std::vector<Tensor> inputs) {
  if (const Control* control = control_of(*node.op, node.attributes)) {
    return call_control(*control, std::move(inputs), nullptr, false);
  }
  const RunAttributes attributes(node);
  std::vector<Operand> operands;
  for (Tensor& input : inputs) operands.emplace_back(std::move(input));
  std::vector<Tensor> outputs = apply_all(*node.op, operands, attributes.data());
  attributes.close();
  return outputs;
}

// One item after the other.
std::vector<Tensor> run_items(const Graph::Node& node, const std::vector<Tensor>& inputs,
                              const std::vector<std::uint8_t>& batched, std::int64_t size) {
  std::vector<std::vector<Tensor>> slices(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (batched[i] != 0) slices[i] = unstack(inputs[i]);
  }
  std::vector<std::vector<Tensor>> outputs;
  for (std::int64_t item = 0; item < size; ++item) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(batched[i] != 0 ? slices[i][static_cast<std::size_t>(item)] : inputs[i]);
    }
    std::vector<Tensor> one = run_plain(node, std::move(operands));
    outputs.resize(one.size());
    for (std::size_t k = 0; k < one.size(); ++k) {
      CAPSTAN_CHECK(item == 0 || one[k].shape() == outputs[k][0].shape(), ShapeError, node.op->name, ": item ", item,
                    " gives the shape ", one[k].shape(), ", item 0 ", outputs[k][0].shape(),
                    help("the results of all items need one shape; write a loop"));
      outputs[k].push_back(std::move(one[k]));
    }
  }
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor>& list : outputs) stacked.push_back(stack(list));
  return stacked;
}

// Of a value that differs, what stands for one item where only its shape is read.
Tensor shape_of_item(const Tensor& x) {
  if (is_symbolic(x.block())) return x(0);
  return shape_only(x.dtype(), row_shape(x.shape()));
}

}  // namespace

Tensor with_axis(const Batched& value, std::int64_t size) {
  return value.per_item ? value.tensor : repeated(value.tensor, size);
}

BatchedGraph::BatchedGraph(const Graph& graph, std::vector<Tensor> inputs, const std::vector<bool>& per_item)
    : graph_(graph), differs_(graph.values.size()), values_(graph.values.size()) {
  // Values that are known before there are items.
  std::vector<bool> ready(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    values_[i] = graph.values[i].constant;
    ready[i] = values_[i].has_value();
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Graph::Value value = graph.input(i);
    if (per_item[i]) {
      items_.push_back(value);
      differs_[at(value)] = true;
    } else {
      values_[at(value)] = inputs[i].to_dense();
      ready[at(value)] = true;
    }
  }
  for (const Graph::Node& node : graph.nodes) {
    bool differs = differs_by_itself(*node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      differs |= differs_[at(node.inputs[i])] && !reads_shape_only(node, i);
    }
    const bool runs_now = !differs && std::all_of(node.inputs.begin(), node.inputs.end(),
                                                  [&](Graph::Value input) { return ready[at(input)]; });
    for (const Graph::Value output : node.outputs) {
      differs_[at(output)] = differs;
      ready[at(output)] = runs_now;
    }
    if (runs_now) {
      run_node(node, values_, 0);
    } else {
      later_.push_back(&node);
    }
  }
}

std::int64_t BatchedGraph::bytes_per_item() const {
  std::vector<std::int64_t> held(graph_.values.size());
  std::int64_t now = 0;
  std::int64_t most = 0;
  const auto hold = [&](Graph::Value value) {
    const Graph::ValueInfo& info = graph_.values[at(value)];
    if (!differs_[at(value)]) return;
    held[at(value)] = info.shape.size() * static_cast<std::int64_t>(size_of(info.dtype));
    now += held[at(value)];
  };
  for (const Graph::Value item : items_) hold(item);
  for (const Graph::Node* node : later_) {
    for (const Graph::Value output : node->outputs) hold(output);
    most = std::max(most, now);
    for (std::size_t i = 0; i < node->inputs.size() && i < 64; ++i) {
      if ((node->last_reads >> i & 1) != 0) now -= std::exchange(held[at(node->inputs[i])], 0);
    }
  }
  return std::max(most, now);
}

void BatchedGraph::run_node(const Graph::Node& node, std::vector<Tensor>& values, std::int64_t size) const {
  std::vector<Tensor> inputs;
  std::vector<std::uint8_t> batched;
  bool any = differs_by_itself(*node.op);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Graph::Value input = node.inputs[i];
    const bool differs = differs_[at(input)];
    if (differs && reads_shape_only(node, i)) {
      inputs.push_back(shape_of_item(values[at(input)]));
      batched.push_back(0);
      continue;
    }
    inputs.push_back(values[at(input)]);
    batched.push_back(differs ? 1 : 0);
    any |= differs;
  }
  for (std::size_t i = 0; i < node.inputs.size() && i < 64; ++i) {
    if ((node.last_reads >> i & 1) != 0 && differs_[at(node.inputs[i])]) values[at(node.inputs[i])] = {};
  }
  std::vector<Tensor> outputs;
  if (!any) {
    outputs = run_plain(node, std::move(inputs));
  } else {
    const OpDef& op = *node.op;
    const void* attributes = op.attributes == nullptr ? nullptr : node.attributes;
    const BatchRule rule = op.kind == OpKind::kElementwise ? batch_broadcasting : op.batch;
    const BatchCall call{op, inputs, batched, size, attributes};
    const Control* const control = control_of(op, attributes);
    const auto has_way = [&] {
      return control != nullptr ? control->batch(call, outputs) : rule != nullptr && rule(call, outputs);
    };
    if (node.has_effect() || !has_way()) {
      if (!node.has_effect()) report(op, control);
      outputs = run_items(node, inputs, batched, size);
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool unread = k < 64 && (node.unread_outputs >> k & 1) != 0;
    if (!unread) values[at(node.outputs[k])] = std::move(outputs[k]);
  }
}

std::vector<Batched> BatchedGraph::run(std::vector<Tensor> items, std::int64_t size) const {
  std::vector<Tensor> values = values_;
  for (std::size_t i = 0; i < items.size(); ++i) values[at(items_[i])] = std::move(items[i]);
  for (const Graph::Node* node : later_) run_node(*node, values, size);
  std::vector<Batched> results;
  const auto add = [&](Graph::Value result) {
    results.push_back(result == Graph::kNone ? Batched() : Batched{values[at(result)], differs_[at(result)]});
  };
  for (const Graph::Value result : graph_.results) add(result);
  for (const Graph::Captured& captured : graph_.captured) {
    if (captured.written != Graph::kNone) add(captured.written);
  }
  return results;
}

}  // namespace capstan
