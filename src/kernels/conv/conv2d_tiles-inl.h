// The inner loops of convolution, and the choice among them; see conv2d.cc. Included once per
// instruction set.
#if defined(CAPSTAN_KERNELS_CONV2D_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_CONV2D_TILES_INL_H_
#undef CAPSTAN_KERNELS_CONV2D_TILES_INL_H_
#else
#define CAPSTAN_KERNELS_CONV2D_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The first and the last pixel of an output row.
enum RowEnd : int { kFirst = 1, kLast = 2 };

// Where a tap reads the copied source and the matrices, relative to the tile's pointers.
struct TapOffset {
  std::ptrdiff_t source;
  std::ptrdiff_t matrix;
  int outside;  // for which ends of an output row it reads the zeros beside the source
};

// What all tiles of an output row have in common. Source channels come in blocks of 16; `tail` is
// the number of channels in the last one.
struct Row {
  const TapOffset* taps;
  std::ptrdiff_t tap_count;
  std::ptrdiff_t channel_blocks;
  std::ptrdiff_t tail;
  std::ptrdiff_t block_stride;   // from a block of source channels to the next
  std::ptrdiff_t matrix_stride;  // from a row of a matrix to the next
  std::ptrdiff_t distances[4];   // from a pixel of the source to the next in bytes, times 1, 3, 5 and 7
  int ends;                      // the ends of the row that the tile computes
};

constexpr std::ptrdiff_t kChannelBlock = 16;

template <class T>
using Tile = void (*)(const Row& row, const T* source, const T* matrix, T* out, std::ptrdiff_t pixel_stride);

// A block of source channels. At every tap an empty assembly has it read from memory, as the row is: the compiler would
// keep what it has no other registers for in those of vectors, from where it comes after the multiply-adds.
template <class T>
struct Block {
  const T* source;
  const T* matrix;
  std::ptrdiff_t channels;
};

// Adds `channels` source channels of one tap to the pixels [kBegin, kEnd) of a tile.
//
// One pointer serves nine pixels, with four multiples of their distance as indices: scaled by what an address may
// be scaled by they reach all nine. The empty assembly hides how the numbers are related, and that the next step reads
// neighbouring elements, or the compiler would keep in registers what there are none for.
template <int kBegin, int kEnd, class T, int kPixels, int kVectors>
HWY_INLINE void add_tap(hn::Vec<hn::ScalableTag<T>> (&sums)[kPixels][kVectors], const Row& row, std::ptrdiff_t channels,
                        const T* s, const T* HWY_RESTRICT m) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  using V = hn::Vec<decltype(d)>;
  constexpr int kRun = 9;
  std::ptrdiff_t b = row.distances[0], b3 = row.distances[1], b5 = row.distances[2], b7 = row.distances[3];
  const char* p0 = reinterpret_cast<const char*>(s);
  const char *p1 = p0 + kRun * b, *p2 = p1 + kRun * b, *p3 = p2 + kRun * b;
  for (const char* const end = p0 + channels * static_cast<std::ptrdiff_t>(sizeof(T)); p0 != end;) {
    V w[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) w[j] = hn::LoadU(d, m + j * kLanes);
    asm("" : "+r"(b));
    if constexpr (kEnd > 3) asm("" : "+r"(b3));
    if constexpr (kEnd > 5) asm("" : "+r"(b5));
    if constexpr (kEnd > 7) asm("" : "+r"(b7));
#pragma GCC unroll 32
    for (int i = kBegin; i < kEnd; ++i) {
      const char* const p = i / kRun == 0 ? p0 : i / kRun == 1 ? p1 : i / kRun == 2 ? p2 : p3;
      const std::ptrdiff_t offsets[kRun] = {0, b, 2 * b, b3, 4 * b, b5, 2 * b3, b7, 8 * b};
      const V x = hn::Set(d, *reinterpret_cast<const T*>(p + offsets[i % kRun]));
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(x, w[j], sums[i][j]);
    }
    m += row.matrix_stride;
    p0 += sizeof(T);
    asm("" : "+r"(p0));
    if constexpr (kEnd > kRun) {
      p1 += sizeof(T);
      asm("" : "+r"(p1));
    }
    if constexpr (kEnd > 2 * kRun) {
      p2 += sizeof(T);
      asm("" : "+r"(p2));
    }
    if constexpr (kEnd > 3 * kRun) {
      p3 += sizeof(T);
      asm("" : "+r"(p3));
    }
  }
}

