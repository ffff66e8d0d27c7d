// What gradient() is given: targets, sources, and the weights of the targets.
#pragma once

#include <span>
#include <string_view>

#include "capstan/tape.h"
#include "src/core/live.h"
#include "src/core/variable_state.h"

namespace capstan {

// What a target or a source holds.
inline TensorRef value_of(const Source& source) {
  return source.variable() != nullptr ? TensorRef(source.variable()->state()->value) : TensorRef(*source.tensor());
}

inline bool present(const Source& source) {
  return source.variable() != nullptr ? source.variable()->has_value() : source.tensor()->has_value();
}

[[noreturn]] void throw_missing(std::string_view call, const char* what);

// Throws ValueError if `what`, "a target", is not present, and TraceError if it is a value of a trace that has ended.
inline void check_given(std::string_view call, const char* what, const Source& source) {
  if (!present(source)) throw_missing(call, what);
  if (source.tensor() != nullptr) check_live(call, *source.tensor());
}

// Whether two are the same variable or the same tensor.
bool same_source(const Source& a, const Source& b);

// Throws ValueError, ShapeError or DTypeError if the weights are not one for each target, with its shape and dtype. An
// empty one stands for ones.
void check_output_gradients(std::span<const Source> targets, std::span<const Tensor> weights);

}  // namespace capstan
