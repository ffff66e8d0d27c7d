// Functions of functions without templates: what bindings for other languages and interpreters call. Structures are
// theirs; here everything is a list of tensors. Meanings and errors are those of the templates of the same names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capstan/function.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan::dynamic {

using TensorList = std::vector<Tensor>;
/// A function of tensors that a program made when it ran.
using ListFunction = std::function<TensorList(std::span<const Tensor> arguments)>;

/// cond(): both branches give as many tensors.
///
///     dynamic::TensorList y = dynamic::cond(reduce_sum(x) > 0, [&](auto) { return dynamic::TensorList{x * x}; },
///                                           [&](auto) { return dynamic::TensorList{-x}; });
CAPSTAN_EXPORT TensorList cond(Operand condition, const ListFunction& then, const ListFunction& otherwise);
/// switch_case(), whose last branch is called for any other number.
///
///     const dynamic::ListFunction branches[] = {[&](auto) { return dynamic::TensorList{x}; },
///                                               [&](auto) { return dynamic::TensorList{2 * x}; }};
///     dynamic::switch_case(1, branches);  // [2, 4]
CAPSTAN_EXPORT TensorList switch_case(Operand index, std::span<const ListFunction> branches);
/// while_loop(): the condition gives one scalar bool.
///
///     auto is_small = [](auto v) { return dynamic::TensorList{v[0] < 100}; };
///     auto twice = [](auto v) { return dynamic::TensorList{v[0] * 2}; };
///     dynamic::while_loop(is_small, twice, {constant(1)});  // 128
CAPSTAN_EXPORT TensorList while_loop(const ListFunction& condition, const ListFunction& body, TensorList variables,
                                     std::optional<std::int64_t> maximum_iterations = std::nullopt);
/// scan(): `f` gets what is carried on and then the row.
///
///     auto add = [](auto v) { return dynamic::TensorList{v[0] + v[1]}; };
///     dynamic::scan(add, {constant({1, 2, 3})}, {constant(0)});  // [1, 3, 6]
CAPSTAN_EXPORT TensorList scan(const ListFunction& f, const TensorList& elements, TensorList initial,
                               const ReverseOptions& options = {});
/// foldl(), or foldr() with `reverse`: `f` as of scan.
///
///     auto add = [](auto v) { return dynamic::TensorList{v[0] + v[1]}; };
///     dynamic::fold(add, {constant({1, 2, 3})}, {constant(0)});  // 6
CAPSTAN_EXPORT TensorList fold(const ListFunction& f, const TensorList& elements, TensorList initial,
                               const ReverseOptions& options = {});
/// A loop over rows that carries tensors on and collects others: `f` gets what is carried on and then the row, and
/// gives what is carried on and then what is collected. The result is the same, with what was collected stacked. Of no
/// rows nothing is collected; `f` is called once then, in a trace, for dtypes and shapes. Errors: ValueError for no
/// rows to go over, for results that come and go; DTypeError and ShapeError for rows of other lengths, and for what
/// changes from row to row.
///
///     auto f = [](auto v) { return dynamic::TensorList{v[0] + v[1], v[0] * v[1]}; };
///     dynamic::loop_over_rows(f, {constant(1)}, {constant({1, 2, 3})});  // 7, [1, 4, 12]
CAPSTAN_EXPORT TensorList loop_over_rows(const ListFunction& f, TensorList carried, const TensorList& rows,
                                         const ReverseOptions& options = {});
/// map_fn().
///
///     dynamic::map_fn([](auto v) { return dynamic::TensorList{v[0] * v[0]}; }, {constant({1, 2, 3})});  // [1, 4, 9]
CAPSTAN_EXPORT TensorList map_fn(const ListFunction& f, const TensorList& elements);
/// vectorized_map().
///
///     auto square = [](auto v) { return dynamic::TensorList{v[0] * v[0]}; };
///     dynamic::vectorized_map(square, {constant({1, 2, 3})});  // [1, 4, 9]
CAPSTAN_EXPORT TensorList vectorized_map(const ListFunction& f, const TensorList& elements);
/// A call of recompute_grad(f).
///
///     dynamic::recompute([](auto v) { return dynamic::TensorList{exp(sin(v[0]))}; }, {x});
CAPSTAN_EXPORT TensorList recompute(const ListFunction& f, const TensorList& arguments);

/// A function that looks at tensors and gives nothing.
using ListAction = std::function<void(std::span<const Tensor> values)>;
/// Calls a function with copies of tensors: at once, and in a traced function at every run of it, in program order,
/// whether anything else uses the tensors or not. Tapes do not see it. What it throws leaves the run.
///
///     dynamic::call_at_every_run([](auto v) { std::cout << v[0] << "\n"; }, {x});
CAPSTAN_EXPORT void call_at_every_run(ListAction f, const TensorList& values);

