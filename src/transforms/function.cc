// function(): one trace for each signature, run as a graph.
//
// A call under tapes is one record for them. Its rule runs the stored graph again under a tape of its own, op by op, so
// that gradients of any order exist; draws and other effects are not repeated but taken from the call.
#include "capstan/function.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/profiler.h"
#include "src/core/variable_state.h"
#include "src/graph/program.h"
#include "src/graph/shapes.h"
#include "src/graph/tracer.h"
#include "src/tape/tape_impl.h"
#include "src/transforms/call_key.h"
#include "src/transforms/graph_gradient.h"
#include "src/transforms/shape_family.h"
#include "src/transforms/spare.h"
#include "src/transforms/uses.h"

namespace capstan {

namespace {

std::atomic<bool> eagerly{false};

// Results that are row-sparse, each of which is two of the graph: the position of its indices there, and its shape.
using RowResults = std::vector<std::pair<std::size_t, Shape>>;

// One trace for one list of shapes. It lives as long as its function, or as a tape that has recorded a call of it.
struct Trace : std::enable_shared_from_this<Trace> {
  Graph raw;    // as it was made: calls within other traces run it, where shapes may still be open
  Graph graph;  // as tapes see it run
  std::size_t budget = 0;
  std::optional<Program> program;
  mutable GraphGradient gradient;
  mutable GraphTangent tangent;
  bool has_effects = false;
  std::shared_ptr<const void> structure;  // of the result, without its tensors
  RowResults rows;
};

// Programs made from one trace for other shapes are made again when they are needed; so many are kept.
constexpr std::size_t kMostDerived = 64;

}  // namespace

namespace {

// What a run needs for a moment; the thread keeps it between runs.
struct RunBuffers {
  std::vector<detail::Block*> blocks;
  std::vector<detail::VariableState*> variables;

  void clear() {
    blocks.clear();
    variables.clear();
  }
  using Scope = Spare<RunBuffers>;
};

}  // namespace

class FunctionState {
 public:
  explicit FunctionState(const FunctionOptions& options) : options_(options), name_(options_.name) {}

  // `open`: where in the key lengths stand that are open, beside those that the options leave open.
  const void* call(detail::CallBuffers& call, const std::vector<std::size_t>& open, const detail::FunctionBody& body) {
    const Span span(SpanKind::kFunction, name_);
    std::shared_ptr<const Trace> found = last_like(call.signature);
    if (found == nullptr) found = find_or_trace(call.signature, open, body);
    const Trace& trace = *found;
    call.trace = std::move(found);
    run(trace, call.signature.leaves, call.tensors);
    return trace.structure.get();
  }

  std::shared_ptr<const Trace> find_or_trace(const detail::CallSignature& signature,
                                             const std::vector<std::size_t>& open, const detail::FunctionBody& body) {
    // Recursive: a function may call itself with other plain values while it is traced.
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Trace> trace;
    const auto found = programs_.find(signature.key);
    if (found != programs_.end()) {
      found->second.last_use = ++uses_;
      trace = found->second.trace;
    } else {
      trace = make_program(signature, open.empty() ? open_by_options(signature.key) : open, body);
    }
    const SpinGuard guard(last_lock_);
    last_ = trace;
    last_key_ = signature.key;
    return trace;
  }

  // Where in a key lengths stand that the options leave open.
  std::vector<std::size_t> open_by_options(const CallKey& key) const {
    if (!options_.input_signature.empty()) return open_lengths(name_, options_.input_signature, key);
    return options_.reduce_retracing ? lengths_of_tensors(key) : std::vector<std::size_t>();
  }

  const FunctionOptions& options() const { return options_; }

  int tracing_count() const {
    const std::lock_guard lock(mutex_);
    return traces_;
  }
  std::string retrace_reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  const Trace& newest() const {
    const std::lock_guard lock(mutex_);
    CAPSTAN_CHECK(newest_ != nullptr, ValueError, name_, ": there is no trace yet", help("call the function first"));
    return *newest_;
  }

 private:
  // Most calls are like the one before.
  std::shared_ptr<const Trace> last_like(const detail::CallSignature& signature) {
    const SpinGuard guard(last_lock_);
    return last_key_ == signature.key ? last_ : nullptr;
  }

  struct Kept {
    std::shared_ptr<const Trace> trace;
    std::uint64_t last_use;
    bool is_derived;  // can be made again without running the function
  };

