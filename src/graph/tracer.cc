#include "src/graph/tracer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/live.h"
#include "src/core/variable_state.h"
#include "src/graph/control.h"
#include "src/graph/gradient_paths.h"
#include "src/graph/known.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

namespace {

// Bytes that notes may keep alive before those that nobody can ask for are looked for.
constexpr std::int64_t kMostNoted = std::int64_t{1} << 26;

// Bytes of a noted result that is kept although only noted nodes read it.
constexpr std::int64_t kMostKept = 4096;

bool has_flag(const Block* block, unsigned flag) { return (block->flags.load(std::memory_order_relaxed) & flag) != 0; }

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.size() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

// The outermost observer of every trace that notes. One for each thread: a tape that was opened in a trace and outlives
// it still refers to it.
class NoteTaker final : public Observer {
 public:
  void record(const ObservedCall& call) override {
    if (notes()) static_cast<GraphTracer*>(tracer())->note(call);
  }
  // Those who make such calls make nodes in a trace.
  void record(const CustomCall&) override {}
  void read(VariableState&) override {}
  bool knows(const Block* block) const override { return notes() && is_differentiable(block->dtype); }

 private:
  static Tracer* tracer() { return context.tracer != nullptr ? context.tracer : context.behind; }
  static bool notes() { return tracer() != nullptr && tracer()->notes(); }
};

// It has no state and nothing around it, so threads share it.
constinit NoteTaker note_taker;

}  // namespace

GraphTracer::GraphTracer(std::string name, Kind kind, bool first)
    : name_(std::move(name)),
      kind_(kind),
      first_(first),
      outer_observers_(context.observers),
      outer_guard_(context.guard),
      outer_tracer_(context.tracer) {
  if (kind != Kind::kProgram) around_ = static_cast<GraphTracer*>(outer_tracer_);
  parts_note_ = kind != Kind::kProgram && (around_ == nullptr || around_->parts_note_);
  notes_ = parts_note_ && (kind != Kind::kItems || around_ != nullptr);
  context.tracer = this;
  if (kind == Kind::kItems && around_ == nullptr) return;
  context.observers = context.guard = notes_ ? &note_taker : nullptr;
}

GraphTracer::GraphTracer(std::string name, bool first) : GraphTracer(std::move(name), Kind::kProgram, first) {}
GraphTracer::GraphTracer(std::string name, OfFunction function)
    : GraphTracer(std::move(name), Kind::kFunction, function.first) {}
GraphTracer::GraphTracer(std::string name, OfPart) : GraphTracer(std::move(name), Kind::kPart, false) {}
GraphTracer::GraphTracer(std::string name, ForItems) : GraphTracer(std::move(name), Kind::kItems, false) {}

GraphTracer::~GraphTracer() {
  // Observers that stay have come and gone by themselves.
  if (kind_ != Kind::kItems || around_ != nullptr) context.observers = outer_observers_;
  context.guard = outer_guard_;
  context.tracer = outer_tracer_;
}

bool GraphTracer::knows(const Block* block) const {
  return (is_symbolic(block) && known_.count(block) != 0) || (around_ != nullptr && around_->knows(block));
}

bool GraphTracer::is_live(const Block* block) const {
  return known_.count(block) != 0 || (outer_tracer_ != nullptr && outer_tracer_->is_live(block));
}

Tensor GraphTracer::make_symbolic(Graph::Value value) {
  const Graph::ValueInfo& info = graph_.values[static_cast<std::size_t>(value)];
  Tensor tensor = symbolic(info.dtype, info.shape, name_);
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
  if (is_symbolic(block) && (around_ == nullptr || !around_->knows(block))) {
    check_live(name_, TensorRef(block));
    throw TraceError(
        detail::join(name_, ": ", describe(TensorRef(block)), " belongs to the trace of another ",
                     kind_ == Kind::kPart || kind_ == Kind::kItems ? "branch, body or function" : "function",
                     help("pass it as an argument, and return what is needed outside")));
  }
  Tensor tensor = share(block);
  const Graph::Value value =
      graph_.add_value(block->dtype, TensorRef(block).shape(), is_symbolic(block) ? Tensor() : tensor);
  known_.emplace(block, value);
  const bool has_derivatives = is_differentiable(block->dtype) && !has_flag(block, Block::kShapeOnly);
  if (is_symbolic(block)) {
    foreign_.push_back({value, std::move(tensor), true});
  } else if (kind_ == Kind::kItems || (notes_ && has_derivatives)) {
    foreign_.push_back({value, {}});
  }
  return value;
}

// Whether a tensor that the trace has used comes from an op in it, traced or noted.
bool GraphTracer::is_made_here(const Block* block) const {
  if (is_symbolic(block)) return around_ == nullptr || !around_->knows(block);
  const auto found = known_.find(block);
  return found != known_.end() && graph_.values[static_cast<std::size_t>(found->second)].known.has_value();
}

