// What the guard of check_numerics says of gradients; see check_numerics.cc.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

// Whether the thread's guard is that of numbers.
bool numbers_are_checked();

// Throws ValueError if the gradient that the rule of an op gave for an input holds NaN or infinity.
void check_gradient_of(const OpDef& op, std::size_t input, const TensorRef& cotangent, const TensorRef& gradient);

}  // namespace capstan
