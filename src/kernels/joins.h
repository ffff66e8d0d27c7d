// How two elements become one: sums, products and the like. Integers wrap around, bfloat16 is computed in float32, and
// the larger and smaller of NaN and a number is NaN.
#pragma once

#include <cstdint>
#include <limits>
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

template <class T>
T wrapping_difference(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}

// Each with what changes nothing.
struct SumJoin {
  template <class T>
  static constexpr T kIdentity = T(0);
  template <class T>
  static T join(T a, T b) {
    return wrapping_sum(a, b);
  }
};
struct ProductJoin {
  template <class T>
  static constexpr T kIdentity = T(1);
  template <class T>
  static T join(T a, T b) {
    return wrapping_product(a, b);
  }
};
struct MaximumJoin {
  template <class T>
  static constexpr T kIdentity = std::numeric_limits<T>::lowest();
  template <class T>
  static T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
struct MinimumJoin {
  template <class T>
  static constexpr T kIdentity = std::numeric_limits<T>::max();
  template <class T>
  static T join(T a, T b) {
    return b < a || b != b ? b : a;
  }
};

}  // namespace capstan