// out[pixel, channel] = sum over taps and source channels, for kPixels pixels and kVectors vectors
// of channels. At the ends of a row a tap may read nothing but zeros for one pixel, which is left out.
template <class T, int kVectors, int kPixels>
HWY_NOINLINE void tile(const Row& row, const T* HWY_RESTRICT source, const T* HWY_RESTRICT matrix, T* HWY_RESTRICT out,
                       std::ptrdiff_t pixel_stride) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  using V = hn::Vec<decltype(d)>;
  V sums[kPixels][kVectors];
#pragma GCC unroll 32
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  Block<T> block{source, matrix, kChannelBlock};
  for (std::ptrdiff_t blocks = row.channel_blocks; blocks > 0; --blocks) {
    if (blocks == 1) block.channels = row.tail;
    const TapOffset* tap = row.taps;
    for (std::ptrdiff_t taps = row.tap_count; taps > 0; --taps, ++tap) {
      asm volatile("" : "+m"(block) : : "memory");
      const T* s = block.source + tap->source;
      const T* m = block.matrix + tap->matrix;
      std::ptrdiff_t channels = block.channels;
      asm("" : "+r"(channels));
      const int outside = tap->outside & row.ends;
      if (outside == 0) {
        add_tap<0, kPixels>(sums, row, channels, s, m);
      } else if (outside & kFirst) {
        add_tap<1, kPixels>(sums, row, channels, s, m);
      } else {
        add_tap<0, kPixels - 1>(sums, row, channels, s, m);
      }
    }
    block.source += row.block_stride;
    block.matrix += kChannelBlock * row.matrix_stride;
  }
#pragma GCC unroll 32
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sums[i][j], d, out + i * pixel_stride + j * kLanes);
  }
}

// The same for one vector of channels and taps in threes that read neighbours. Such a tile would load as much as it
// multiplies, so a pixel is loaded once for all three: it is the third one's of the output pixel before it, the
// second one's of its own and the first one's of that after it. What lies beside the image is read from zeros.
template <class T, int kPixels>
HWY_NOINLINE void tile_of_threes(const Row& row, const T* HWY_RESTRICT source, const T* HWY_RESTRICT matrix,
                                 T* HWY_RESTRICT out, std::ptrdiff_t pixel_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  static constexpr T kZeros[kChannelBlock] = {};
  constexpr int kRun = 9;
  V sums[kPixels];
#pragma GCC unroll 32
  for (int i = 0; i < kPixels; ++i) sums[i] = hn::Zero(d);
  Block<T> block{source, matrix, kChannelBlock};
  for (std::ptrdiff_t blocks = row.channel_blocks; blocks > 0; --blocks) {
    if (blocks == 1) block.channels = row.tail;
    const TapOffset* tap = row.taps;
    for (std::ptrdiff_t taps = row.tap_count; taps > 0; taps -= 3, tap += 3) {
      asm volatile("" : "+m"(block) : : "memory");
      std::ptrdiff_t b = row.distances[0], b3 = row.distances[1], b5 = row.distances[2], b7 = row.distances[3];
      const T* before = tap[0].outside & row.ends & kFirst ? kZeros : block.source + tap[0].source;
      const char* p0 = reinterpret_cast<const char*>(block.source + tap[1].source);
      const char *p1 = p0 + kRun * b, *p2 = p1 + kRun * b, *p3 = p2 + kRun * b;
      const T* behind = reinterpret_cast<const T*>(p0 + kPixels * b);
      if (tap[2].outside & row.ends & kLast) behind = kZeros;
      const T* m = block.matrix + tap[0].matrix;
      const std::ptrdiff_t next = tap[1].matrix - tap[0].matrix;
      for (const T* const end = before + block.channels; before != end;) {
        const V w0 = hn::LoadU(d, m), w1 = hn::LoadU(d, m + next), w2 = hn::LoadU(d, m + 2 * next);
        asm("" : "+r"(b));
        if constexpr (kPixels > 3) asm("" : "+r"(b3));
        if constexpr (kPixels > 5) asm("" : "+r"(b5));
        if constexpr (kPixels > 7) asm("" : "+r"(b7));
        sums[0] = hn::MulAdd(hn::Set(d, *before), w0, sums[0]);
#pragma GCC unroll 32
        for (int i = 0; i < kPixels; ++i) {
          const char* const p = i / kRun == 0 ? p0 : i / kRun == 1 ? p1 : i / kRun == 2 ? p2 : p3;
          const std::ptrdiff_t offsets[kRun] = {0, b, 2 * b, b3, 4 * b, b5, 2 * b3, b7, 8 * b};
          const V x = hn::Set(d, *reinterpret_cast<const T*>(p + offsets[i % kRun]));
          if (i > 0) sums[i - 1] = hn::MulAdd(x, w2, sums[i - 1]);
          sums[i] = hn::MulAdd(x, w1, sums[i]);
          if (i + 1 < kPixels) sums[i + 1] = hn::MulAdd(x, w0, sums[i + 1]);
        }
        sums[kPixels - 1] = hn::MulAdd(hn::Set(d, *behind), w2, sums[kPixels - 1]);
        m += row.matrix_stride;
        ++before, ++behind;
        p0 += sizeof(T);
        asm("" : "+r"(p0), "+r"(before), "+r"(behind));
        if constexpr (kPixels > kRun) {
          p1 += sizeof(T);
          asm("" : "+r"(p1));
        }
        if constexpr (kPixels > 2 * kRun) {
          p2 += sizeof(T);
          asm("" : "+r"(p2));
        }
        if constexpr (kPixels > 3 * kRun) {
          p3 += sizeof(T);
          asm("" : "+r"(p3));
        }
      }
    }
    block.source += row.block_stride;
    block.matrix += kChannelBlock * row.matrix_stride;
  }
#pragma GCC unroll 32
  for (int i = 0; i < kPixels; ++i) hn::StoreU(sums[i], d, out + i * pixel_stride);
}

