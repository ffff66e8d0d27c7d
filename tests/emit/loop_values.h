// Numbers for loops, buffers with guards, and comparing bits.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "capstan/dtype.h"
#include "src/core/cpu.h"
#include "tests/support/random.h"

namespace capstan::testing {

// The instruction sets of this processor that machine code exists for.
inline std::vector<int> emitting_sets() {
  std::vector<int> sets;
  for (int set = kAvx2; set <= instruction_set(); ++set) sets.push_back(set);
  return sets;
}

template <class T>
constexpr DType dtype_of() {
  return std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64;
}

template <class T>
T strange_number(Random& random) {
  using Limits = std::numeric_limits<T>;
  static constexpr T kSpecial[] = {T(0),
                                   T(-0.0),
                                   T(1),
                                   T(-1),
                                   T(0.5),
                                   T(-0.5),
                                   T(2),
                                   T(3),
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   Limits::quiet_NaN(),
                                   Limits::denorm_min(),
                                   -Limits::denorm_min(),
                                   Limits::min(),
                                   Limits::max(),
                                   Limits::lowest(),
                                   T(-88.5),
                                   T(88.5),
                                   T(-708),
                                   T(1e-20),
                                   T(-1e20)};
  const auto kind = random.integer(0, 9);
  if (kind < 3) return kSpecial[random.integer(0, static_cast<std::int64_t>(std::size(kSpecial)) - 1)];
  if (kind < 4) return static_cast<T>(random.uniform(-120, 120));
  return static_cast<T>(random.uniform(-4, 4));
}

template <class T>
std::vector<T> numbers(std::size_t n, Random& random, bool ordinary = false) {
  std::vector<T> values(n);
  for (T& value : values) {
    value = ordinary ? static_cast<T>(random.uniform(-2, 2)) : strange_number<T>(random);
  }
  return values;
}

// Room for n elements of T, at an odd place, between bytes that must stay what they are.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t n) : bytes_(n * sizeof(T) + 2 * kGuard, kByte), n_(n) {}

  T* data() { return reinterpret_cast<T*>(bytes_.data() + kGuard); }
  void fill(std::span<const T> values) {
    if (n_ > 0) std::memcpy(data(), values.data(), n_ * sizeof(T));
  }
  T operator[](std::size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + kGuard + i * sizeof(T), sizeof(T));
    return value;
  }
  bool intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes_[i] != kByte || bytes_[bytes_.size() - 1 - i] != kByte) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 3 * 64 + sizeof(T);
  static constexpr unsigned char kByte = 0xa5;
  std::vector<unsigned char> bytes_;
  std::size_t n_;
};

// Equal bits, or both NaN.
template <class T>
bool same_bits(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  using Bytes = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
}

}  // namespace capstan::testing
