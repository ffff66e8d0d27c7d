#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/graph_nodes.h"
#include "capstan/ops/host.h"
#include "capstan/tape.h"
#include "capstan/tensor_spec.h"

namespace capstan {

class FunctionState;
class ConcreteState;

/// Options of function().
struct FunctionOptions {
  /// For messages.
  std::string name = "function";
  /// What the tensors among the arguments are, in order, those in structures included; empty: whatever comes. Lengths
  /// that are open here share one trace. Variables, numbers and texts have no entry and are told apart as ever.
  std::vector<TensorSpec> input_signature;
  /// If true, all lengths of tensors are open once a second length has come, so that few traces serve many shapes. A
  /// function whose trace depends on a length still has one for each, and beside an input_signature that is no error.
  bool reduce_retracing = false;
  /// How many bytes a call may keep at once, beside arguments, results and variables; 0: as many as it takes. A program
  /// that would need more computes values again, where they are read late, instead of keeping them: first those of
  /// loops and sums, then products and convolutions. Results have the same bits, and draws are made once. Nothing else
  /// is promised: a budget that cannot be met is exceeded by as little as was found (memory_use() tells), what loops
  /// and branches on values need inside of them does not count, nor do calls that run op by op, as under a tape if
  /// there are draws. A training step with half of its memory takes up to a third longer.
  ///
  ///     auto step = function(train_step, {.memory_budget = std::size_t{2} << 30});
  std::size_t memory_budget = 0;
};

namespace detail {

/// How the bits of a number are to be read.
enum class NumberType : std::uint8_t { kSigned, kUnsigned, kFloat, kDouble, kBool };

/// What a call is traced for, in words of 64 bits: the types of the arguments, then dtypes and shapes of tensors and
/// the values of everything else. The leaves are the tensors and variables themselves.
struct CallSignature {
  std::vector<std::uint64_t> key;
  std::vector<Source> leaves;
  std::vector<std::size_t> open;                         // the positions in the key of lengths that a spec leaves open
  std::vector<std::string> names;                        // of tensors, from specs
  std::vector<std::shared_ptr<const Tensor>> stand_ins;  // of specs, for the leaves
  bool values_only = false;                              // tensors and variables are not described
  std::uint64_t owner = 0;  // the object whose method is called: each can make variables in its first trace

  CAPSTAN_EXPORT void add(const Tensor& tensor);
  CAPSTAN_EXPORT void add(const TensorSpec& spec);
  CAPSTAN_EXPORT void add(const Variable& variable);
  CAPSTAN_EXPORT void add(std::string_view text);
  CAPSTAN_EXPORT void add_number(NumberType type, std::uint64_t bits);
  CAPSTAN_EXPORT void add_list(std::size_t size);
  void clear() {
    key.clear();
    leaves.clear();
    open.clear();
    names.clear();
    stand_ins.clear();
    values_only = false;
    owner = 0;
  }
};

// Adds an argument: a structure of tensors and variables, a plain number, or a text.
template <class T>
void describe(CallSignature& signature, const T& value) {
  if constexpr (Leaf<T> || std::is_same_v<T, TensorSpec>) {
    signature.add(value);
  } else if constexpr (std::is_enum_v<T>) {
    describe(signature, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_same_v<T, long double>) {  // two numbers hold all of its bits
    const auto high = static_cast<double>(value);
    describe(signature, high);
    describe(signature, static_cast<double>(value - high));
  } else if constexpr (std::is_floating_point_v<T>) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    signature.add_number(sizeof(value) == sizeof(float) ? NumberType::kFloat : NumberType::kDouble, bits);
  } else if constexpr (std::is_integral_v<T>) {
    constexpr NumberType kType = std::is_same_v<T, bool> ? NumberType::kBool
                                 : std::is_signed_v<T>   ? NumberType::kSigned
                                                         : NumberType::kUnsigned;
    signature.add_number(kType, static_cast<std::uint64_t>(value));
  } else if constexpr (kKindOf<T> == StructureKind::kText) {
    signature.add(std::string_view(value));
  } else if constexpr (kKindOf<T> == StructureKind::kMap) {
    signature.add_list(value.size());
    for (const auto& [key, item] : value) {
      describe(signature, key);
      describe(signature, item);
    }
  } else if constexpr (HasParts<T>) {
    if constexpr (kKindOf<T> == StructureKind::kList) signature.add_list(std::size(value));
    if constexpr (kKindOf<T> == StructureKind::kNest) signature.add(std::string_view(value.form()));
    visit_parts(value, [&](const auto& part) { describe(signature, part); });
  } else {
    check_structure<T>();
  }
}

/// Runs the function with the arguments that the vector holds, which are symbolic, and returns its result as a
/// structure whose tensors have been moved to the vector; describes the rest of the result. A reference to a closure
/// of the caller: most calls need no trace.
struct FunctionBody {
  void* closure;
  std::shared_ptr<void> (*run)(void* closure, std::vector<Tensor>& tensors, CallSignature& values);

