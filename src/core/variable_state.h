// The state of a Variable.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "capstan/variable.h"
#include "src/core/context.h"

namespace capstan::detail {

struct VariableState {
  std::atomic<std::uint32_t> refs{1};
  bool trainable = true;
  // Construction order; tapes report watched variables in this order.
  std::uint64_t serial = 0;
  // Always a block of the variable's own: it never carries the number of the op that computed the value, so a read is a
  // leaf. Replaced, or written in place when nobody else holds it.
  Tensor value;
  std::string name;
  std::string path;
  // What optimizers make of the value after an update; empty: nothing.
  std::function<Tensor(const Tensor&)> constraint;
  // Of a binding for another language: see attach().
  void* word = nullptr;
  void (*word_died)(void* word) noexcept = nullptr;
};

inline void retain(VariableState* state) { count_up(state->refs); }
void release(VariableState* state) noexcept;

}  // namespace capstan::detail

namespace capstan {

// What a variable holds: its value, or, in a traced function, the symbolic tensor that stands for it there.
inline const Tensor& current_value(detail::VariableState& variable) {
  return context.tracer == nullptr ? variable.value : context.tracer->value_of(variable);
}

// Replaces the value of a variable by a tensor of the same dtype and shape that nobody else holds.
void replace_value(detail::VariableState& variable, Tensor value);

}  // namespace capstan
