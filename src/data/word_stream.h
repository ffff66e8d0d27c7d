// The words of a stream of random numbers, one after the other, in the order in which TensorFlow's datasets draw them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/core/philox.h"

namespace capstan::detail {

class WordStream {
 public:
  // A key, and the upper half of the counter.
  WordStream(std::uint64_t seed, std::uint64_t seed2) : key_(seed), seed2_(seed2) {}

  std::uint32_t next() {
    const auto used = static_cast<unsigned>(position_ % 4);
    if (used == 0) fill();
    ++position_;
    return block_.words[used];
  }

  // A word modulo `count`, which is not 0. A division of 32 bits takes half the time of one of 64.
  std::size_t next_below(std::size_t count) {
    const std::uint32_t word = next();
    return count > UINT32_MAX ? word : word % static_cast<std::uint32_t>(count);
  }

  std::uint64_t seed() const { return key_; }
  std::uint64_t seed2() const { return seed2_; }
  // The number of words drawn.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) {
    position_ = position;
    if (position % 4 != 0) fill();
  }

 private:
  void fill() {
    const std::uint64_t block = position_ / 4;
    block_ = philox_rounds(key_, {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                   static_cast<std::uint32_t>(seed2_), static_cast<std::uint32_t>(seed2_ >> 32)}});
  }

  std::uint64_t key_;
  std::uint64_t seed2_;
  std::uint64_t position_ = 0;
  PhiloxBlock block_ = {};
};

}  // namespace capstan::detail