  std::shared_ptr<const Trace> make_program(const detail::CallSignature& signature,
                                            const std::vector<std::size_t>& open, const detail::FunctionBody& body) {
    const Span span(SpanKind::kTrace, name_);
    if (open.empty()) {
      RowResults rows;
      RawTrace raw = trace_body(signature, body, &rows);
      note_trace(signature.key, true);
      return keep(signature.key, std::move(raw.graph), std::move(raw.structure), false, std::move(rows));
    }
    const OpenCall call = open_call(signature.key, open);
    ShapeFamily& family = families_[call.kind];
    if (family.covers(call.lengths)) {
      std::optional<Graph> derived = derive(family.first().graph, signature);
      if (derived) return keep(signature.key, *std::move(derived), family.first().structure, true);
    }
    const bool is_declared = !options_.input_signature.empty();
    if (is_declared) check_independence(family);
    const bool is_first = family.is_empty();
    RawTrace raw = trace_body(signature, body);
    family.add(raw, call.lengths);
    if (!is_first && family.dependence().empty()) probe(family, call.lengths, signature, open, body);
    if (is_declared) check_independence(family);
    note_trace(signature.key, is_first || !is_declared);
    if (!family.dependence().empty()) reason_ += "; each shape needs a trace of its own: " + family.dependence();
    return keep(signature.key, std::move(raw.graph), std::move(raw.structure), family.dependence().empty());
  }

