// Random numbers from Philox4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3").
//
// There is no generator and no state: block i of a stream is a function of the key and i. So
// element i of a tensor depends on the seed and i only, and any number of threads, or a repeated
// draw, gives the same bits.
//
// The library of the authors, Random123, has the same rounds, for one block at a time. The kernels need them in vectors
// of every instruction set (src/kernels/random/random.cc), which it does not have, and would still need their own; what
// it could replace are the lines below.
#pragma once

#include <cstdint>

namespace capstan {

// The multipliers of a round, and what is added to the halves of the key between rounds.
inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53u, kPhiloxMultiplier1 = 0xCD9E8D57u;
inline constexpr std::uint32_t kPhiloxStep0 = 0x9E3779B9u, kPhiloxStep1 = 0xBB67AE85u;
inline constexpr int kPhiloxRounds = 10;

struct PhiloxBlock {
  std::uint32_t words[4];
};

// The ten rounds: what the counter c becomes under the key.
inline PhiloxBlock philox_rounds(std::uint64_t key, PhiloxBlock block) {
  std::uint32_t* const c = block.words;
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxMultiplier0} * c[0];
    const std::uint64_t b = std::uint64_t{kPhiloxMultiplier1} * c[2];
    const std::uint32_t next[4] = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
                                   static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    c[0] = next[0];
    c[1] = next[1];
    c[2] = next[2];
    c[3] = next[3];
    k0 += kPhiloxStep0;
    k1 += kPhiloxStep1;
  }
  return block;
}

// Block `position` of the stream `key`; `attempt` counts draws that were thrown away.
inline PhiloxBlock philox(std::uint64_t key, std::uint64_t position, std::uint32_t attempt = 0) {
  return philox_rounds(
      key, {{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), attempt, 0}});
}

}  // namespace capstan