  template <class F>
  explicit FunctionBody(F& f)
      : closure(&f), run([](void* g, std::vector<Tensor>& tensors, CallSignature& values) {
          if constexpr (std::is_invocable_v<F&, std::vector<Tensor>&, CallSignature&>) {
            return (*static_cast<F*>(g))(tensors, values);
          } else {
            return (*static_cast<F*>(g))(tensors);
          }
        }) {}
  std::shared_ptr<void> operator()(std::vector<Tensor>& tensors, CallSignature& values) const {
    return run(closure, tensors, values);
  }
  // Where nobody asks for the rest of the result.
  std::shared_ptr<void> operator()(std::vector<Tensor>& tensors) const {
    CallSignature values;
    return run(closure, tensors, values);
  }
};

/// What a call needs for a moment. The thread keeps it between calls, so that a call allocates nothing for itself.
struct CallBuffers {
  CallSignature signature;
  std::vector<Tensor> tensors;        // of the result
  std::shared_ptr<const void> trace;  // keeps what describes the result
};
class TracedCall {
 public:
  CAPSTAN_EXPORT TracedCall();
  CAPSTAN_EXPORT ~TracedCall();
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  CallBuffers& operator*() const { return *buffers_; }

 private:
  CallBuffers* buffers_;
};

CAPSTAN_EXPORT std::shared_ptr<FunctionState> make_function(const FunctionOptions& options);
/// Runs the call that the signature describes and leaves the tensors of its result. Returns what the body returned when
/// it was traced.
CAPSTAN_EXPORT const void* call_traced(FunctionState& state, CallBuffers& call, const FunctionBody& body);
/// The same if the call is short; see dynamic::Function::run_if_short.
CAPSTAN_EXPORT std::optional<const void*> call_traced_if_short(FunctionState& state, CallBuffers& call);
CAPSTAN_EXPORT std::shared_ptr<ConcreteState> make_concrete(const std::shared_ptr<FunctionState>& state,
                                                            const CallSignature& signature, const FunctionBody& body);
CAPSTAN_EXPORT const void* call_concrete(const ConcreteState& state, CallBuffers& call, const FunctionBody& body);
CAPSTAN_EXPORT std::string concrete_signature(const ConcreteState& state);
CAPSTAN_EXPORT std::vector<std::optional<TensorSpec>> concrete_results(const ConcreteState& state);
CAPSTAN_EXPORT const void* concrete_structure(const ConcreteState& state);
CAPSTAN_EXPORT std::string concrete_text(const ConcreteState& state);
CAPSTAN_EXPORT std::string concrete_dot(const ConcreteState& state);
CAPSTAN_EXPORT std::vector<GraphNode> concrete_nodes(const ConcreteState& state);
CAPSTAN_EXPORT bool functions_run_eagerly();

// Its address tells one list of argument types from another: they can have results of different types.
template <class... Arguments>
inline char argument_types = 0;

template <class... Arguments>
void describe_call(CallSignature& signature, const void* types, const Arguments&... arguments) {
  // No address uses the highest bits.
  signature.key.push_back(reinterpret_cast<std::uintptr_t>(types) ^ static_cast<std::uint64_t>(floatx()) << 60);
  (describe(signature, arguments), ...);
}

// What a FunctionBody does: `copies` are the arguments, whose tensors give way to symbolic ones.
template <class F, class... Arguments>
std::shared_ptr<void> run_body(F& f, std::tuple<Arguments...> copies, std::vector<Tensor>& tensors,
                               CallSignature& values) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Arguments&...>>;
  std::size_t next = 0;
  std::apply([&](auto&... items) { (replace_tensors(items, [&](Tensor& tensor) { tensor = tensors[next++]; }), ...); },
             copies);
  tensors.clear();
  if constexpr (std::is_void_v<Result>) {
    std::apply(f, std::as_const(copies));
    return nullptr;
  } else {
    auto result = std::make_shared<Result>(std::apply(f, std::as_const(copies)));
    values.values_only = true;
    describe(values, std::as_const(*result));
    replace_tensors(*result, [&](Tensor& tensor) { tensors.push_back(std::move(tensor)); });
    return result;
  }
}

// The result of a call: its tensors in the structure of the traced one.
template <class Result>
Result assemble(std::vector<Tensor>& tensors, const void* structure) {
  if constexpr (std::is_same_v<Result, Tensor>) {
    return std::move(tensors[0]);
  } else if constexpr (!std::is_void_v<Result>) {
    Result result = *static_cast<const Result*>(structure);
    std::size_t next = 0;
    replace_tensors(result, [&](Tensor& tensor) { tensor = std::move(tensors[next++]); });
    return result;
  }
}

// An argument, or a spec in place of a tensor.
template <class T>
using AsArgument = std::conditional_t<std::is_same_v<T, TensorSpec>, Tensor, std::decay_t<const T>>;
template <class T>
AsArgument<T> as_argument(const T& argument) {
  if constexpr (std::is_same_v<T, TensorSpec>) {
    return Tensor();
  } else {
    return argument;
  }
}

}  // namespace detail

