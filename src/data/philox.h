// The Philox generator (Salmon et al., 2011) as the order of shuffled datasets uses it: a counter, a key, four words
// per block, ten rounds.
#pragma once

#include <array>
#include <cstdint>

namespace capstan::detail {

class Philox {
 public:
  // A key and the upper half of the counter, as TensorFlow's datasets set them.
  Philox(std::uint64_t seed, std::uint64_t seed2)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, 0, static_cast<std::uint32_t>(seed2), static_cast<std::uint32_t>(seed2 >> 32)} {}

  std::uint32_t next() {
    if (used_ == 4) {
      words_ = block(counter_, key_);
      for (std::uint32_t& word : counter_) {
        if (++word != 0) break;
      }
      used_ = 0;
    }
    return words_[used_++];
  }

 private:
  using Words = std::array<std::uint32_t, 4>;

  static Words block(Words c, std::array<std::uint32_t, 2> k) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    return c;
  }

  std::array<std::uint32_t, 2> key_;
  Words counter_;
  Words words_ = {};
  unsigned used_ = 4;
};

}  // namespace capstan::detail
