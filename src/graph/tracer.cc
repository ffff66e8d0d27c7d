#include "src/graph/tracer.h"

#include <cstring>
#include <utility>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"
#include "src/graph/control.h"
#include "src/graph/gradient_paths.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

GraphTracer::GraphTracer(std::string name, bool first)
    : name_(std::move(name)),
      first_(first),
      outer_observers_(context.observers),
      outer_guard_(context.guard),
      outer_tracer_(context.tracer) {
  context.observers = context.guard = nullptr;
  context.tracer = this;
}

GraphTracer::GraphTracer(std::string name) : GraphTracer(std::move(name), false) {
  is_part_ = true;
  around_ = dynamic_cast<GraphTracer*>(outer_tracer_);
}

GraphTracer::GraphTracer(std::string name, ForItems) : GraphTracer(std::move(name)) {
  for_items_ = true;
  if (around_ != nullptr) return;
  hides_observers_ = false;
  context.observers = outer_observers_;
  context.guard = outer_guard_;
}

GraphTracer::~GraphTracer() {
  if (hides_observers_) context.observers = outer_observers_;
  context.guard = outer_guard_;
  context.tracer = outer_tracer_;
}

bool GraphTracer::knows(const Block* block) const {
  return known_.count(block) != 0 || (around_ != nullptr && around_->knows(block));
}

Tensor GraphTracer::make_symbolic(Graph::Value value) {
  const Graph::ValueInfo& info = graph_.values[static_cast<std::size_t>(value)];
  Tensor tensor = symbolic(info.dtype, info.shape);
  known_.emplace(tensor.block(), value);
  held_.push_back(tensor);
  return tensor;
}

Tensor GraphTracer::add_argument(DType dtype, const Shape& shape) {
  const Graph::Value value = graph_.add_value(dtype, shape);
  graph_.arguments.push_back(value);
  return make_symbolic(value);
}

Graph::Value GraphTracer::graph_value(Block* block) {
  const auto found = known_.find(block);
  if (found != known_.end()) return found->second;
  const bool is_capture = is_symbolic(block)
                              ? around_ != nullptr && around_->knows(block)
                              : for_items_ || (is_part_ && (block->node != 0 || (block->flags & Block::kLeaf) != 0));
  if (is_capture) {
    const Graph::Value value = graph_.add_value(block->dtype, TensorRef(block).shape());
    graph_.arguments.push_back(value);
    captures_.push_back(share(block));
    known_.emplace(block, value);
    return value;
  }
  if (is_symbolic(block)) {
    throw TraceError(detail::join(name_, ": ", describe(TensorRef(block)), " belongs to the trace of another ",
                                  around_ == nullptr ? "function" : "branch, body or function",
                                  help("pass it as an argument, and return what is needed outside")));
  }
  Tensor constant = share(block);
  const Graph::Value value = graph_.add_value(constant.dtype(), constant.shape(), constant);
  known_.emplace(block, value);
  held_.push_back(std::move(constant));
  return value;
}

void GraphTracer::trace(const OpDef& op, std::span<Block* const> inputs, const void* attributes,
                        std::vector<Tensor>& outputs) {
  OutputSpecs specs;
  infer_outputs(op, inputs, attributes, specs);
  Graph::Node node{.op = &op, .inputs = {}, .outputs = {}, .renew = {}};
  for (Block* block : inputs) node.inputs.push_back(graph_value(block));
  if (op.attributes != nullptr) std::memcpy(node.attributes, attributes, op.attributes->size);
  outputs.clear();
  for (int i = 0; i < specs.size(); ++i) {
    node.outputs.push_back(graph_.add_value(specs[i].dtype, specs[i].shape));
    outputs.push_back(make_symbolic(node.outputs.back()));
  }
  graph_.nodes.push_back(std::move(node));
  if (const Control* control = control_of(op, attributes)) graph_.controls.push_back(control->shared_from_this());
}

void GraphTracer::renew_attributes(std::function<void(void*)> renew) { graph_.nodes.back().renew = std::move(renew); }

void GraphTracer::creating_variable() {
  if (around_ != nullptr) return around_->creating_variable();
  CAPSTAN_CHECK(first_, ValueError, name_, ": variables can be made in the first trace only",
                help("make them once, outside of the function or behind a check that they do not exist"));
}

GraphTracer::Holding& GraphTracer::holding_of(VariableState& variable) {
  const auto found = variables_.find(&variable);
  if (found != variables_.end()) return found->second;
  const Tensor& value = variable.value;
  const Graph::Value begin = graph_.add_value(value.dtype(), value.shape());
  graph_.captured.push_back({Variable::share(&variable), begin});
  const Tensor symbolic = make_symbolic(begin);
  return variables_.emplace(&variable, Holding{graph_.captured.size() - 1, symbolic, symbolic}).first->second;
}

void GraphTracer::add_argument(const Variable& variable) { holding_of(*variable.state()); }

const Tensor& GraphTracer::value_of(VariableState& variable) {
  Holding& holding = holding_of(variable);
  if (holding.assigned && is_differentiable(variable.value.dtype())) {
    Block* const blocks[] = {holding.current.block(), holding.begin.block()};
    std::vector<Tensor> outputs;
    trace(kReread, blocks, nullptr, outputs);
    holding.current = std::move(outputs[0]);
  }
  holding.assigned = false;
  return holding.current;
}

void GraphTracer::assign(VariableState& variable, const Tensor& value) {
  Holding& holding = holding_of(variable);
  // A tensor of its own, so that a tape takes what is read from now on for a leaf.
  const Graph::Value now = graph_value(value.block());
  graph_.captured[holding.captured].written = now;
  holding.current = make_symbolic(now);
  holding.assigned = true;
}

Graph GraphTracer::finish(const std::vector<Tensor>& results) {
  for (const Tensor& result : results) {
    graph_.results.push_back(result.has_value() ? graph_value(result.to_dense().block()) : Graph::kNone);
  }
  for (Graph::Captured& captured : graph_.captured) {
    if (captured.written == captured.value) captured.written = Graph::kNone;
  }
  return std::move(graph_);
}

}  // namespace capstan
