// function(): one trace for each signature, run as a graph.
//
// A call under tapes is one record for them. Its rule runs the stored graph again under a tape of its own, op by op, so
// that gradients of any order exist; draws and other effects are not repeated but taken from the call.
#include "capstan/function.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/variable_state.h"
#include "src/graph/graph.h"
#include "src/graph/tracer.h"
#include "src/tape/tape_impl.h"

namespace capstan {

namespace {

std::atomic<bool> eagerly{false};

// One trace. It lives as long as its function, or as a tape that has recorded a call of it.
struct Trace : std::enable_shared_from_this<Trace> {
  Graph graph;
  std::shared_ptr<const void> structure;  // of the result, without its tensors
};

// --- Keys ---

// Behind the word for the types of all arguments, the first word of an entry of a key says what it is.
enum KeyWord : std::uint64_t { kList, kNumber, kText, kTensor, kVariable };

void add_type(std::vector<std::uint64_t>& key, KeyWord word, const TensorRef& tensor) {
  const Shape shape = tensor.shape();
  key.push_back(word);
  key.push_back(static_cast<std::uint64_t>(tensor.dtype()));
  key.push_back(static_cast<std::uint64_t>(shape.rank()));
  for (const std::int64_t length : shape) key.push_back(static_cast<std::uint64_t>(length));
}

// The entries of a key in words.
std::vector<std::string> entries_of(const std::vector<std::uint64_t>& key) {
  std::vector<std::string> entries;
  for (std::size_t i = 1; i < key.size();) {
    const std::uint64_t word = key[i++];
    if (word == kTensor || word == kVariable) {
      const auto dtype = static_cast<DType>(key[i++]);
      Shape shape;
      for (std::uint64_t rank = key[i++]; rank > 0; --rank) shape.push_back(static_cast<std::int64_t>(key[i++]));
      const std::string variable = word == kVariable ? "variable " + std::to_string(key[i++]) + " " : "";
      entries.push_back(variable + std::string(name_of(dtype)) + shape.to_string());
    } else if (word == kText) {
      const std::size_t length = key[i++];
      std::string text(length, '\0');
      std::memcpy(text.data(), key.data() + i, length);
      i += (length + 7) / 8;
      entries.push_back("\"" + text + "\"");
    } else {
      entries.push_back((word == kList ? "a list of " : "a number with the bits ") + std::to_string(key[i++]));
    }
  }
  return entries;
}

std::string difference(const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& now) {
  if (before[0] != now[0]) return "the arguments have other types than before";
  const std::vector<std::string> a = entries_of(before);
  const std::vector<std::string> b = entries_of(now);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return detail::join("argument ", i, " is ", b[i], ", not ", a[i], " as before");
  }
  return detail::join("there are ", b.size(), " arguments, not ", a.size(), " as before");
}

}  // namespace

void detail::CallSignature::add(const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value(), ValueError, "function: an argument is an empty tensor");
  CAPSTAN_CHECK(!tensor.is_row_sparse(), ValueError, "function: an argument is row-sparse",
                help("convert it with to_dense()"));
  add_type(key, kTensor, tensor);
  leaves.emplace_back(tensor);
}

void detail::CallSignature::add(const Variable& variable) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "function: an argument is an empty handle of a variable");
  // Which of the variables before it is the same one.
  std::uint64_t alias = 0;
  for (const Source& leaf : leaves) {
    if (leaf.variable() == nullptr) continue;
    if (*leaf.variable() == variable) break;
    ++alias;
  }
  add_type(key, kVariable, TensorRef(variable.state()->value));
  key.push_back(alias);
  leaves.emplace_back(variable);
}

void detail::CallSignature::add(std::string_view text) {
  key.push_back(kText);
  key.push_back(text.size());
  const std::size_t begin = key.size();
  key.resize(begin + (text.size() + 7) / 8);
  std::memcpy(key.data() + begin, text.data(), text.size());
}

void detail::CallSignature::add_number(std::uint64_t bits) { key.insert(key.end(), {kNumber, bits}); }

void detail::CallSignature::add_list(std::size_t size) { key.insert(key.end(), {kList, size}); }

class FunctionState {
 public:
  explicit FunctionState(const FunctionOptions& options) : name_(options.name) {}

  std::vector<Tensor> call(const detail::CallSignature& signature, const detail::FunctionBody& body,
                           const void** structure) {
    const Trace& trace = find_or_trace(signature, body);
    *structure = trace.structure.get();
    return run(trace, signature.leaves);
  }

