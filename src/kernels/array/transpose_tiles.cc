// Tiles are read along the source, a band of its rows from left to right, so that every page of it is met once; what
// limits a transpose is the pages of the destination, of which a tile touches one per row. Each tile is turned in a
// small buffer, in registers of 16 bytes: n rows of n elements are interleaved with those n / 2 further down, log n
// times. From the buffer whole cache lines are written, for large matrices past the caches, because reading a line only
// to overwrite it costs as much as the copy.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/array/transpose_tiles.cc"
#include "src/core/simd.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstring>

#include "src/kernels/array/transpose_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// tile[i * kTransposeTile + j] = from[j * step + i] for i < rows and j < columns.
template <class T>
void turn_part(T* tile, const T* from, std::int64_t step, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) tile[i * kTransposeTile + j] = from[j * step + i];
  }
}

// An element of complex128.
struct Bytes16 {
  std::uint64_t part[2];
};

#if HWY_TARGET == HWY_SCALAR

template <class T>
void turn_tile(T* tile, const T* from, std::int64_t step) {
  turn_part(tile, from, step, kTransposeTile, kTransposeTile);
}

// One row of a whole tile.
template <class T>
void write_row(T* to, const T* row, bool) {
  std::memcpy(to, row, kTransposeTile * sizeof(T));
}

#else

template <class T>
using Register = hn::FixedTag<T, 16 / sizeof(T)>;

// A square of as many elements as a register holds.
template <class T>
HWY_INLINE void turn_square(T* tile, const T* from, std::int64_t step) {
  const Register<T> d;
  constexpr int n = 16 / sizeof(T);
  hn::Vec<Register<T>> a[n];
  hn::Vec<Register<T>> b[n];
  for (int i = 0; i < n; ++i) a[i] = hn::LoadU(d, from + i * step);
  for (int half = 1; half < n; half *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + n / 2]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + n / 2]);
    }
    for (int i = 0; i < n; ++i) a[i] = b[i];
  }
  for (int i = 0; i < n; ++i) hn::Store(a[i], d, tile + i * kTransposeTile);
}

template <class T>
void turn_tile(T* tile, const T* from, std::int64_t step) {
  if constexpr (sizeof(T) == 16) {
    turn_part(tile, from, step, kTransposeTile, kTransposeTile);
  } else {
    constexpr std::int64_t n = 16 / sizeof(T);
    for (std::int64_t j = 0; j < kTransposeTile; j += n) {
      for (std::int64_t i = 0; i < kTransposeTile; i += n) {
        turn_square(tile + i * kTransposeTile + j, from + j * step + i, step);
      }
    }
  }
}

template <class T>
HWY_INLINE void write_row(T* to, const T* row, bool stream) {
  if constexpr (sizeof(T) < 16) {
    if (stream) {
      const Register<T> d;
      for (std::size_t j = 0; j < kTransposeTile; j += hn::Lanes(d)) hn::Stream(hn::Load(d, row + j), d, to + j);
      return;
    }
  }
  std::memcpy(to, row, kTransposeTile * sizeof(T));
}

#endif

template <class T>
void transpose(std::byte* to_bytes, const std::byte* from_bytes, const TransposeBlock& block, bool stream) {
  T* to = reinterpret_cast<T*>(to_bytes);
  const T* from = reinterpret_cast<const T*>(from_bytes);
  // Only whole registers go past the caches.
  stream = stream && reinterpret_cast<std::uintptr_t>(to_bytes) % 16 == 0 &&
           block.to * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
  alignas(64) T tile[kTransposeTile * kTransposeTile];
  for (std::int64_t j = 0; j < block.columns; j += kTransposeTile) {
    const std::int64_t columns = std::min(kTransposeTile, block.columns - j);
    for (std::int64_t i = 0; i < block.rows; i += kTransposeTile) {
      const std::int64_t rows = std::min(kTransposeTile, block.rows - i);
      const T* source = from + j * block.from + i;
      T* target = to + i * block.to + j;
      if (rows == kTransposeTile && columns == kTransposeTile) {
        turn_tile(tile, source, block.from);
        for (std::int64_t k = 0; k < kTransposeTile; ++k) {
          write_row(target + k * block.to, tile + k * kTransposeTile, stream);
        }
        continue;
      }
      turn_part(tile, source, block.from, rows, columns);
      for (std::int64_t k = 0; k < rows; ++k) {
        std::memcpy(target + k * block.to, tile + k * kTransposeTile, static_cast<std::size_t>(columns) * sizeof(T));
      }
    }
  }
  if (stream) hwy::FlushStream();
}

}  // namespace

TransposeFunction transpose_of(std::size_t size) {
  return size == 1   ? &transpose<std::uint8_t>
         : size == 2 ? &transpose<std::uint16_t>
         : size == 4 ? &transpose<std::uint32_t>
         : size == 8 ? &transpose<std::uint64_t>
                     : &transpose<Bytes16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

TransposeFunction transpose_function(std::size_t size, int instruction_set) {
  static constexpr TransposeFunction (*kTable[])(std::size_t) = CAPSTAN_TARGET_TABLE(transpose_of);
  return kTable[instruction_set](size);
}

}  // namespace capstan
#endif  // HWY_ONCE
