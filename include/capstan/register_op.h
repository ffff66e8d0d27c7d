// Ops of programs and of other libraries, for calls by name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/export.h"
#include "capstan/fields.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan {

/// A parameter of an op: a tensor, or an attribute.
struct CAPSTAN_EXPORT OpParameter {
  std::string name;
  AttributeValue value;  ///< Of an attribute: its default.
  bool required = true;  ///< Whether it must be given.

  OpParameter(const char* parameter) : name(parameter) {}
  /// An attribute with a default.
  OpParameter(const char* parameter, AttributeValue default_value)
      : name(parameter), value(std::move(default_value)), required(false) {}
};

/// What a call by name has to know of an op. op_of() fills it from a function.
struct CAPSTAN_EXPORT NewOp {
  std::string name;                     ///< Letters, digits, `_`, `.` and `:`: "my_library.leaky".
  std::string text;                     ///< One sentence, for list_ops().
  std::vector<OpParameter> inputs;      ///< The tensors, in their order.
  std::vector<OpParameter> attributes;  ///< All other parameters.
  /// Gets as many tensors as there are inputs, and all attributes, with the defaults of those that are not given. It is
  /// made of ops, so that what it gives has gradients, or has a rule of its own (custom_gradient).
  std::function<std::vector<Tensor>(std::span<const Tensor> inputs, const AttributeMap& attributes)> run;
  int outputs = 1;             ///< -1: depends on the arguments.
  bool differentiable = true;  ///< What list_ops() says of it.
};

/// Adds ops to those that call(), has_op() and list_ops() know, for the rest of the process; from any thread. Calls are
/// checked like those of the library's ops: the number of inputs, empty tensors, unknown and missing attributes, values
/// that do not fit. Errors: ValueError for a name that is taken or no name, a parameter without a name or with that of
/// another one, an op without a text or a function; then none of them is added.
///
///     Tensor (*leaky)(Operand, double) = [](Operand x, double slope) { return maximum(x, multiply(x, slope)); };
///     register_ops(std::array{op_of(leaky, "my.leaky", "x, less steep below 0.", {"x", {"slope", 0.1}})});
///     call("my.leaky", std::array{constant({-2.0f, 3.0f})}, {{"slope", 0.5}})[0];  // [-1, 3]
CAPSTAN_EXPORT void register_ops(std::span<const NewOp> ops);

namespace detail {

template <class T>
inline constexpr bool kIsTensor = std::is_same_v<T, Tensor> || std::is_same_v<T, Operand>;

// A parameter as a variable of its own.
template <class P>
using OwnValue =
    std::conditional_t<std::is_same_v<std::remove_cvref_t<P>, std::string_view>, std::string, std::remove_cvref_t<P>>;

template <class P>
auto argument(const NewOp& op, std::size_t index, std::span<const Tensor> inputs, const AttributeMap& attributes) {
  if constexpr (kIsTensor<std::remove_cvref_t<P>>) {
    return inputs[index];
  } else {
    OwnValue<P> value{};
    const OpParameter& parameter = op.attributes[index - op.inputs.size()];
    const auto found = attributes.find(parameter.name);
    set_field(value, found == attributes.end() ? parameter.value : found->second, op.name, parameter.name);
    return value;
  }
}

inline std::vector<Tensor> as_outputs(Tensor output) { return {std::move(output)}; }
inline std::vector<Tensor> as_outputs(std::vector<Tensor> outputs) { return outputs; }

CAPSTAN_EXPORT void divide_parameters(NewOp& op, std::vector<OpParameter> parameters, std::span<const bool> is_tensor);

}  // namespace detail

/// The op of a function. Its tensors (Operand or Tensor) come first and are the inputs; its other parameters, of any
/// type with a set_field() (capstan/fields.h: truth values, numbers, texts, dtypes, lists of these), are the
/// attributes. It gives a Tensor or a vector of them. `parameters` names all of them in their order, and has the
/// defaults of attributes that need not be given. Errors: ValueError for another number of parameters, or a tensor
/// after an attribute.
///
///     Tensor (*scaled)(Operand, double) = [](Operand x, double factor) { return multiply(x, factor); };
///     const NewOp op = op_of(scaled, "my.scaled", "factor * x.", {"x", "factor"});
///     op.attributes[0].required;  // true
template <class R, class... P>
NewOp op_of(R (*function)(P...), std::string name, std::string text, std::vector<OpParameter> parameters) {
  NewOp op;
  op.name = std::move(name);
  op.text = std::move(text);
  op.outputs = std::is_same_v<R, Tensor> ? 1 : -1;
  constexpr bool is_tensor[] = {detail::kIsTensor<std::remove_cvref_t<P>>..., false};
  detail::divide_parameters(op, std::move(parameters), std::span(is_tensor, sizeof...(P)));
  op.run = [function, described = NewOp(op)](std::span<const Tensor> inputs, const AttributeMap& attributes) {
    return [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
      return detail::as_outputs(function(detail::argument<P>(described, kIndices, inputs, attributes)...));
    }
    (std::index_sequence_for<P...>());
  };
  return op;
}

}  // namespace capstan