// A row-sparse tensor from outside is captured as itself, and `dense`, which it has just been converted to, is what the
// graph reads in its place. Each conversion gives another tensor. One whose rows are of the trace is what they are.
void GraphTracer::note_dense(Block* row_sparse, const Tensor& dense) {
  if (is_made_here(row_sparse->sparse.values) || is_made_here(row_sparse->sparse.indices)) return;
  const auto [found, is_new] = known_.try_emplace(row_sparse, Graph::kNone);
  const bool symbolic = is_symbolic(dense.block());
  if (is_new) {
    found->second = graph_.add_value(dense.dtype(), dense.shape(), symbolic ? Tensor() : dense);
    foreign_.push_back({found->second, share(row_sparse), symbolic});
  }
  const Graph::Value value = found->second;
  known_[dense.block()] = value;
  held_.push_back(dense);
}

void GraphTracer::trace(const OpDef& op, std::span<Block* const> inputs, const void* attributes,
                        std::vector<Tensor>& outputs) {
  OutputSpecs specs;
  infer_outputs(op, inputs, attributes, specs);
  Graph::Node node{.op = &op, .inputs = {}, .outputs = {}, .renew = {}};
  for (Block* block : inputs) {
    node.inputs.push_back(graph_value(block));
    use(node.inputs.back());
  }
  if (op.attributes != nullptr) std::memcpy(node.attributes, attributes, op.attributes->size);
  outputs.clear();
  for (int i = 0; i < specs.size(); ++i) {
    node.outputs.push_back(graph_.add_value(specs[i].dtype, specs[i].shape));
    outputs.push_back(make_symbolic(node.outputs.back()));
  }
  graph_.nodes.push_back(std::move(node));
  if (const Control* control = control_of(op, attributes)) graph_.controls.push_back(control->shared_from_this());
}

void GraphTracer::use(Graph::Value value) {
  const auto position = static_cast<std::size_t>(value);
  if (used_.size() <= position) used_.resize(graph_.values.size());
  used_[position] = true;
}

void GraphTracer::note(const ObservedCall& call) {
  if (capstan::has_flag(call.op, kNotDifferentiable) || capstan::has_flag(call.op, kStateful)) return;
  if (!call.inputs.empty() && has_flag(call.inputs[0].block, Block::kRowSparse)) {
    note_dense(call.inputs[0].block, call.outputs[0]);
    if (kind_ != Kind::kFunction && around_ != nullptr && around_->notes_) around_->note(call);
    return;
  }
  Graph::Node node{.op = &call.op, .inputs = {}, .outputs = {}, .renew = {}};
  bool any = false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Block* const block = call.inputs[i].block;
    const std::size_t bit = call.op.inputs.count == kVariadic ? 0 : i;
    if ((call.op.shape_inputs >> bit & 1) != 0) continue;
    if (has_flag(block, Block::kShapeOnly)) return;
    any = any || is_differentiable(block->dtype);
  }
  const auto is_plain = [](const Tensor& output) { return !is_symbolic(output.block()); };
  if (!any || !std::all_of(call.outputs.begin(), call.outputs.end(), is_plain)) return;
  for (const ObservedInput& input : call.inputs) node.inputs.push_back(graph_value(input.block));
  if (call.op.attributes != nullptr) std::memcpy(node.attributes, call.attributes, call.op.attributes->size);
  node.is_known = true;
  for (const Tensor& output : call.outputs) {
    node.outputs.push_back(graph_.add_value(output.dtype(), output.shape()));
    graph_.values.back().known = output;
    known_.emplace(output.block(), node.outputs.back());
    noted_.push_back(node.outputs.back());
    noted_bytes_ += bytes_of(output);
  }
  graph_.nodes.push_back(std::move(node));
  if (const Control* control = control_of(call.op, call.attributes)) {
    graph_.controls.push_back(control->shared_from_this());
  }
  if (noted_bytes_ > kMostNoted) forget_unused();
  // It may leave a branch or body by a capture: what it was computed from exists around it as well.
  if (kind_ != Kind::kFunction && around_ != nullptr && around_->notes_) around_->note(call);
}

