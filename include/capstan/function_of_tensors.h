// Functions of tensors as functions of lists of tensors: how what writes functions into files calls them.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/function.h"
#include "capstan/structure.h"
#include "capstan/tensor.h"

namespace capstan::detail {

// What is asked for how F can be called: a traced function has one call for whatever arguments.
template <class F>
struct Callee {
  using Type = F;
};
template <class F>
struct Callee<Function<F>> {
  using Type = F;
};
template <class F, class... Arguments>
struct Callee<ConcreteFunction<F, Arguments...>> {
  using Type = void (*)(const Arguments&...);
};
template <class F, class... Arguments>
inline constexpr bool kTakes = std::is_invocable_v<typename Callee<std::remove_cvref_t<F>>::Type&, const Arguments&...>;
template <class F>
inline constexpr bool kTakesList = kTakes<F, std::vector<Tensor>>;

// How many tensors f takes; -1: any number.
template <class F>
constexpr int tensors_taken() {
  if (kTakesList<F>) return -1;
  return kTakes<F, Tensor> ? 1 : kTakes<F, Tensor, Tensor> ? 2 : kTakes<F, Tensor, Tensor, Tensor> ? 3 : 4;
}

template <class Result>
std::vector<Tensor> leaves_of(Result result) {
  std::vector<Tensor> leaves;
  replace_tensors(result, [&](Tensor& tensor) { leaves.push_back(tensor); });
  return leaves;
}

// Calls f with the tensors: one by one, or as a list.
template <class F>
std::vector<Tensor> call_with_tensors(F& f, const std::vector<Tensor>& x) {
  if constexpr (kTakes<F, Tensor>) {
    // A layer takes both, and a list of one tensor is another structure than the tensor; a model of ONNX gives lists.
    if constexpr (kTakesList<F>) {
      if (x.size() != 1 || std::is_same_v<decltype(f(x)), std::vector<Tensor>>) return leaves_of(f(x));
    }
    return leaves_of(f(x[0]));
  } else if constexpr (kTakesList<F>) {
    return leaves_of(f(x));
  } else if constexpr (kTakes<F, Tensor, Tensor>) {
    return leaves_of(f(x[0], x[1]));
  } else if constexpr (kTakes<F, Tensor, Tensor, Tensor>) {
    return leaves_of(f(x[0], x[1], x[2]));
  } else {
    return leaves_of(f(x[0], x[1], x[2], x[3]));
  }
}

}  // namespace capstan::detail
