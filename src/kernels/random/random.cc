// Streams of random words, several blocks side by side in vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/random/random.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"
#include "src/kernels/random/random.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A product of 32-bit halves lies in a 64-bit lane, so a vector holds as many blocks as 64-bit
// lanes, and every word of a block has a vector of its own.
void words(std::uint64_t key, std::uint64_t first_block, std::int64_t blocks, std::uint32_t* out) {
  const hn::ScalableTag<std::uint64_t> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V low = hn::Set(d, 0xFFFFFFFFu);
  const V m0 = hn::Set(d, kPhiloxMultiplier0);
  const V m1 = hn::Set(d, kPhiloxMultiplier1);
  const auto multiply = [&](V a, V b) HWY_ATTR {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(d, hn::GetLane(a) * hn::GetLane(b));
#else
    const hn::Repartition<std::uint32_t, decltype(d)> d32;
    return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
#endif
  };
  std::int64_t i = 0;
  for (; i + lanes <= blocks; i += lanes) {
    const V position = hn::Add(hn::Iota(d, 0), hn::Set(d, first_block + static_cast<std::uint64_t>(i)));
    V c0 = hn::And(position, low);
    V c1 = hn::ShiftRight<32>(position);
    V c2 = hn::Zero(d);
    V c3 = hn::Zero(d);
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const V a = multiply(m0, c0);
      const V b = multiply(m1, c2);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, k0));
      c1 = hn::And(b, low);
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, k1));
      c3 = hn::And(a, low);
      k0 += kPhiloxStep0;
      k1 += kPhiloxStep1;
    }
    const V first = hn::Or(c0, hn::ShiftLeft<32>(c1));
    const V second = hn::Or(c2, hn::ShiftLeft<32>(c3));
    HWY_ALIGN std::uint64_t pairs[2][HWY_MAX_BYTES / 8];
    hn::Store(first, d, pairs[0]);
    hn::Store(second, d, pairs[1]);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      std::uint32_t* block = out + (i + lane) * 4;
      block[0] = static_cast<std::uint32_t>(pairs[0][lane]);
      block[1] = static_cast<std::uint32_t>(pairs[0][lane] >> 32);
      block[2] = static_cast<std::uint32_t>(pairs[1][lane]);
      block[3] = static_cast<std::uint32_t>(pairs[1][lane] >> 32);
    }
  }
  for (; i < blocks; ++i) {
    const PhiloxBlock block = philox(key, first_block + static_cast<std::uint64_t>(i));
    for (int w = 0; w < 4; ++w) out[i * 4 + w] = block.words[w];
  }
}

}  // namespace

void philox_blocks(std::uint64_t key, std::uint64_t first_block, std::int64_t blocks, std::uint32_t* out) {
  words(key, first_block, blocks, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

void philox_words(std::uint64_t key, std::int64_t begin, std::int64_t n, std::uint32_t* words) {
  static constexpr void (*table[])(std::uint64_t, std::uint64_t, std::int64_t, std::uint32_t*) =
      CAPSTAN_TARGET_TABLE(philox_blocks);
  table[instruction_set()](key, static_cast<std::uint64_t>(begin / 4), n / 4, words);
  if (n % 4 != 0) {
    const PhiloxBlock last = philox(key, static_cast<std::uint64_t>((begin + n) / 4));
    std::copy_n(last.words, n % 4, words + n / 4 * 4);
  }
}

// The choice is made by masking bits: a branch on a random word would be a guess. `out` may be x.
template <class T>
static void keep(const std::uint32_t* words, std::uint32_t threshold, T scale, std::int64_t n, const T* x, T* out) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const Bits mask = words[i] >= threshold ? ~Bits(0) : Bits(0);
    out[i] = std::bit_cast<T>(std::bit_cast<Bits>(x[i] * scale) & mask);
  }
}

template <class T>
void keyed_dropout(std::uint64_t key, std::uint32_t threshold, T scale, std::int64_t n, const T* x, T* out) {
  constexpr std::int64_t kChunk = 32768;
  constexpr std::int64_t kBlock = 1024;
  parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t task) {
    std::uint32_t words[kBlock];
    const std::int64_t end = std::min(n, (task + 1) * kChunk);
    for (std::int64_t begin = task * kChunk; begin < end; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, end - begin);
      philox_words(key, begin, count, words);
      keep(words, threshold, scale, count, x + begin, out + begin);
    }
  });
}
template void keyed_dropout<float>(std::uint64_t, std::uint32_t, float, std::int64_t, const float*, float*);
template void keyed_dropout<double>(std::uint64_t, std::uint32_t, double, std::int64_t, const double*, double*);

}  // namespace capstan
#endif  // HWY_ONCE
