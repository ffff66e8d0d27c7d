// What a reduction does with one axis.
#pragma once

#include <cstdint>
#include <limits>

namespace capstan {

// The steps that loops know; everything else is made of them.
enum ReduceStep : int { kSumStep, kProductStep, kMaximumStep, kMinimumStep, kSumOfSquaresStep, kReduceSteps };

// The result of no elements.
template <class T>
T identity_of(ReduceStep step) {
  using Limits = std::numeric_limits<T>;
  switch (step) {
    case kProductStep:
      return T(1);
    case kMaximumStep:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case kMinimumStep:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default:
      return T(0);
  }
}

}  // namespace capstan
