// Ops on values of functional models. In Keras an op between layers is a part of the model; here it becomes a layer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capstan/models.h"
#include "capstan/op_calls.h"

namespace capstan::python {

/// Whether a tensor is a value of a functional model, which stands for examples and has no elements of its own.
inline bool is_in_graph(const TensorRef& t) {
  const detail::Block* const block = t.block();
  if (block == nullptr || (block->flags.load(std::memory_order_relaxed) & detail::Block::kAnnotated) == 0) return false;
  detail::retain(t.block());
  return open_shape(Tensor::adopt(t.block())).has_value();
}
bool any_in_graph(std::span<const Operand> operands);

/// What a function of these tensors gives, as a layer of the model that they are values of.
std::vector<Tensor> call_in_graph(const std::string& name, const std::vector<Tensor>& tensors,
                                  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function);
/// The same for an op.
std::vector<Tensor> call_in_graph(const Op& op, std::span<const Operand> operands, const AttributeSet& attributes);

/// Throws a TypeError of Python for a value of a functional model.
void need_values(const char* what, const Tensor& t);

}  // namespace capstan::python
