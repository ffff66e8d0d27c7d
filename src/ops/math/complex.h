// Whether an operand is complex, for functions that take real and complex numbers by different ops.
#pragma once

#include "capstan/tensor.h"
#include "src/core/variable_state.h"

namespace capstan {

inline bool is_complex_operand(const Operand& x) {
  switch (x.kind()) {
    case Operand::Kind::kLent:
      return x.lent() != nullptr && is_complex(x.lent()->dtype);
    case Operand::Kind::kGiven:
      return x.given()->has_value() && is_complex(x.given()->dtype());
    case Operand::Kind::kVariable:
      return x.variable() != nullptr && is_complex(x.variable()->value.dtype());
    default:
      return x.is_complex_literal();
  }
}

}  // namespace capstan
