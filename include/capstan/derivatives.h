#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/forward.h"
#include "capstan/function.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"

namespace capstan {

namespace detail {

// Tensors of their own, so that each counts for itself even if two are one, and a closure's use of the originals does
// not count. Variables stay; a tuple of references, as std::tie makes it, becomes one of values.
template <class T>
struct ValuesOf {
  using type = T;
};
template <class... Items>
struct ValuesOf<std::tuple<Items...>> {
  using type = std::tuple<std::remove_cvref_t<Items>...>;
};
template <class T>
typename ValuesOf<T>::type own_tensors(const T& structure) {
  typename ValuesOf<T>::type own(structure);
  replace_tensors(own, [](Tensor& tensor) { tensor = identity(tensor); });
  return own;
}

// f of a structure: as one argument, of the items of a tuple or pair, or of none.
template <class F, class T>
decltype(auto) call_on(F& f, const T& structure) {
  if constexpr (std::is_invocable_v<F&, const T&>) {
    return f(structure);
  } else if constexpr (IsTuple<T>::value) {
    return std::apply(f, structure);
  } else {
    return f();
  }
}
template <class F, class T>
using ResultWith = std::remove_cvref_t<decltype(call_on(std::declval<F&>(), std::declval<const T&>()))>;

// Throws ValueError unless there is a cotangent for each output.
CAPSTAN_EXPORT void check_cotangents(const std::vector<Tensor>& cotangents, const Targets& outputs);

}  // namespace detail

/// The value of a function, and its gradient with respect to `sources`: a tensor, a variable, or a structure of them,
/// as for GradientTape::gradient. `f` is called with the sources, with the items of a tuple of them, or with nothing,
/// and returns a tensor or a structure of tensors, of whose sum it is the gradient. A missing gradient is an empty
/// tensor.
///
///     auto [loss, gradients] = value_and_gradient([&] { return reduce_mean(square(model(x) - y)); }, variables);
template <class F, class T>
std::pair<detail::ResultWith<F, T>, GradientsOf<T>> value_and_gradient(F&& f, const T& sources) {
  GradientTape tape({.persistent = false, .watch_accessed_variables = false});
  tape.watch(sources);
  auto value = detail::call_on(f, sources);
  auto gradient = tape.gradient(value, sources);
  return {std::move(value), std::move(gradient)};
}

/// The outputs of a function and their tangents, in forward mode: the Jacobian times the tangents of the primals. `f`
/// is called with the primals or, if they are a tuple, with its items; tangents are zeros where nothing depends on the
/// primals. Errors: as for ForwardAccumulator.
///
///     auto [y, dy] = jvp([](const Tensor& x) { return sin(x); }, x, dx);
///     auto [z, dz] = jvp([](const Tensor& x, const Tensor& w) { return matmul(x, w); }, std::tuple(x, w), {dx, dw});
template <class F, class T>
auto jvp(F&& f, const T& primals, const Tangents& tangents) {
  const auto own = detail::own_tensors(primals);
  const ForwardAccumulator accumulator(own, tangents);
  auto outputs = detail::call_on(f, own);
  auto found = accumulator.jvp(outputs, UnconnectedGradients::kZero);
  return std::pair(std::move(outputs), std::move(found));
}

/// What vjp() returns beside the outputs: turns cotangents of the outputs, in their structure, into those of the
/// primals, in theirs, any number of times. Zeros where an output does not depend on a primal. It belongs to the thread
/// that made it.
///
/// Errors: ValueError, ShapeError or DTypeError for cotangents that do not fit the outputs.
template <class T, class Outputs>
class Pullback {
 public:
  template <class C>
  GradientsOf<T> operator()(const C& cotangents) const {
    GradientOptions options;
    detail::for_each_leaf(cotangents, [&](const Tensor& leaf) { options.output_gradients.push_back(leaf); });
    options.unconnected_gradients = UnconnectedGradients::kZero;
    detail::check_cotangents(options.output_gradients, state_->outputs);
    return state_->tape.gradient(state_->outputs, state_->primals, options);
  }

 private:
  template <class F, class P>
  friend std::pair<detail::ResultWith<F, P>, Pullback<P, detail::ResultWith<F, P>>> vjp(F&& f, const P& primals);

  struct State {
    typename detail::ValuesOf<T>::type primals;
    GradientTape tape{{.persistent = true, .watch_accessed_variables = false}};
    Outputs outputs = {};
  };
  std::shared_ptr<State> state_;
};

/// The outputs of a function, and the function that multiplies cotangents by its transposed Jacobian: reverse mode. `f`
/// is called as by jvp().
///
///     auto [y, pullback] = vjp([](const Tensor& x) { return sin(x); }, x);
///     Tensor dx = pullback(ones_like(y));   // cos(x)
template <class F, class T>
std::pair<detail::ResultWith<F, T>, Pullback<T, detail::ResultWith<F, T>>> vjp(F&& f, const T& primals) {
  using P = Pullback<T, detail::ResultWith<F, T>>;
  P pullback;
  pullback.state_ = std::make_shared<typename P::State>(typename P::State{detail::own_tensors(primals)});
  typename P::State& state = *pullback.state_;
  state.tape.watch(state.primals);
  state.outputs = detail::call_on(f, state.primals);
  state.tape.stop();
  return {state.outputs, std::move(pullback)};
}

/// The Hessian of a function times a direction, exact and without the Hessian: forward mode over reverse mode, at a few
/// times the cost of the gradient. `f` is called as by jvp(), and is summed if it is no scalar; the result has the
/// structure of the primals. Errors: as for ForwardAccumulator.
///
///     hvp([](const Tensor& x) { return reduce_sum(pow(x, 3)); }, x, v);   // 6 * x * v
template <class F, class T>
GradientsOf<T> hvp(F&& f, const T& primals, const Tangents& tangents) {
  const auto own = detail::own_tensors(primals);
  const ForwardAccumulator accumulator(own, tangents);
  GradientTape tape({.persistent = false, .watch_accessed_variables = false});
  tape.watch(own);
  const auto gradients = tape.gradient(detail::call_on(f, own), own,
                                       {.output_gradients = {}, .unconnected_gradients = UnconnectedGradients::kZero});
  std::vector<Tensor> products;
  detail::for_each_leaf(gradients, [&](const Tensor& gradient) {
    products.push_back(accumulator.jvp(gradient, UnconnectedGradients::kZero));
  });
  std::size_t i = 0;
  return detail::rebuild(own, [&] { return std::move(products[i++]); });
}

}  // namespace capstan
