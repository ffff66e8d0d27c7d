// The types of the loops of optimizer.cc, shared by its instruction sets.
#pragma once

#include <cstdint>

namespace capstan {

// The numbers of a step, in the variable's dtype; what a, b and c are, the rule says (see StepAttributes).
template <class T>
struct StepNumbers {
  T rate, a, b, c;
};

// One step of n elements of a variable and its slots. No gradient stands for zeros.
template <class T>
using StepLoop = void (*)(T* const* slots, const T* gradient, const StepNumbers<T>& numbers, std::int64_t n);

// By rule.
template <class T>
struct OptimizerLoops {
  StepLoop<T> of[3];
};

}  // namespace capstan
