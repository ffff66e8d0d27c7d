// function(): one trace for each signature (trace.h), found by the key of a call.
#include "capstan/function.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/profiler.h"
#include "src/core/variable_state.h"
#include "src/graph/shapes.h"
#include "src/graph/tracer.h"
#include "src/transforms/call_key.h"
#include "src/transforms/shape_family.h"
#include "src/transforms/spare.h"
#include "src/transforms/trace.h"

namespace capstan {

namespace {

std::atomic<bool> eagerly{false};

// Programs made from one trace for other shapes are made again when they are needed; so many are kept.
constexpr std::size_t kMostDerived = 64;

// A function that calls itself while it is traced gets no deeper.
constexpr std::size_t kMostNested = 100;

// The buffers of a call, which are public, and those of the run. Every TracedCall has such ones.
struct KeptBuffers : detail::CallBuffers {
  RunBuffers run;

  void clear() {
    signature.clear();
    tensors.clear();
    trace.reset();
    run.clear();
  }
};

}  // namespace

class FunctionState {
 public:
  explicit FunctionState(const FunctionOptions& options) : options_(options), name_(options_.name) {}

  // `open`: where in the key lengths are that are open, beside those that the options leave open.
  const void* call(KeptBuffers& call, const std::vector<std::size_t>& open, const detail::FunctionBody& body) {
    const Span span(SpanKind::kFunction, name_);
    std::shared_ptr<const Trace> found = last_like(call.signature);
    if (found == nullptr) found = find_or_trace(call.signature, open, body);
    return run(std::move(found), call);
  }

  // Nothing unless the call is sure to end soon without waiting for a lock.
  std::optional<const void*> call_if_short(KeptBuffers& call) {
    if (context.observers != nullptr || context.tracer != nullptr || context.backend != nullptr) return std::nullopt;
    std::shared_ptr<const Trace> found = last_like(call.signature);
    if (found == nullptr || !found->is_short) return std::nullopt;
    const Span span(SpanKind::kFunction, name_);
    return run(std::move(found), call);
  }

  std::shared_ptr<const Trace> find_or_trace(const detail::CallSignature& signature,
                                             const std::vector<std::size_t>& open, const detail::FunctionBody& body) {
    // Recursive: a function may call itself with other plain values while it is traced.
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Trace> trace;
    const auto found = programs_.find(signature.key);
    if (found != programs_.end() && found->second.trace->serves_here()) {
      found->second.last_use = ++uses_;
      trace = found->second.trace;
    } else {
      trace = make_program(signature, open.empty() ? open_by_options(signature.key) : open, body);
    }
    // What describes the result of the trace before may go with it, and that may take a lock of another language.
    std::shared_ptr<const Trace> before = trace;
    const SpinGuard guard(last_lock_);
    last_.swap(before);
    last_key_ = signature.key;
    return trace;
  }

  // Where in a key lengths are that the options leave open.
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
  static const void* run(std::shared_ptr<const Trace> trace, KeptBuffers& call) {
    const Trace& kept = *trace;
    call.trace = std::move(trace);
    kept.run(call.signature.leaves, call.run, call.tensors);
    return kept.structure.get();
  }

  // Most calls are like the one before.
  std::shared_ptr<const Trace> last_like(const detail::CallSignature& signature) {
    const SpinGuard guard(last_lock_);
    return last_key_ == signature.key && last_->serves_here() ? last_ : nullptr;
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
      Trace::RowResults rows;
      RawTrace raw = trace_body(signature, body, &rows);
      note_trace(signature, true);
      return keep(signature.key, std::move(raw), false, std::move(rows));
    }
    const OpenCall call = open_call(signature.key, open);
    ShapeFamily& family = families_[call.kind];
    if (family.covers(call.lengths)) {
      std::optional<Graph> derived = derive(family.first().graph, signature);
      if (derived) {
        return keep(signature.key, {*std::move(derived), family.first().captures, family.first().structure}, true);
      }
    }
    const bool is_declared = !options_.input_signature.empty() && !options_.reduce_retracing;
    if (is_declared) check_independence(family);
    const bool is_first = family.is_empty();
    RawTrace raw = trace_body(signature, body);
    family.add(raw, call.lengths);
    if (!is_first && family.dependence().empty()) probe(family, call.lengths, signature, open, body);
    if (is_declared) check_independence(family);
    note_trace(signature, is_first || options_.input_signature.empty() || !family.dependence().empty());
    if (!family.dependence().empty()) reason_ += "; each shape needs a trace of its own: " + family.dependence();
    return keep(signature.key, std::move(raw), family.dependence().empty());
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