  // Traces for lengths far from those of the call. What they do not fit says nothing.
  void probe(ShapeFamily& family, const std::vector<std::int64_t>& lengths, const detail::CallSignature& signature,
             const std::vector<std::size_t>& open, const detail::FunctionBody& body) {
    for (const std::vector<std::int64_t>& other : family.probes(lengths)) {
      const detail::CallSignature invented = with_lengths(signature, open, other);
      try {
        family.add(trace_body(invented, body), other);
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  // Nothing if the shapes do not fit: the function itself says best what is wrong with them.
  static std::optional<Graph> derive(const Graph& graph, const detail::CallSignature& signature) {
    std::vector<Shape> shapes;
    for (const Source& leaf : signature.leaves) {
      if (leaf.tensor() != nullptr) shapes.push_back(leaf.tensor()->shape());
    }
    try {
      return with_shapes(graph, shapes);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void check_independence(const ShapeFamily& family) const {
    if (family.dependence().empty()) return;
    std::string specs;
    for (const TensorSpec& spec : options_.input_signature) specs += (specs.empty() ? "" : ", ") + spec.to_string();
    throw TraceError(
        detail::join(name_, ": its trace depends on a length that its input_signature leaves open; ",
                     family.dependence(), "\n  input_signature: ", specs,
                     help("take lengths from tensors: size(x), shape(x), reshape with -1, *_like; or leave "
                          "out the input_signature, and each shape has a trace of its own")));
  }

  void note_trace(const CallKey& key, bool counts) {
    reason_ = traced_key_.empty() ? "it is the first call" : difference_of_calls(traced_key_, key);
    traced_key_ = key;
    if (counts) ++traces_;
  }

  // Compiles a graph and keeps it for calls with this key.
  std::shared_ptr<const Trace> keep(const CallKey& key, Graph raw, std::shared_ptr<const void> structure,
                                    bool is_derived, RowResults rows = {}) {
    const auto trace = std::make_shared<Trace>();
    trace->graph = raw;
    trace->raw = std::move(raw);
    trace->structure = std::move(structure);
    trace->rows = std::move(rows);
    detach_shapes(trace->graph);
    fold_constants(trace->graph);
    tidy(trace->graph);
    trace->budget = options_.memory_budget;
    trace->program.emplace(trace->graph, trace->budget);
    trace->has_effects = std::any_of(trace->graph.nodes.begin(), trace->graph.nodes.end(),
                                     [](const Graph::Node& node) { return node.has_effect(); });
    if (is_derived) forget_oldest();
    programs_[key] = {trace, ++uses_, is_derived};
    newest_ = trace;
    return trace;
  }

  void forget_oldest() {
    std::size_t derived = 0;
    auto oldest = programs_.end();
    for (auto it = programs_.begin(); it != programs_.end(); ++it) {
      if (!it->second.is_derived) continue;
      ++derived;
      if (oldest == programs_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
    }
    if (derived >= kMostDerived) programs_.erase(oldest);
  }

  // Without a list for them, row-sparse results become dense: where lengths are open, their shapes may be.
  RawTrace trace_body(const detail::CallSignature& signature, const detail::FunctionBody& body,
                      RowResults* rows = nullptr) {
    GraphTracer tracer(name_, traced_key_.empty());
    std::vector<Tensor> tensors;
    RawTrace raw;
    for (const Source& leaf : signature.leaves) {
      if (leaf.variable() != nullptr) {
        tracer.add_argument(*leaf.variable());
        ++raw.argument_variables;
      } else {
        tensors.push_back(tracer.add_argument(leaf.tensor()->dtype(), leaf.tensor()->shape()));
      }
    }
    detail::CallSignature values;
    raw.structure = body(tensors, values);
    raw.values = std::move(values.key);
    for (std::size_t i = 0; rows != nullptr && i < tensors.size(); ++i) {
      if (!tensors[i].has_value() || !tensors[i].is_row_sparse()) continue;
      rows->push_back({i, tensors[i].shape()});
      const Tensor parts[] = {tensors[i].indices(), tensors[i].values()};
      tensors[i] = parts[0];
      tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(++i), parts[1]);
    }
    raw.graph = tracer.finish(tensors);
    for (const Graph::Captured& captured : raw.graph.captured) {
      CAPSTAN_CHECK(captured.variable.state()->refs.load(std::memory_order_relaxed) > 1, ValueError, name_,
                    ": the variable \"", captured.variable.name(),
                    "\" was made here and is gone when the function returns",
                    help("keep it outside of the function, and make it there or only if it does not exist yet"));
    }
    return raw;
  }

  static void run(const Trace& trace, std::span<const Source> leaves, std::vector<Tensor>& outputs) {
    const Graph& graph = context.tracer == nullptr ? trace.graph : trace.raw;
    const RunBuffers::Scope scope;
    std::vector<detail::Block*>& blocks = scope->blocks;
    // Those among the arguments, each once, and then those that the trace has captured.
    std::vector<detail::VariableState*>& variables = scope->variables;
    for (const Source& leaf : leaves) {
      if (leaf.tensor() != nullptr) {
        blocks.push_back(leaf.tensor()->block());
      } else if (std::find(variables.begin(), variables.end(), leaf.variable()->state()) == variables.end()) {
        variables.push_back(leaf.variable()->state());
      }
    }
    for (std::size_t i = variables.size(); i < graph.captured.size(); ++i) {
      variables.push_back(graph.captured[i].variable.state());
    }
    for (detail::VariableState* variable : variables) {
      notify_read(*variable);
      blocks.push_back(current_value(*variable).block());
    }
    if (context.observers == nullptr && context.tracer == nullptr) {
      trace.program->run(blocks, outputs);
    } else {
      std::vector<Tensor> inputs;
      inputs.reserve(blocks.size());
      for (detail::Block* block : blocks) inputs.push_back(share(block));
      // Within a trace its ops become nodes of that, and its tapes see them one by one.
      const bool recorded = context.tracer == nullptr;
      outputs = recorded ? run_and_record(trace, inputs) : run_graph(graph, std::move(inputs));
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
    for (std::size_t i = trace.rows.size(); i-- > 0;) {
      const auto& [position, shape] = trace.rows[i];
      const auto values = outputs.begin() + static_cast<std::ptrdiff_t>(position) + 1;
      outputs[position] = make_row_sparse(std::move(outputs[position]), std::move(*values), shape);
      outputs.erase(values);
    }
  }

  static std::vector<detail::Block*> blocks_of(const std::vector<Tensor>& tensors) {
    std::vector<detail::Block*> blocks;
    for (const Tensor& tensor : tensors) blocks.push_back(tensor.block());
    return blocks;
  }

  static std::vector<Tensor> run_and_record(const Trace& trace, const std::vector<Tensor>& inputs) {
    const Graph& graph = trace.graph;
    const std::vector<ObservedInput> sources = observed(inputs);
    EffectLog log;
    std::vector<Tensor> outputs;
    {
      const PauseObservers pause;
      // A guard has to see every op.
      if (trace.has_effects || context.guard != nullptr) {
        outputs = run_graph(graph, inputs, &log);
      } else {
        trace.program->run(blocks_of(inputs), outputs);
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
    struct Call {
      std::shared_ptr<const Trace> trace;
      std::vector<Tensor> inputs;
      std::vector<Tensor> effects;
      bool op_by_op() const { return context.observers != nullptr || context.tracer != nullptr || trace->has_effects; }
    };
    const auto call = std::make_shared<const Call>(Call{trace.shared_from_this(), inputs, std::move(log.values)});
    const CustomRule rule = {.vjp =
                                 [call](std::span<const Tensor> cotangents) {
                                   const Trace& trace = *call->trace;
                                   return call->op_by_op()
                                              ? gradients_of(trace.graph, call->inputs, call->effects, cotangents)
                                              : trace.gradient.run(trace.graph, call->inputs, cotangents, trace.budget);
                                 },
                             .jvp =
                                 [call](std::span<const Tensor> tangents) {
                                   const Trace& trace = *call->trace;
                                   return call->op_by_op()
                                              ? tangents_of(trace.graph, call->inputs, call->effects, tangents)
                                              : trace.tangent.run(trace.graph, call->inputs, tangents);
                                 }};
    notify(context.observers, CustomCall{sources, results, rule});
    return outputs;
  }

  const FunctionOptions options_;
  const std::string& name_;
  mutable std::recursive_mutex mutex_;
  std::map<CallKey, Kept> programs_;            // by what was called, lengths included
  std::map<CallKey, ShapeFamily> families_;     // by what was called, open lengths aside
  SpinLock last_lock_;                          // of last_ and last_key_
  std::shared_ptr<const Trace> last_, newest_;  // the last called one, the last made one
  CallKey last_key_, traced_key_;
  std::uint64_t uses_ = 0;
  int traces_ = 0;
  std::string reason_;
};

std::shared_ptr<FunctionState> detail::make_function(const FunctionOptions& options) {
  return std::make_shared<FunctionState>(options);
}

namespace {

// The buffers of a call, which are public, as something to keep.
struct KeptBuffers : detail::CallBuffers {
  void clear() {
    signature.clear();
    tensors.clear();
    trace.reset();
  }
};

}  // namespace

detail::TracedCall::TracedCall() : buffers_(Spare<KeptBuffers>::take()) {}
detail::TracedCall::~TracedCall() { Spare<KeptBuffers>::give_back(static_cast<KeptBuffers*>(buffers_)); }

const void* detail::call_traced(FunctionState& state, CallBuffers& call, const FunctionBody& body) {
  return state.call(call, {}, body);
}

// --- Concrete functions ---

// One kind of calls of a function.
class ConcreteState {
 public:
  ConcreteState(std::shared_ptr<FunctionState> function, const detail::CallSignature& signature,
                const detail::FunctionBody& body)
      : function_(std::move(function)), kind_(signature.key), names_(signature.names), open_(signature.open) {
    const FunctionOptions& options = function_->options();
    const std::vector<std::size_t> open = function_->open_by_options(signature.key);
    if (open_.empty() && !options.input_signature.empty()) open_ = open;
    if (!options.input_signature.empty()) {
      names_.clear();
      for (const TensorSpec& spec : options.input_signature) names_.push_back(spec.name);
    }
    for (const std::size_t position : open_) kind_[position] = kOpenLength;
    trace_ = function_->find_or_trace(signature, open_, body);
  }

  const void* call(detail::CallBuffers& call, const detail::FunctionBody& body) const {
    check(call.signature);
    return function_->call(call, open_, body);
  }

  std::string signature() const {
    std::string text = function_->options().name + "(";
    bool is_first = true;
    for (const std::string& entry : entries_of(kind_, names_))
      text += (std::exchange(is_first, false) ? "" : ", ") + entry;
    return text + ") -> (" + results() + ")";
  }
  const Graph& graph() const { return trace_->graph; }

 private:
  void check(const detail::CallSignature& signature) const {
    const CallKey& key = signature.key;
    bool fits = key.size() == kind_.size();
    for (std::size_t i = 0; fits && i < key.size(); ++i) fits = kind_[i] == kOpenLength || kind_[i] == key[i];
    if (fits) return;
    const std::vector<std::string> wanted = entries_of(kind_);
    CallKey shown = key;
    if (key.size() == kind_.size()) {
      for (const std::size_t position : open_) shown[position] = kOpenLength;
    }
    const std::vector<std::string> differing = entries_of(shown);
    const std::vector<std::string> given = entries_of(key);
    std::size_t i = 0;
    while (i < std::min(wanted.size(), given.size()) && wanted[i] == differing[i]) ++i;
    CAPSTAN_CHECK(i < wanted.size() && i < given.size(), ValueError, function_->options().name, ": called with ",
                  given.size(), " arguments, but this concrete function was made for ", wanted.size());
    throw ValueError(detail::join(function_->options().name, ": argument ", i, " is ", given[i],
                                  ", but this concrete function was made for ", wanted[i],
                                  help("call the function itself, or get_concrete() for these arguments")));
  }

  // The types of the results; what changes with the open lengths is open.
  std::string results() const {
    const Graph& graph = trace_->raw;
    std::optional<Graph> other;
    if (!open_.empty()) {
      std::vector<Shape> shapes;
      for (const Graph::Value argument : graph.arguments) shapes.push_back(shape_of(graph, argument));
      const std::vector<std::size_t> all = lengths_of_tensors(kind_);
      std::size_t next = 0;
      for (Shape& shape : shapes) {
        for (int i = 0; i < shape.rank(); ++i, ++next) {
          if (kind_[all[next]] == kOpenLength) shape.set(i, shape[i] + 1);
        }
      }
      try {
        other = with_shapes(graph, shapes);
      } catch (const Error&) {
        // The lengths depend on each other; shown are those of the trace.
      }
    }
    std::string text;
    auto rows = trace_->rows.begin();
    for (std::size_t k = 0; k < graph.results.size(); ++k) {
      const Graph::Value result = graph.results[k];
      if (!text.empty()) text += ", ";
      if (result == Graph::kNone) {
        text += "none";
        continue;
      }
      Shape shape = shape_of(graph, result);
      for (int i = 0; other && i < shape.rank(); ++i) {
        if (shape_of(*other, result)[i] != shape[i]) shape.set(i, -1);
      }
      const bool is_rows = rows != trace_->rows.end() && rows->first == k;
      if (is_rows) shape = (rows++)->second;
      const Graph::Value elements = is_rows ? graph.results[++k] : result;
      text += TensorSpec(shape, graph.values[static_cast<std::size_t>(elements)].dtype).to_string();
    }
    return text;
  }
  static const Shape& shape_of(const Graph& graph, Graph::Value value) {
    return graph.values[static_cast<std::size_t>(value)].shape;
  }

  std::shared_ptr<FunctionState> function_;
  CallKey kind_;
  std::vector<std::string> names_;  // of tensors
  std::vector<std::size_t> open_;
  std::shared_ptr<const Trace> trace_;
};

std::shared_ptr<ConcreteState> detail::make_concrete(const std::shared_ptr<FunctionState>& state,
                                                     const CallSignature& signature, const FunctionBody& body) {
  return std::make_shared<ConcreteState>(state, signature, body);
}
const void* detail::call_concrete(const ConcreteState& state, CallBuffers& call, const FunctionBody& body) {
  return state.call(call, body);
}
std::string detail::concrete_signature(const ConcreteState& state) { return state.signature(); }
std::string detail::concrete_text(const ConcreteState& state) { return to_text(state.graph()); }
std::string detail::concrete_dot(const ConcreteState& state) { return to_dot(state.graph()); }

bool detail::functions_run_eagerly() { return eagerly.load(std::memory_order_relaxed); }
void run_functions_eagerly(bool value) { eagerly.store(value, std::memory_order_relaxed); }

int tracing_count(const FunctionState& state) { return state.tracing_count(); }
std::string retrace_reason(const FunctionState& state) { return state.retrace_reason(); }
std::string graph_text(const FunctionState& state) { return to_text(state.newest().graph); }
std::string graph_dot(const FunctionState& state) { return to_dot(state.newest().graph); }

std::string memory_use(const FunctionState& state) {
  const Trace& trace = state.newest();
  const Program& program = *trace.program;
  std::map<std::string_view, int> again;
  for (const Graph::Node& node : program.graph().nodes) {
    if (node.rerun < 0) ++again[node.op->name];
  }
  std::string text = detail::join("keeps ", program.arena_bytes(), " bytes at once");
  if (trace.budget == 0) return text + ", there is no budget";
  const bool is_met = program.arena_bytes() <= trace.budget;
  text += detail::join(is_met ? ", its budget is " : ", more than its budget of ", trace.budget);
  if (!is_met) text += ", and nothing is left that it could compute again";
  if (!again.empty()) text += detail::join("; ", Program(trace.graph).arena_bytes(), " without computing again: ");
  bool is_first = true;
  for (const auto& [name, count] : again) {
    text += detail::join(std::exchange(is_first, false) ? "" : ", ", name, " (", count, ")");
  }
  return text;
}

}  // namespace capstan
