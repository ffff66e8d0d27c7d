// The words of a stream of random numbers, one after the other, in the order in which TensorFlow's datasets draw them.
#pragma once

#include <cstdint>

#include "src/core/philox.h"

namespace capstan::detail {

class WordStream {
 public:
  // A key, and the upper half of the counter.
  WordStream(std::uint64_t seed, std::uint64_t seed2) : key_(seed), upper_(seed2) {}

  std::uint32_t next() {
    if (used_ == 4) {
      block_ = philox_rounds(key_, {{static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(position_ >> 32),
                                     static_cast<std::uint32_t>(upper_), static_cast<std::uint32_t>(upper_ >> 32)}});
      if (++position_ == 0) ++upper_;
      used_ = 0;
    }
    return block_.words[used_++];
  }

 private:
  std::uint64_t key_;
  std::uint64_t upper_;
  std::uint64_t position_ = 0;
  PhiloxBlock block_ = {};
  unsigned used_ = 4;
};

}  // namespace capstan::detail