  void note_trace(const detail::CallSignature& signature, bool counts) {
    reason_ = traced_key_.empty() ? "it is the first call" : difference_of_calls(traced_key_, signature.key);
    traced_key_ = signature.key;
    owners_.insert(signature.owner);
    if (counts) ++traces_;
  }

  // Compiles a graph and keeps it for calls with this key.
  std::shared_ptr<const Trace> keep(const CallKey& key, RawTrace raw, bool is_derived, Trace::RowResults rows = {}) {
    const auto trace = std::make_shared<Trace>();
    trace->name = name_;
    trace->raw = std::move(raw.graph);
    trace->captures = std::move(raw.captures);
    trace->structure = std::move(raw.structure);
    trace->rows = std::move(rows);
    trace->make_program(options_.memory_budget);
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
                      Trace::RowResults* rows = nullptr) {
    const Tracing tracing(*this, signature.key);
    GraphTracer tracer(name_, GraphTracer::OfFunction{!owners_.contains(signature.owner)});
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
    raw.captures = tracer.captures();
    for (const Graph::Captured& captured : raw.graph.captured) {
      CAPSTAN_CHECK(captured.variable.state()->refs.load(std::memory_order_relaxed) > 1, ValueError, name_,
                    ": the variable \"", captured.variable.name(),
                    "\" was made here and is gone when the function returns",
                    help("keep it outside of the function, and make it there or only if it does not exist yet"));
    }
    return raw;
  }

  // One trace under way; a function may be traced within its own trace, but not without end.
  class Tracing {
   public:
    Tracing(FunctionState& state, const CallKey& key) : state_(state) {
      std::vector<const CallKey*>& keys = state.being_traced_;
      const auto is_same = [&](const CallKey* other) { return *other == key; };
      CAPSTAN_CHECK(std::none_of(keys.begin(), keys.end(), is_same), TraceError, state.name_,
                    ": it calls itself with the arguments that it is being traced for, which has no end",
                    help("write a loop, such as while_loop, or call the C++ function itself"));
      CAPSTAN_CHECK(keys.size() < kMostNested, TraceError, state.name_, ": it is being traced ", kMostNested,
                    " times, each time within the trace before, and calls itself with further arguments",
                    help("write a loop, such as while_loop"));
      keys.push_back(&key);
    }
    ~Tracing() { state_.being_traced_.pop_back(); }
    Tracing(const Tracing&) = delete;
    Tracing& operator=(const Tracing&) = delete;

   private:
    FunctionState& state_;
  };