/// One trace of a function, which can be called and looked at: see Function::get_concrete(). Never traces for other
/// arguments than those that it was made for.
template <class F, class... Arguments>
class ConcreteFunction {
 public:
  ConcreteFunction(F f, std::shared_ptr<ConcreteState> state) : f_(std::move(f)), state_(std::move(state)) {}

  /// Calls it. Errors: DTypeError, ShapeError or ValueError for arguments that it was not made for; what the ops throw.
  auto operator()(const Arguments&... arguments) {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Arguments&...>>;
    if (detail::functions_run_eagerly()) return f_(arguments...);
    const detail::TracedCall scope;
    detail::describe_call((*scope).signature, &detail::argument_types<Arguments...>, arguments...);
    auto body = [&](std::vector<Tensor>& tensors, detail::CallSignature& values) {
      return detail::run_body(f_, std::tuple<Arguments...>(arguments...), tensors, values);
    };
    const void* const structure = detail::call_concrete(*state_, *scope, detail::FunctionBody(body));
    return detail::assemble<Result>((*scope).tensors, structure);
  }

  /// What it takes and gives: "step(float32[?, 4] images, 3) -> (float32[?])".
  std::string signature() const { return detail::concrete_signature(*state_); }
  /// Its ops, one per line, or for Graphviz. Open lengths are shown as those that it was traced for.
  std::string graph_text() const { return detail::concrete_text(*state_); }
  std::string graph_dot() const { return detail::concrete_dot(*state_); }
  /// Its arguments, variables, constants and ops, each before those that use it, for logs and pictures.
  std::vector<GraphNode> graph_nodes() const { return detail::concrete_nodes(*state_); }

 private:
  F f_;
  std::shared_ptr<ConcreteState> state_;
};

/// A function that is traced once for each kind of arguments and then run as a graph: see function().
template <class F>
class Function {
 public:
  Function(F f, const FunctionOptions& options) : f_(std::move(f)), state_(detail::make_function(options)) {}

  /// Calls the function. Errors: what its ops throw; TraceError for what a traced function cannot do.
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Arguments&...>>;
    if (detail::functions_run_eagerly()) return f_(arguments...);
    const detail::TracedCall scope;
    detail::describe_call((*scope).signature, &detail::argument_types<std::decay_t<const Arguments>...>, arguments...);
    auto body = [&](std::vector<Tensor>& tensors, detail::CallSignature& values) {
      return detail::run_body(f_, std::tuple<std::decay_t<const Arguments>...>(arguments...), tensors, values);
    };
    const void* const structure = detail::call_traced(*state_, *scope, detail::FunctionBody(body));
    return detail::assemble<Result>((*scope).tensors, structure);
  }

  /// The trace for these arguments, made now unless there is one; nothing runs. A TensorSpec takes the place of a
  /// tensor, with open lengths if it has some. Errors: ValueError for a spec without a rank; as for a call.
  ///
  ///     auto concrete = step.get_concrete(TensorSpec({-1, 4}));
  ///     concrete(x);              // x is float32[anything, 4]
  ///     concrete.signature();     // "function(float32[?, 4]) -> (float32[?])"
  template <class... Arguments>
  auto get_concrete(const Arguments&... arguments) {
    detail::CallSignature signature;
    detail::describe_call(signature, &detail::argument_types<detail::AsArgument<Arguments>...>, arguments...);
    auto body = [&](std::vector<Tensor>& tensors, detail::CallSignature& values) {
      return detail::run_body(f_, std::tuple<detail::AsArgument<Arguments>...>(detail::as_argument(arguments)...),
                              tensors, values);
    };
    return ConcreteFunction<F, detail::AsArgument<Arguments>...>(
        f_, detail::make_concrete(state_, signature, detail::FunctionBody(body)));
  }

  const std::shared_ptr<FunctionState>& state() const { return state_; }

 private:
  F f_;
  std::shared_ptr<FunctionState> state_;
};

