// Operands of composites that are for real numbers.
#pragma once

#include <string_view>

#include "src/core/apply.h"
#include "src/core/check.h"

namespace capstan {

// Reads an operand; an error in the name of the op if its dtype is not a floating one.
inline Tensor floating_operand(std::string_view op, Operand operand) {
  Tensor x = to_tensor(operand);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, op, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  return x;
}

// The same for composites that take complex numbers as well.
inline Tensor differentiable_operand(std::string_view op, Operand operand) {
  Tensor x = to_tensor(operand);
  CAPSTAN_CHECK(is_differentiable(x.dtype()), DTypeError, op, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  return x;
}

}  // namespace capstan
