// Activation functions by name, as layers take them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/tensor.h"

namespace capstan {

/// What a layer does to its result: a name ("relu", "softmax", ...), any function of a tensor, or nothing.
/// Errors: ValueError for an unknown name.
///
///     layers::Dense(10, {.activation = "softmax"});
///     layers::Dense(10, {.activation = [](Tensor x) { return x * sigmoid(x); }});
class CAPSTAN_EXPORT ActivationFunction {
 public:
  ActivationFunction() = default;
  ActivationFunction(const char* name) : ActivationFunction(std::string_view(name)) {}
  ActivationFunction(const std::string& name) : ActivationFunction(std::string_view(name)) {}
  ActivationFunction(std::string_view name);
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, Tensor> ActivationFunction(F function)
      : function_(std::move(function)), name_("function") {}

  /// False for "linear" and for none: the layer's result is left as it is.
  bool has_value() const { return static_cast<bool>(function_); }
  const std::string& name() const { return name_; }
  Tensor operator()(Tensor x) const { return function_ ? function_(std::move(x)) : x; }

 private:
  std::function<Tensor(Tensor)> function_;
  std::string name_ = "linear";
};

namespace activations {

/// Probabilities along an axis. The result remembers its logits: a cross entropy that is given exactly this tensor
/// computes from them, which is exact where the probabilities have been rounded to 0 or 1. Any op in between forgets.
CAPSTAN_EXPORT Tensor softmax(const Tensor& logits, int axis = -1);
/// 1 / (1 + exp(-x)); remembers its logits as softmax does.
CAPSTAN_EXPORT Tensor sigmoid(const Tensor& logits);

}  // namespace activations
}  // namespace capstan
