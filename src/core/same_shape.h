// What the paths of small elementwise ops share.
#pragma once

#include <cstdint>
#include <cstring>

#include "capstan/tensor.h"

namespace capstan {

// Loops of at most this many elements are called directly: run_loop is for broadcasts and threads.
inline constexpr std::int64_t kDirectLoop = 16384;

// Lengths beyond the rank are zero, so shapes compare as a whole, two lengths at a time. (Copies of all of them would
// be written to the stack by 16 bytes and read back by 8.)
inline bool same_shape(const detail::Block* a, const detail::Block* b) {
  const auto differ = [&](int i) {
    std::uint64_t x;
    std::uint64_t y;
    std::memcpy(&x, a->dims + 2 * i, sizeof(x));
    std::memcpy(&y, b->dims + 2 * i, sizeof(y));
    return x ^ y;
  };
  static_assert(kMaxRank == 8);
  return a->rank == b->rank && (differ(0) | differ(1) | differ(2) | differ(3)) == 0;
}

// Whether the shape of an elementwise op's result is that of this input, and not a stretched one. Of two shapes of one
// rank of which one broadcasts to the other, the stretched one has more elements, if there are any.
inline bool keeps_shape(const detail::Block* input, const detail::Block* result) {
  return input->rank == result->rank && input->count == result->count &&
         (result->count != 0 || same_shape(input, result));
}

}  // namespace capstan