// Lets go of noted results that only this trace and those around it still hold, and no op of the graph reads.
void GraphTracer::forget_unused() {
  const auto holders_of = [this](const Block* block) {
    std::uint32_t holders = 1;
    for (const GraphTracer* t = this; t->kind_ != Kind::kFunction && t->around_ != nullptr; t = t->around_) {
      holders += static_cast<std::uint32_t>(t->around_->known_.count(block));
    }
    return holders;
  };
  noted_bytes_ = 0;
  std::erase_if(noted_, [&](Graph::Value value) {
    Tensor& tensor = graph_.values[static_cast<std::size_t>(value)].known;
    const bool is_used = static_cast<std::size_t>(value) < used_.size() && used_[static_cast<std::size_t>(value)];
    if (is_used || tensor.block()->refs.load(std::memory_order_acquire) > holders_of(tensor.block())) {
      noted_bytes_ += bytes_of(tensor);
      return false;
    }
    known_.erase(tensor.block());
    tensor = {};
    return true;
  });
  // What is in use does not count any more.
  noted_bytes_ = std::min(noted_bytes_, kMostNoted / 2);
}

void GraphTracer::renew_attributes(std::function<void(void*)> renew) { graph_.nodes.back().renew = std::move(renew); }

void GraphTracer::creating_variable() {
  if (kind_ != Kind::kFunction && around_ != nullptr) return around_->creating_variable();
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
  use(now);
  graph_.captured[holding.captured].written = now;
  holding.current = make_symbolic(now);
  holding.assigned = true;
}

Graph GraphTracer::finish(const std::vector<Tensor>& results) {
  for (const Tensor& result : results) {
    graph_.results.push_back(result.has_value() ? graph_value(result.to_dense().block()) : Graph::kNone);
    if (result.has_value()) use(graph_.results.back());
  }
  add_captures();
  settle_notes();
  for (Graph::Captured& captured : graph_.captured) {
    if (captured.written == captured.value) captured.written = Graph::kNone;
  }
  return std::move(graph_);
}

// A tensor that was made in the trace and that nobody else holds is a constant for everybody.
void GraphTracer::add_captures() {
  for (Foreign& foreign : foreign_) {
    Graph::ValueInfo& info = graph_.values[static_cast<std::size_t>(foreign.value)];
    if (!foreign.is_symbolic) {
      const Block* const block = (foreign.tensor.has_value() ? foreign.tensor : info.constant).block();
      const bool is_capture =
          kind_ == Kind::kItems || may_be_known(block) || block->refs.load(std::memory_order_acquire) > 1;
      if (!is_capture) continue;
      if (!foreign.tensor.has_value()) foreign.tensor = info.constant;
      if (kind_ != Kind::kItems) info.known = info.constant;
      info.constant = {};
    }
    graph_.arguments.push_back(foreign.value);
    captures_.push_back(std::move(foreign.tensor));
  }
}

// Noted nodes are of use where they lead from a capture to what the graph needs. The others go, and what they gave is a
// constant.
void GraphTracer::settle_notes() {
  std::vector<bool> follows(graph_.values.size());
  const auto at = [](Graph::Value value) { return static_cast<std::size_t>(value); };
  if (noted_.empty() &&
      std::none_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Graph::Node& node) { return node.is_known; })) {
    return;
  }
  for (const Graph::Value argument : graph_.arguments) follows[at(argument)] = true;
  std::vector<bool> goes(graph_.nodes.size());
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    Graph::Node& node = graph_.nodes[n];
    if (!node.is_known) continue;
    const bool leads = reads_any(node, follows);
    goes[n] = !leads && is_held(graph_, node);
    for (const Graph::Value output : node.outputs) {
      follows[at(output)] = leads;
      if (goes[n]) graph_.values[at(output)].constant = std::move(graph_.values[at(output)].known);
      if (goes[n]) graph_.values[at(output)].known = {};
    }
  }
  used_.resize(graph_.values.size());
  const std::vector<bool> read = used_;
  for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
    const Graph::Node& node = graph_.nodes[n];
    if (!node.is_known || goes[n]) continue;
    goes[n] =
        std::none_of(node.outputs.begin(), node.outputs.end(), [&](Graph::Value output) { return used_[at(output)]; });
    if (goes[n]) continue;
    for (const Graph::Value input : node.inputs) used_[at(input)] = true;
  }
  std::size_t n = 0;
  std::erase_if(graph_.nodes, [&](const Graph::Node&) { return goes[n++]; });
  // What only noted nodes read is computed again where somebody differentiates by it, rather than kept.
  for (const Graph::Value value : noted_) {
    Graph::ValueInfo& info = graph_.values[at(value)];
    if (!used_[at(value)]) info.constant = {};
    if (!used_[at(value)] || (!read[at(value)] && info.known.has_value() && bytes_of(info.known) > kMostKept)) {
      info.known = {};
    }
  }
  const std::size_t own = graph_.arguments.size() - captures_.size();
  for (std::size_t i = captures_.size(); i-- > 0;) {
    const auto argument = graph_.arguments.begin() + static_cast<std::ptrdiff_t>(own + i);
    if (used_[at(*argument)]) continue;
    graph_.values[at(*argument)].known = {};
    graph_.arguments.erase(argument);
    captures_.erase(captures_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace capstan
