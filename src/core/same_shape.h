// What the paths of small elementwise ops share.
#pragma once

#include <cstdint>
#include <cstring>

#include "capstan/tensor.h"

namespace capstan {

// Loops of at most this many elements are called directly: run_loop is for broadcasts and threads.
inline constexpr std::int64_t kDirectLoop = 16384;

// Lengths beyond the rank are zero, so shapes compare as a whole.
inline bool same_shape(const detail::Block* a, const detail::Block* b) {
  std::uint64_t x[4];
  std::uint64_t y[4];
  static_assert(sizeof(x) == sizeof(a->dims));
  std::memcpy(x, a->dims, sizeof(x));
  std::memcpy(y, b->dims, sizeof(y));
  return a->rank == b->rank && ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) == 0;
}

}  // namespace capstan
