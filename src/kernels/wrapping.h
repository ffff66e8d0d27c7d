// Sums and products of elements of any dtype: integers wrap around, bfloat16 is computed in float32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "capstan/dtype.h"

namespace capstan {

// The type in which elements are added and multiplied.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <class T>
T wrapping_product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

}  // namespace capstan
