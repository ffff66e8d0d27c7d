// What draws are made of: numbers from words of a stream (src/kernels/random/random.h), and keys from keys.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "src/core/seed_stream.h"

namespace capstan {

// In [0, 1), with the 53 bits of a double's fraction.
inline double fraction53(const std::uint32_t* words) {
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// Two standard normal numbers from two words each (Box and Muller), in float64 whatever the dtype.
inline void normal_pair(const std::uint32_t* words, double* pair) {
  const double u = 1 - fraction53(words);  // in (0, 1], so that the logarithm is finite
  const double angle = 2 * std::numbers::pi * fraction53(words + 2);
  const double radius = std::sqrt(-2 * std::log(u));
  pair[0] = radius * std::cos(angle);
  pair[1] = radius * std::sin(angle);
}

}  // namespace capstan