  const FunctionOptions options_;
  const std::string& name_;
  mutable std::recursive_mutex mutex_;
  std::map<CallKey, Kept> programs_;            // by what was called, lengths included
  std::map<CallKey, ShapeFamily> families_;     // by what was called, open lengths aside
  SpinLock last_lock_;                          // of last_ and last_key_
  std::shared_ptr<const Trace> last_, newest_;  // the last called one, the last made one
  CallKey last_key_, traced_key_;
  std::set<std::uint64_t> owners_;  // that have a trace
  std::vector<const CallKey*> being_traced_;
  std::uint64_t uses_ = 0;
  int traces_ = 0;
  std::string reason_;
};

std::shared_ptr<FunctionState> detail::make_function(const FunctionOptions& options) {
  return std::make_shared<FunctionState>(options);
}

detail::TracedCall::TracedCall() : buffers_(Spare<KeptBuffers>::take()) {}
detail::TracedCall::~TracedCall() { Spare<KeptBuffers>::give_back(static_cast<KeptBuffers*>(buffers_)); }

const void* detail::call_traced(FunctionState& state, CallBuffers& call, const FunctionBody& body) {
  return state.call(static_cast<KeptBuffers&>(call), {}, body);
}

std::optional<const void*> detail::call_traced_if_short(FunctionState& state, CallBuffers& call) {
  return state.call_if_short(static_cast<KeptBuffers&>(call));
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

  const void* call(KeptBuffers& call, const detail::FunctionBody& body) const {
    check(call.signature);
    return function_->call(call, open_, body);
  }

  std::string signature() const {
    std::string text = function_->options().name + "(";
    bool is_first = true;
    for (const std::string& entry : entries_of(kind_, names_))
      text += (std::exchange(is_first, false) ? "" : ", ") + entry;
    text += ") -> (";
    is_first = true;
    for (const std::optional<TensorSpec>& result : results())
      text += (std::exchange(is_first, false) ? "" : ", ") + (result ? result->to_string() : "none");
    return text + ")";
  }
  const Graph& graph() const { return trace_->plain.graph; }
  const Graph& raw_graph() const { return trace_->raw; }
  // The types of the results, nothing for an empty one; what changes with the open lengths is open.
  std::vector<std::optional<TensorSpec>> results() const {
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
    std::vector<std::optional<TensorSpec>> specs;
    auto rows = trace_->rows.begin();
    for (std::size_t k = 0; k < graph.results.size(); ++k) {
      const Graph::Value result = graph.results[k];
      if (result == Graph::kNone) {
        specs.emplace_back();
        continue;
      }
      Shape shape = shape_of(graph, result);
      for (int i = 0; other && i < shape.rank(); ++i) {
        if (shape_of(*other, result)[i] != shape[i]) shape.set(i, -1);
      }
      const bool is_rows = rows != trace_->rows.end() && rows->first == k;
      if (is_rows) shape = (rows++)->second;
      const Graph::Value elements = is_rows ? graph.results[++k] : result;
      specs.emplace_back(TensorSpec(shape, graph.values[static_cast<std::size_t>(elements)].dtype));
    }
    return specs;
  }
  const void* structure() const { return trace_->structure.get(); }

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
  return state.call(static_cast<KeptBuffers&>(call), body);
}
std::string detail::concrete_signature(const ConcreteState& state) { return state.signature(); }
std::vector<std::optional<TensorSpec>> detail::concrete_results(const ConcreteState& state) { return state.results(); }
const void* detail::concrete_structure(const ConcreteState& state) { return state.structure(); }
std::string detail::concrete_text(const ConcreteState& state) { return to_text(state.graph()); }
std::string detail::concrete_dot(const ConcreteState& state) { return to_dot(state.graph()); }
std::vector<GraphNode> detail::concrete_nodes(const ConcreteState& state) { return to_nodes(state.graph()); }

const Graph& traced_graph(const ConcreteState& state) { return state.raw_graph(); }

bool detail::functions_run_eagerly() { return eagerly.load(std::memory_order_relaxed); }
void run_functions_eagerly(bool value) { eagerly.store(value, std::memory_order_relaxed); }

int tracing_count(const FunctionState& state) { return state.tracing_count(); }
std::string retrace_reason(const FunctionState& state) { return state.retrace_reason(); }
std::string graph_text(const FunctionState& state) { return to_text(state.newest().plain.graph); }
std::string graph_dot(const FunctionState& state) { return to_dot(state.newest().plain.graph); }

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
  if (!again.empty())
    text += detail::join("; ", Program(trace.plain.graph).arena_bytes(), " without computing again: ");
  bool is_first = true;
  for (const auto& [name, count] : again) {
    text += detail::join(std::exchange(is_first, false) ? "" : ", ", name, " (", count, ")");
  }
  return text;
}

}  // namespace capstan