/// A function() whose arguments are described when it is called: see Function for what a trace is.
///
/// A call writes the signature of its arguments, leaves first to last, and then runs. If there is no trace for the
/// signature, `body(std::vector<Tensor>& tensors)` is called with the symbolic tensors that stand for the tensors among
/// the leaves; it puts the tensors of its result in their place, and returns whatever describes the rest of the result
/// as a std::shared_ptr<void>. That pointer is what every later call of the trace returns, and the tensors of its
/// result are in `tensors()`.
///
///     dynamic::Function square({.name = "square"});
///     dynamic::Function::Call call;
///     call.signature().add(x);
///     auto body = [](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
///       tensors[0] = tensors[0] * tensors[0];
///       return nullptr;
///     };
///     square.run(call, body);
///     Tensor y = call.tensors()[0];
class Function {
 public:
  explicit Function(const FunctionOptions& options) : state_(detail::make_function(options)) {}

  /// What one call needs. The thread keeps the memory; calls nest.
  class Call {
   public:
    /// `kind` tells calls apart whose arguments are written alike.
    explicit Call(std::uint64_t kind = 0) {
      signature().key.push_back(kind ^ static_cast<std::uint64_t>(floatx()) << 60);
    }
    /// Tensors and variables have to live until the call has run.
    detail::CallSignature& signature() { return (*buffers_).signature; }
    /// The result, when the call has run; they may be moved from.
    std::vector<Tensor>& tensors() { return (*buffers_).tensors; }

   private:
    friend class Function;
    detail::TracedCall buffers_;
  };

  /// Runs a call. Errors: what the body throws while it is traced, and what its ops throw.
  template <class Body>
  const void* run(Call& call, Body& body) const {
    return detail::call_traced(*state_, *call.buffers_, detail::FunctionBody(body));
  }

  /// One trace of a function, which can be called and looked at: see Function::get_concrete().
  class Concrete {
   public:
    /// Runs a call. Errors: ValueError for arguments that it was not made for; what its ops throw.
    template <class Body>
    const void* run(Call& call, Body& body) const {
      return detail::call_concrete(*state_, *call.buffers_, detail::FunctionBody(body));
    }
    /// The pointer that its calls return, and the types of the tensors of its result, with open lengths.
    const void* structure() const { return detail::concrete_structure(*state_); }
    std::vector<std::optional<TensorSpec>> results() const { return detail::concrete_results(*state_); }
    /// What it takes and gives, and its ops: see ConcreteFunction.
    std::string signature() const { return detail::concrete_signature(*state_); }
    std::string graph_text() const { return detail::concrete_text(*state_); }
    std::vector<GraphNode> graph_nodes() const { return detail::concrete_nodes(*state_); }
    /// For the library's own use.
    const std::shared_ptr<ConcreteState>& state() const { return state_; }

   private:
    friend class Function;
    explicit Concrete(std::shared_ptr<ConcreteState> state) : state_(std::move(state)) {}

    std::shared_ptr<ConcreteState> state_;
  };

  /// The trace for a call, made now unless there is one; nothing runs. A TensorSpec in the signature takes the place of
  /// a tensor, with open lengths if it has some. Errors: ValueError for a spec without a rank; what the body throws.
  ///
  ///     dynamic::Function square({.name = "square"});
  ///     dynamic::Function::Call call;
  ///     call.signature().add(TensorSpec({-1, 4}));
  ///     auto body = [](std::vector<Tensor>&) -> std::shared_ptr<void> { return nullptr; };  // the argument itself
  ///     square.get_concrete(call, body).signature();  // "square(float32[?, 4]) -> (float32[?, 4])"
  template <class Body>
  Concrete get_concrete(Call& call, Body& body) const {
    return Concrete(detail::make_concrete(state_, call.signature(), detail::FunctionBody(body)));
  }

  /// Runs a call only if that takes a few microseconds and waits for no other thread: there is a trace for it that is
  /// short, has no effects and no control flow, and neither a tape nor a trace is under way. Otherwise nothing has
  /// happened. For languages with a lock that such a call need not give away.
  ///
  ///     dynamic::Function square({.name = "square"});
  ///     dynamic::Function::Call call;
  ///     call.signature().add(x);
  ///     square.run_if_short(call);  // nullopt: it has not been traced yet
  std::optional<const void*> run_if_short(Call& call) const {
    return detail::call_traced_if_short(*state_, *call.buffers_);
  }

  const FunctionState& state() const { return *state_; }

 private:
  std::shared_ptr<FunctionState> state_;
};

/// True while functions simply run: see run_functions_eagerly(). Who calls a Function asks it first.
inline bool functions_run_eagerly() { return detail::functions_run_eagerly(); }

}  // namespace capstan::dynamic