// The same for kChannels output channels, too few for a vector: the lanes are source channels
// instead, of which the copied source has whole blocks, and each sum is added up at the end.
// Matrices are [tap][block][output channel][16 source channels].
template <class T, int kChannels, int kPixels>
HWY_NOINLINE void narrow_tile(const Row& row, const T* HWY_RESTRICT source, const T* HWY_RESTRICT matrix,
                              T* HWY_RESTRICT out, std::ptrdiff_t pixel_stride) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  using V = hn::Vec<decltype(d)>;
  V sums[kPixels][kChannels];
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int n = 0; n < kChannels; ++n) sums[i][n] = hn::Zero(d);
  }
  for (std::ptrdiff_t block = 0; block < row.channel_blocks; ++block) {
    const T* block_source = source + block * row.block_stride;
    const T* block_matrix = matrix + block * kChannelBlock * kChannels;
    for (std::ptrdiff_t t = 0; t < row.tap_count; ++t) {
      const T* s = block_source + row.taps[t].source;
      const T* m = block_matrix + row.taps[t].matrix;
#pragma GCC unroll 1
      for (std::ptrdiff_t k = 0; k < kChannelBlock; k += kLanes) {
        V w[kChannels];
#pragma GCC unroll 4
        for (int n = 0; n < kChannels; ++n) w[n] = hn::LoadU(d, m + n * kChannelBlock + k);
#pragma GCC unroll 4
        for (int i = 0; i < kPixels; ++i) {
          const V x = hn::LoadU(d, s + i * kChannelBlock + k);
#pragma GCC unroll 4
          for (int n = 0; n < kChannels; ++n) sums[i][n] = hn::MulAdd(x, w[n], sums[i][n]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int n = 0; n < kChannels; ++n) {
      out[i * pixel_stride + n] = hn::GetLane(hn::SumOfLanes(d, sums[i][n]));
    }
  }
}

// The tiles there are. Sizes are chosen so that the sums, the matrix's vectors and a broadcast fit
// the registers: 32 with AVX-512, else 16.
template <class T>
struct TileChoice {
  int pixels;
  Tile<T> tile;
};

template <class T, int kVectors, int... kPixels>
struct TileTable {
  static constexpr int kCount = sizeof...(kPixels);
  static constexpr TileChoice<T> kTiles[kCount] = {{kPixels, &tile<T, kVectors, kPixels>}...};
};

template <class T, int... kPixels>
struct ThreesTable {
  static constexpr TileChoice<T> kTiles[] = {{kPixels, &tile_of_threes<T, kPixels>}...};
};

#if HWY_TARGET == HWY_AVX3
constexpr int kMaxVectors = 4;
template <class T>
using Tiles4 = TileTable<T, 4, 1, 2, 3, 4, 5, 6, 7>;
template <class T>
using Tiles2 = TileTable<T, 2, 1, 2, 4, 6, 7, 8, 10, 12, 14>;
template <class T>
using Tiles1 = TileTable<T, 1, 1, 2, 4, 7, 10, 14, 20, 28>;
template <class T>
using Threes = ThreesTable<T, 1, 2, 4, 7, 10, 14, 20, 28>;
#elif HWY_TARGET == HWY_AVX2
constexpr int kMaxVectors = 2;
template <class T>
using Tiles4 = TileTable<T, 2, 1>;  // not used
template <class T>
using Tiles2 = TileTable<T, 2, 1, 2, 3, 4, 5, 6>;
template <class T>
using Tiles1 = TileTable<T, 1, 1, 2, 4, 7, 10, 12>;
template <class T>
using Threes = ThreesTable<T, 1, 2, 4, 7, 10, 14, 20, 28>;
#else
// Where a vector is one number, few tiles do: none is much better than another.
constexpr int kMaxVectors = 2;
template <class T>
using Tiles4 = TileTable<T, 2, 1>;  // not used
template <class T>
using Tiles2 = TileTable<T, 2, 1, 6>;
template <class T>
using Tiles1 = TileTable<T, 1, 1, 4, 12>;
template <class T>
using Threes = ThreesTable<T, 1, 4, 10>;
#endif
constexpr int kMaxPixels = 28;

constexpr std::int64_t kNarrow = 4;
template <class T, int kChannels>
struct NarrowTable {
  static constexpr TileChoice<T> kTiles[] = {{1, &narrow_tile<T, kChannels, 1>}, {4, &narrow_tile<T, kChannels, 4>}};
};

// The tile that covers `pixels` pixels at the least cost, the last one overlapping. A tile of fewer
// than eight sums waits for the latency of its multiply-adds.
template <class T, class Table>
TileChoice<T> cheapest(std::int64_t pixels, int vectors) {
  TileChoice<T> best = Table::kTiles[0];
  std::int64_t best_cost = INT64_MAX;
  for (const TileChoice<T>& choice : Table::kTiles) {
    if (choice.pixels > pixels) break;
    const std::int64_t tiles = (pixels + choice.pixels - 1) / choice.pixels;
    const std::int64_t cost = tiles * (std::max(choice.pixels * vectors, 8) + vectors);
    if (cost <= best_cost) {
      best = choice;
      best_cost = cost;
    }
  }
  return best;
}

template <class T>
TileChoice<T> choose_tile(std::int64_t pixels, int vectors, bool threes) {
  if (vectors == 1 && threes) return cheapest<T, Threes<T>>(pixels, 1);
  if (vectors == 4) return cheapest<T, Tiles4<T>>(pixels, 4);
  if (vectors == 2) return cheapest<T, Tiles2<T>>(pixels, 2);
  return cheapest<T, Tiles1<T>>(pixels, 1);
}

template <class T>
TileChoice<T> choose_narrow_tile(std::int64_t pixels, std::int64_t channels) {
  if (channels == 1) return cheapest<T, NarrowTable<T, 1>>(pixels, 1);
  if (channels == 2) return cheapest<T, NarrowTable<T, 2>>(pixels, 2);
  if (channels == 3) return cheapest<T, NarrowTable<T, 3>>(pixels, 3);
  return cheapest<T, NarrowTable<T, 4>>(pixels, 4);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // CAPSTAN_KERNELS_CONV2D_TILES_INL_H_