  int tracing_count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(traces_.size());
  }
  std::string retrace_reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  const Graph& newest() const {
    const std::lock_guard lock(mutex_);
    CAPSTAN_CHECK(newest_ != nullptr, ValueError, name_, ": there is no trace yet", help("call the function first"));
    return newest_->graph;
  }

 private:
  const Trace& find_or_trace(const detail::CallSignature& signature, const detail::FunctionBody& body) {
    // Recursive: a function may call itself with other plain values while it is traced.
    const std::lock_guard lock(mutex_);
    if (newest_ != nullptr && newest_key_ == signature.key) return *newest_;
    const auto found = traces_.find(signature.key);
    if (found != traces_.end()) return *found->second;
    const std::shared_ptr<const Trace> trace = make_trace(signature, body);
    reason_ = newest_ == nullptr ? "it is the first call" : difference(newest_key_, signature.key);
    traces_.emplace(signature.key, trace);
    newest_key_ = signature.key;
    newest_ = trace;
    return *trace;
  }

  std::shared_ptr<const Trace> make_trace(const detail::CallSignature& signature, const detail::FunctionBody& body) {
    GraphTracer tracer(name_, traces_.empty());
    std::vector<Tensor> tensors;
    for (const Source& leaf : signature.leaves) {
      if (leaf.variable() != nullptr) {
        tracer.add_argument(*leaf.variable());
      } else {
        tensors.push_back(tracer.add_argument(leaf.tensor()->dtype(), leaf.tensor()->shape()));
      }
    }
    const auto trace = std::make_shared<Trace>();
    trace->structure = body(tensors);
    trace->graph = tracer.finish(tensors);
    compile(trace->graph);
    return trace;
  }

  // The variables of a call: those among the arguments, each once, and then those that the trace has captured.
  static std::vector<detail::VariableState*> variables_of(const Graph& graph, std::span<const Source> leaves) {
    std::vector<detail::VariableState*> variables;
    for (const Source& leaf : leaves) {
      if (leaf.variable() == nullptr) continue;
      detail::VariableState* state = leaf.variable()->state();
      if (std::find(variables.begin(), variables.end(), state) == variables.end()) variables.push_back(state);
    }
    for (std::size_t i = variables.size(); i < graph.captured.size(); ++i) {
      variables.push_back(graph.captured[i].variable.state());
    }
    return variables;
  }

  static std::vector<Tensor> run(const Trace& trace, std::span<const Source> leaves) {
    const Graph& graph = trace.graph;
    std::vector<Tensor> inputs;
    inputs.reserve(graph.arguments.size() + graph.captured.size());
    for (const Source& leaf : leaves) {
      if (leaf.tensor() != nullptr) inputs.push_back(*leaf.tensor());
    }
    const std::vector<detail::VariableState*> variables = variables_of(graph, leaves);
    for (detail::VariableState* variable : variables) {
      notify_read(*variable);
      inputs.push_back(current_value(*variable));
    }
    // Within a trace its ops become nodes of that, and its tapes see them one by one.
    const bool recorded = context.observers != nullptr && context.tracer == nullptr;
    std::vector<Tensor> outputs = recorded ? run_and_record(trace, inputs) : run_graph(graph, std::move(inputs));
    std::size_t written = graph.results.size();
    const PauseObservers pause;
    for (std::size_t i = 0; i < graph.captured.size(); ++i) {
      if (graph.captured[i].written != Graph::kNone) replace_value(*variables[i], std::move(outputs[written++]));
    }
    outputs.resize(graph.results.size());
    return outputs;
  }

  static std::vector<Tensor> run_and_record(const Trace& trace, const std::vector<Tensor>& inputs) {
    const Graph& graph = trace.graph;
    std::vector<ObservedInput> observed;
    observed.reserve(inputs.size());
    for (const Tensor& input : inputs) observed.push_back({input.block(), input.block()->node});
    EffectLog log;
    std::vector<Tensor> outputs;
    {
      const PauseObservers pause;
      outputs = run_graph(graph, inputs, &log);
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
    const CustomVjp vjp = [kept = trace.shared_from_this(), inputs,
                           effects = log.values](std::span<const Tensor> cotangents) {
      return gradients_of(kept->graph, inputs, effects, cotangents);
    };
    record_custom_call(observed, results, vjp);
    return outputs;
  }

  // The gradients of a call for its inputs. Outer tapes that record see all of it, which gives higher orders.
  static std::vector<Tensor> gradients_of(const Graph& graph, std::vector<Tensor> inputs, std::vector<Tensor> effects,
                                          std::span<const Tensor> cotangents) {
    // Copies, so that each is a source of its own even if two arguments are one tensor.
    for (Tensor& input : inputs) input = identity(input);
    GradientTape tape({.persistent = false, .watch_accessed_variables = false});
    for (const Tensor& input : inputs) {
      if (is_differentiable(input.dtype())) tape.watch(input);
    }
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

  const std::string name_;
  mutable std::recursive_mutex mutex_;
  std::map<std::vector<std::uint64_t>, std::shared_ptr<const Trace>> traces_;
  std::shared_ptr<const Trace> newest_;
  std::vector<std::uint64_t> newest_key_;
  std::string reason_;
};

std::shared_ptr<FunctionState> detail::make_function(const FunctionOptions& options) {
  return std::make_shared<FunctionState>(options);
}

std::vector<Tensor> detail::call_traced(FunctionState& state, const CallSignature& signature, const FunctionBody& body,
                                        const void** structure) {
  return state.call(signature, body, structure);
}

bool detail::functions_run_eagerly() { return eagerly.load(std::memory_order_relaxed); }
void run_functions_eagerly(bool value) { eagerly.store(value, std::memory_order_relaxed); }

int tracing_count(const FunctionState& state) { return state.tracing_count(); }
std::string retrace_reason(const FunctionState& state) { return state.retrace_reason(); }
std::string graph_text(const FunctionState& state) { return to_text(state.newest()); }
std::string graph_dot(const FunctionState& state) { return to_dot(state.newest()); }

}  // namespace capstan