/// Wraps a function of tensors so that it runs once for each kind of arguments, with symbolic tensors, and afterwards
/// as the graph of the ops that it ran: without its C++ code, without what nobody uses, and without what is computed
/// twice.
///
/// Arguments and the result are tensors, structures of tensors as for GradientTape::gradient, variables, numbers and
/// texts. A new trace is made for another dtype or shape of a tensor or variable, another length of a list, another
/// value of a number or text. Variables used inside are captured by reference: a call sees their current values, and
/// what it assigns is written when all has run. Tensors from outside keep the value that they have in the trace; their
/// gradients are as outside. Tapes work inside, around, and both, and so do optimizers, metrics, batch normalisation,
/// dropout. C++ side effects happen once per trace; use host_value() for numbers that change. Draws are always fresh.
///
/// One trace serves many lengths if they are declared open in an input_signature, or with reduce_retracing. It is made
/// for the lengths of the first call. At the first call with others the function is traced again, for these and for
/// lengths far away, to make sure that nothing in the trace depends on a length; once more for each length that varies
/// by itself, that exceeds what was tried, or that differs from it by no multiple of what was tried; and then never
/// again. Lengths of 0 and 1 have traces of their own, because such axes broadcast. In such a function lengths come
/// from tensors: size(x), shape(x), reshape with -1, the *_like functions. A number that C++ computes from x.dim(0) is
/// found, and is a TraceError under an input_signature alone and a trace for each shape with reduce_retracing.
///
/// Variables, layers and slots of optimizers can be made in the first trace only. Reading a value inside (item(),
/// to_vector(), data(), printing it) is a TraceError, as are the use of an inner tensor outside and endless recursion.
///
///     auto step = function([&](const Tensor& x, const Tensor& y) {
///       GradientTape tape;
///       const Tensor loss = losses::mean_squared_error(y, model(x));
///       optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
///       return reduce_mean(loss);
///     });
///     Tensor loss = step(x, y);
template <class F>
Function<F> function(F f, const FunctionOptions& options = {}) {
  return Function<F>(std::move(f), options);
}

/// How many traces a function has. What is traced to check an input_signature makes no new one.
///
///     auto sum_of_squares = function([](const Tensor& x) { return reduce_sum(x * x); });
///     sum_of_squares(zeros({2}));
///     sum_of_squares(zeros({3}));
///     tracing_count(sum_of_squares);                 // 2
///     std::cout << retrace_reason(sum_of_squares);  // argument 0 is float32[3], not float32[2] as before
///     std::cout << graph_text(sum_of_squares) << graph_dot(sum_of_squares) << memory_use(sum_of_squares);
CAPSTAN_EXPORT int tracing_count(const FunctionState& state);
template <class F>
int tracing_count(const Function<F>& f) {
  return tracing_count(*f.state());
}

/// The newest trace as text, one op per line, or for Graphviz. Errors: ValueError if there is none.
CAPSTAN_EXPORT std::string graph_text(const FunctionState& state);
CAPSTAN_EXPORT std::string graph_dot(const FunctionState& state);
template <class F>
std::string graph_text(const Function<F>& f) {
  return graph_text(*f.state());
}
template <class F>
std::string graph_dot(const Function<F>& f) {
  return graph_dot(*f.state());
}

/// What made the newest trace necessary, for example "argument 0 is float32[3], not float32[2] as before".
CAPSTAN_EXPORT std::string retrace_reason(const FunctionState& state);
template <class F>
std::string retrace_reason(const Function<F>& f) {
  return retrace_reason(*f.state());
}

/// What the newest trace keeps at once, in bytes, and what FunctionOptions::memory_budget has changed about it: "keeps
/// 786432 bytes at once, its budget is 1000000; 1835008 without computing again: matmul (3), tanh (3)". Errors:
/// ValueError if there is none.
CAPSTAN_EXPORT std::string memory_use(const FunctionState& state);
template <class F>
std::string memory_use(const Function<F>& f) {
  return memory_use(*f.state());
}

/// If true, functions simply run, on all threads, as a help for debugging.
///
///     run_functions_eagerly(true);
CAPSTAN_EXPORT void run_functions_eagerly(bool eagerly);

}  // namespace capstan
