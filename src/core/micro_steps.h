// What everything shares that computes a recorded formula step by step.
#pragma once

#include <vector>

#include "src/core/micro.h"

namespace capstan {

// The steps that the result needs; the others may stand for values that are not there. Of what zero_of() is given only
// the shape counts.
inline std::vector<bool> needed_steps(const MicroCode& code) {
  std::vector<bool> needed(code.steps.size());
  needed[static_cast<std::size_t>(code.result)] = true;
  for (int i = code.result; i >= 0; --i) {
    const MicroStep& step = code.steps[static_cast<std::size_t>(i)];
    if (!needed[static_cast<std::size_t>(i)] || step.op == MicroOp::kInput || step.op == MicroOp::kParameter ||
        step.op == MicroOp::kZero)
      continue;
    for (const int k : {int{step.a}, int{step.b}, int{step.c}}) {
      if (k >= 0) needed[static_cast<std::size_t>(k)] = true;
    }
  }
  return needed;
}

// A sum, difference, product or quotient of literals and parameters, which are computed in double.
inline double of_numbers(MicroOp op, double x, double y) {
  return op == MicroOp::kAdd ? x + y : op == MicroOp::kSubtract ? x - y : op == MicroOp::kMultiply ? x * y : x / y;
}

}  // namespace capstan
