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
  int ends;                      // the ends of the row that the tile computes
};

constexpr std::ptrdiff_t kChannelBlock = 16;

template <class T>
using Tile = void (*)(const Row& row, const T* source, const T* matrix, T* out, std::ptrdiff_t pixel_stride);

// Adds `channels` source channels of one tap to the pixels [kBegin, kEnd) of a tile.
template <int kBegin, int kEnd, int kPixelDistance, class T, int kPixels, int kVectors>
HWY_INLINE void add_tap(hn::Vec<hn::ScalableTag<T>> (&sums)[kPixels][kVectors], std::ptrdiff_t channels,
                        const T* HWY_RESTRICT s, const T* HWY_RESTRICT m, std::ptrdiff_t matrix_stride) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  using V = hn::Vec<decltype(d)>;
  for (std::ptrdiff_t k = 0; k < channels; ++k) {
    V w[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) w[j] = hn::LoadU(d, m + j * kLanes);
#pragma GCC unroll 32
    for (int i = kBegin; i < kEnd; ++i) {
      const V x = hn::Set(d, s[i * kPixelDistance]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(x, w[j], sums[i][j]);
    }
    ++s;
    m += matrix_stride;
    // Hides that the next step broadcasts the same elements to other pixels if they are dense:
    // the compiler would keep them in registers that there are not.
    asm("" : "+r"(s));
  }
}

// out[pixel, channel] = sum over taps and source channels, for kPixels pixels and kVectors vectors
// of channels. At the ends of a row a tap may read nothing but zeros for one pixel, which is left out.
template <class T, int kPixelDistance, int kVectors, int kPixels>
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
  const std::ptrdiff_t matrix_stride = row.matrix_stride;
  for (std::ptrdiff_t block = 0; block < row.channel_blocks; ++block) {
    const std::ptrdiff_t channels = block + 1 == row.channel_blocks ? row.tail : kChannelBlock;
    const T* block_source = source + block * row.block_stride;
    const T* block_matrix = matrix + block * kChannelBlock * matrix_stride;
    for (std::ptrdiff_t t = 0; t < row.tap_count; ++t) {
      const T* s = block_source + row.taps[t].source;
      const T* m = block_matrix + row.taps[t].matrix;
      if constexpr (kPixelDistance == kChannelBlock) {
        const int outside = row.taps[t].outside & row.ends;
        if (outside == kFirst) {
          add_tap<1, kPixels, kPixelDistance>(sums, channels, s, m, matrix_stride);
          continue;
        }
        if (outside == kLast) {
          add_tap<0, kPixels - 1, kPixelDistance>(sums, channels, s, m, matrix_stride);
          continue;
        }
      }
      add_tap<0, kPixels, kPixelDistance>(sums, channels, s, m, matrix_stride);
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sums[i][j], d, out + i * pixel_stride + j * kLanes);
  }
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

template <class T, int kPixelDistance, int kVectors, int... kPixels>
struct TileTable {
  static constexpr int kCount = sizeof...(kPixels);
  static constexpr TileChoice<T> kTiles[kCount] = {{kPixels, &tile<T, kPixelDistance, kVectors, kPixels>}...};
};

#if HWY_TARGET == HWY_AVX3
constexpr int kMaxVectors = 4;
template <class T, int kDistance>
using Tiles4 = TileTable<T, kDistance, 4, 1, 2, 3, 4, 5, 6, 7>;
template <class T, int kDistance>
using Tiles2 = TileTable<T, kDistance, 2, 1, 2, 4, 6, 7, 8, 10, 12, 14>;
template <class T, int kDistance>
using Tiles1 = TileTable<T, kDistance, 1, 1, 2, 4, 7, 10, 14, 20, 28>;
#else
constexpr int kMaxVectors = 2;
template <class T, int kDistance>
using Tiles4 = TileTable<T, kDistance, 2, 1>;  // not used
template <class T, int kDistance>
using Tiles2 = TileTable<T, kDistance, 2, 1, 2, 3, 4, 5, 6>;
template <class T, int kDistance>
using Tiles1 = TileTable<T, kDistance, 1, 1, 2, 4, 7, 10, 12>;
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

template <class T, int kDistance>
TileChoice<T> choose_tile(std::int64_t pixels, int vectors) {
  if (vectors == 4) return cheapest<T, Tiles4<T, kDistance>>(pixels, 4);
  if (vectors == 2) return cheapest<T, Tiles2<T, kDistance>>(pixels, 2);
  return cheapest<T, Tiles1<T, kDistance>>(pixels, 1);
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
