#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/ops/host.h"
#include "capstan/tape.h"

namespace capstan {

class FunctionState;

/// What function() can be told.
struct FunctionOptions {
  /// For messages.
  std::string name = "function";
};

namespace detail {

/// What a call is traced for, in words of 64 bits: the types of the arguments, then dtypes and shapes of tensors and
/// the values of everything else. The leaves are the tensors and variables themselves.
struct CallSignature {
  std::vector<std::uint64_t> key;
  std::vector<Source> leaves;

  CAPSTAN_EXPORT void add(const Tensor& tensor);
  CAPSTAN_EXPORT void add(const Variable& variable);
  CAPSTAN_EXPORT void add(std::string_view text);
  CAPSTAN_EXPORT void add_number(std::uint64_t bits);
  CAPSTAN_EXPORT void add_list(std::size_t size);
};

template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// Adds an argument: a structure of tensors and variables, a plain number, or a text.
template <class T>
void describe(CallSignature& signature, const T& value) {
  if constexpr (Leaf<T>) {
    signature.add(value);
  } else if constexpr (PlainValue<T>) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value) < sizeof(bits) ? sizeof(value) : sizeof(bits));
    signature.add_number(bits);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    signature.add(std::string_view(value));
  } else if constexpr (IsMap<T>::value) {
    signature.add_list(value.size());
    for (const auto& [key, item] : value) {
      describe(signature, key);
      describe(signature, item);
    }
  } else if constexpr (IsTuple<T>::value) {
    std::apply([&](const auto&... items) { (describe(signature, items), ...); }, value);
  } else if constexpr (HasFields<const T> || HasFields<T>) {
    std::apply([&](const auto&... items) { (describe(signature, items), ...); }, const_cast<T&>(value).fields());
  } else {
    signature.add_list(value.size());
    for (const auto& item : value) describe(signature, item);
  }
}

// Calls replace(leaf) for each tensor of a structure, in order, to write another one into it. Plain values have none.
template <class T, class Replace>
void replace_tensors(T& value, const Replace& replace) {
  if constexpr (std::is_same_v<T, Tensor>) {
    replace(value);
  } else if constexpr (std::is_same_v<T, Variable> || PlainValue<T> ||
                       std::is_convertible_v<const T&, std::string_view>) {
  } else if constexpr (IsMap<T>::value) {
    for (auto& [key, item] : value) replace_tensors(item, replace);
  } else if constexpr (IsTuple<T>::value) {
    std::apply([&](auto&... items) { (replace_tensors(items, replace), ...); }, value);
  } else if constexpr (HasFields<T>) {
    std::apply([&](auto&... items) { (replace_tensors(items, replace), ...); }, value.fields());
  } else {
    for (auto& item : value) replace_tensors(item, replace);
  }
}

/// Runs the function with the arguments that the vector holds, which are symbolic, and returns its result as a
/// structure whose tensors have been moved to the vector. A reference to a closure of the caller: most calls need no
/// trace.
struct FunctionBody {
  void* closure;
  std::shared_ptr<void> (*run)(void* closure, std::vector<Tensor>& tensors);

  template <class F>
  explicit FunctionBody(F& f)
      : closure(&f), run([](void* g, std::vector<Tensor>& tensors) { return (*static_cast<F*>(g))(tensors); }) {}
  std::shared_ptr<void> operator()(std::vector<Tensor>& tensors) const { return run(closure, tensors); }
};

CAPSTAN_EXPORT std::shared_ptr<FunctionState> make_function(const FunctionOptions& options);
/// The tensors of the result; `structure` is what the body returned when it was traced.
CAPSTAN_EXPORT std::vector<Tensor> call_traced(FunctionState& state, const CallSignature& signature,
                                               const FunctionBody& body, const void** structure);
CAPSTAN_EXPORT bool functions_run_eagerly();

}  // namespace detail

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
    // Its address tells one list of argument types from another: they can have results of different types.
    static char types;
    detail::CallSignature signature;
    signature.key.reserve(16);
    signature.key.push_back(reinterpret_cast<std::uintptr_t>(&types));
    signature.leaves.reserve(sizeof...(Arguments));
    (detail::describe(signature, arguments), ...);
    auto body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
      std::tuple<std::decay_t<const Arguments>...> copies(arguments...);
      std::size_t next = 0;
      std::apply(
          [&](auto&... items) {
            (detail::replace_tensors(items, [&](Tensor& tensor) { tensor = tensors[next++]; }), ...);
          },
          copies);
      tensors.clear();
      if constexpr (std::is_void_v<Result>) {
        std::apply(f_, copies);
        return nullptr;
      } else {
        auto result = std::make_shared<Result>(std::apply(f_, copies));
        detail::replace_tensors(*result, [&](Tensor& tensor) { tensors.push_back(std::move(tensor)); });
        return result;
      }
    };
    const void* structure = nullptr;
    std::vector<Tensor> tensors = detail::call_traced(*state_, signature, detail::FunctionBody(body), &structure);
    if constexpr (std::is_same_v<Result, Tensor>) {
      return std::move(tensors[0]);
    } else if constexpr (!std::is_void_v<Result>) {
      Result result = *static_cast<const Result*>(structure);
      std::size_t next = 0;
      detail::replace_tensors(result, [&](Tensor& tensor) { tensor = std::move(tensors[next++]); });
      return result;
    }
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
/// what it assigns is written when all of it has run. Tensors from outside are constants. Tapes work inside, around,
/// and both; optimizers, metrics, batch normalisation and dropout work inside. C++ side effects happen once per trace;
/// use host_value() for numbers that change. Random draws are fresh at every call.
///
/// Variables, layers and slots of optimizers can be made in the first trace only. Reading a value inside (item(),
/// to_vector(), data(), printing it) is a TraceError, as is the use of an inner tensor outside.
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

/// How many traces a function has.
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

/// If true, functions simply run, on all threads, as a help for debugging.
CAPSTAN_EXPORT void run_functions_eagerly(bool eagerly);

}  // namespace capstan
