// Random numbers from Philox4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3").
//
// There is no generator and no state: block i of a stream is a function of the key and i. So
// element i of a tensor depends on the seed and i only, and any number of threads, or a repeated
// draw, gives the same bits.
#pragma once

#include <cstdint>

namespace capstan {

struct PhiloxBlock {
  std::uint32_t words[4];
};

// The ten rounds: what the counter c becomes under the key.
inline PhiloxBlock philox_rounds(std::uint64_t key, PhiloxBlock block) {
  std::uint32_t* const c = block.words;
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * c[2];
    const std::uint32_t next[4] = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
                                   static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    c[0] = next[0];
    c[1] = next[1];
    c[2] = next[2];
    c[3] = next[3];
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return block;
}

// Block `position` of the stream `key`; `attempt` counts draws that were thrown away.
inline PhiloxBlock philox(std::uint64_t key, std::uint64_t position, std::uint32_t attempt = 0) {
  return philox_rounds(
      key, {{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), attempt, 0}});
}

// The words [begin, begin + n) of a stream, four per block; `begin` is a multiple of 4.
void philox_words(std::uint64_t key, std::int64_t begin, std::int64_t n, std::uint32_t* words);

// out[i] = word i of the stream is at least `threshold` ? x[i] * scale : 0, on the thread pool. T
// is float or double.
template <class T>
void keyed_dropout(std::uint64_t key, std::uint32_t threshold, T scale, std::int64_t n, const T* x, T* out);
extern template void keyed_dropout<float>(std::uint64_t, std::uint32_t, float, std::int64_t, const float*, float*);
extern template void keyed_dropout<double>(std::uint64_t, std::uint32_t, double, std::int64_t, const double*, double*);

}  // namespace capstan
