// The register tiles of the matrix product, see gemm_tiles.h.
//
// The accumulators are an array of vectors; it lives in registers because every loop over it is
// unrolled completely. A tile of AVX-512 has 14 x 2 accumulators of the 32 registers, one of AVX2 6
// x 2 of 16: two vectors of B and one broadcast of A need the rest. With that shape a tile loads
// less than one vector per multiply-add, and there are more than the eight chains that hide the
// latency.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/linalg/gemm_tiles.cc"
#include "src/core/simd.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "src/core/cpu.h"
#include "src/kernels/linalg/gemm_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

#if HWY_TARGET == HWY_AVX3
// A masked load costs nothing, so all tiles are masked.
constexpr bool kMaskAlways = true;
constexpr int kRows = 14, kNarrowRows = 16, kVectors = 2, kFlatRows = 3;
// How far ahead operands are fetched: a step takes 14 cycles. More would not stay in the first cache where rows are a
// power of two apart, since all of these share a few sets of its lines.
constexpr std::int64_t kStepsAhead = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr bool kMaskAlways = false;
constexpr int kRows = 6, kNarrowRows = 6, kVectors = 2, kFlatRows = 2;
constexpr std::int64_t kStepsAhead = 20;
#else
constexpr bool kMaskAlways = false;
constexpr int kRows = 4, kNarrowRows = 4, kVectors = 4, kFlatRows = 1;
constexpr std::int64_t kStepsAhead = 20;
#endif

template <class T, bool kMasked>
HWY_INLINE HWY_ATTR Vec<T> load(hn::Mask<Tag<T>> mask, const T* from) {
  if constexpr (kMasked) return hn::MaskedLoad(mask, Tag<T>(), from);
  return hn::LoadU(Tag<T>(), from);
}

template <class T, int kTileRows, int kTileVectors, bool kUnitRow, bool kMasked>
HWY_ATTR void tile(const TileArguments<T>& arguments) {
  const Tag<T> d;
  constexpr std::int64_t kLanes = HWY_LANES(T);
  constexpr int kLast = kTileVectors - 1;
  const std::int64_t last_columns = arguments.columns - kLast * kLanes;
  // A compare leaves the mask in a mask register; FirstN moves it there again in every step.
  const auto mask = hn::Lt(hn::Iota(d, T(0)), hn::Set(d, static_cast<T>(last_columns)));
  const std::int64_t a_row = kUnitRow ? 1 : arguments.a_row;
  const std::int64_t a_step = kUnitRow ? arguments.a_step : 1;
  const std::int64_t b_step = arguments.b_step;
  const std::int64_t c_row = arguments.c_row;

  Vec<T> sum[kTileRows][kTileVectors];
  if (arguments.accumulate) {
    const T* HWY_RESTRICT c = arguments.c;
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i, c += c_row) {
#pragma GCC unroll 4
      for (int j = 0; j < kLast; ++j) sum[i][j] = hn::LoadU(d, c + j * kLanes);
      sum[i][kLast] = load<T, kMasked>(mask, c + kLast * kLanes);
    }
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] = hn::Zero(d);
    }
  }

  if (const T* next = arguments.next_c; next != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i, next += c_row) {
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) __builtin_prefetch(next + j * kLanes, 1);
    }
  }

  // With rows apart, one pointer serves four of them, so that all addresses stay in registers. The
  // compiler would make one pointer per row, or keep an array of pointers in memory.
  constexpr int kStride = kUnitRow ? kTileRows : 4;
  const T* a0 = arguments.a;
  const T* a1 = a0 + kStride * a_row;
  const T* a2 = a1 + kStride * a_row;
  const T* a3 = a2 + kStride * a_row;
  const T* HWY_RESTRICT b = arguments.b;
  // The processor does not foresee reads whose rows lie far apart. Fetched by a line or two per step they come beside
  // the multiply-adds; all at once they would keep the places for lines on their way, and the loads of the tile wait.
  constexpr bool kFetches = kTileRows >= 4;
  const std::int64_t b_ahead = kStepsAhead * b_step;
  [[maybe_unused]] const std::int64_t a_ahead = kStepsAhead * a_step;
  const T* ahead = arguments.ahead != nullptr ? arguments.ahead : b;
  const std::int64_t line = arguments.ahead != nullptr ? arguments.ahead_step : 0;
  for (std::int64_t step = arguments.depth; step > 0; --step) {
    Vec<T> row[kTileVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kLast; ++j) row[j] = hn::LoadU(d, b + j * kLanes);
    row[kLast] = load<T, kMasked>(mask, b + kLast * kLanes);
    if constexpr (kFetches) {
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) __builtin_prefetch(b + b_ahead + j * kLanes);
      if constexpr (kUnitRow) __builtin_prefetch(a0 + a_ahead);
      __builtin_prefetch(ahead, 0, 2);
      ahead += line;
    }
    b += b_step;
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      const int pointer = i / kStride;
      const T* from = pointer == 0 ? a0 : pointer == 1 ? a1 : pointer == 2 ? a2 : a3;
      const Vec<T> factor = hn::Set(d, from[i % kStride * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] = hn::MulAdd(factor, row[j], sum[i][j]);
    }
    a0 += a_step;
    if constexpr (kTileRows > kStride) {
      a1 += a_step;
      asm("" : "+r"(a0), "+r"(a1));
    }
    if constexpr (kTileRows > 2 * kStride) {
      a2 += a_step;
      asm("" : "+r"(a2));
    }
    if constexpr (kTileRows > 3 * kStride) {
      a3 += a_step;
      asm("" : "+r"(a3));
    }
  }

  T* HWY_RESTRICT c = arguments.c;
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i, c += c_row) {
#pragma GCC unroll 4
    for (int j = 0; j < kLast; ++j) hn::StoreU(sum[i][j], d, c + j * kLanes);
    T* last = c + kLast * kLanes;
    // A whole vector is stored without the mask: a masked store does not forward to the next load.
    if (!kMasked || last_columns == kLanes) {
      hn::StoreU(sum[i][kLast], d, last);
    } else {
      hn::BlendedStore(sum[i][kLast], mask, d, last);
    }
  }
}

#if HWY_TARGET == HWY_AVX3
constexpr int kStreamRows = 14;
template <class T>
HWY_ATTR void stream(const TileArguments<T>& arguments, std::int64_t rows) {
  const Tag<T> d;
  constexpr int kDepth = TileKernels<T>::kStreamDepth;
  const auto mask = hn::FirstN(d, static_cast<size_t>(arguments.columns));
  Vec<T> b[kDepth];
#pragma GCC unroll 16
  for (int k = 0; k < kDepth; ++k) b[k] = hn::MaskedLoad(mask, d, arguments.b + k * arguments.b_step);
  const bool whole = arguments.columns == HWY_LANES(T);
  const T* HWY_RESTRICT a = arguments.a;
  T* HWY_RESTRICT c = arguments.c;
  for (; rows > 0; rows -= kStreamRows, a += kStreamRows * kDepth) {
    Vec<T> sum[kStreamRows];
#pragma GCC unroll 16
    for (int i = 0; i < kStreamRows; ++i) sum[i] = hn::Zero(d);
#pragma GCC unroll 16
    for (int k = 0; k < kDepth; ++k) {
#pragma GCC unroll 16
      for (int i = 0; i < kStreamRows; ++i) sum[i] = hn::MulAdd(hn::Set(d, a[i * kDepth + k]), b[k], sum[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kStreamRows; ++i, c += arguments.c_row) {
      whole ? hn::StoreU(sum[i], d, c) : hn::BlendedStore(sum[i], mask, d, c);
    }
  }
}
#endif

template <class T>
HWY_ATTR void copy(std::int64_t depth, std::int64_t width, const T* HWY_RESTRICT from, std::int64_t from_step,
                   T* HWY_RESTRICT to, std::int64_t to_step) {
  const Tag<T> d;
  constexpr std::int64_t kLanes = HWY_LANES(T);
  const std::int64_t whole = width / kLanes * kLanes;
  const auto mask = hn::FirstN(d, static_cast<size_t>(width - whole));
  const bool room = whole + kLanes <= to_step;
  for (std::int64_t step = 0; step < depth; ++step, from += from_step, to += to_step) {
    for (std::int64_t i = 0; i < whole; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (whole == width) continue;
    const Vec<T> tail = hn::MaskedLoad(mask, d, from + whole);
    if (room) {
      hn::StoreU(tail, d, to + whole);
    } else {
      hn::BlendedStore(tail, mask, d, to + whole);
    }
  }
}

template <class T>
void transpose_elements(std::int64_t depth, std::int64_t width, const T* HWY_RESTRICT from, std::int64_t from_step,
                        T* HWY_RESTRICT to, std::int64_t to_step) {
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t step = 0; step < depth; ++step) {
      to[step * to_step + i] = from[i * from_step + step];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
void transpose(std::int64_t depth, std::int64_t width, const T* from, std::int64_t from_step, T* to,
               std::int64_t to_step) {
  transpose_elements(depth, width, from, from_step, to, to_step);
}

#else

// Loads 16 bytes from each of several rows, one row per 128-bit block of the vector.
template <class D, class T>
HWY_INLINE HWY_ATTR hn::Vec<D> load_blocks(D d, const T* const* rows, std::int64_t stride, std::int64_t offset) {
  if constexpr (sizeof(T) * hn::MaxLanes(D()) == 16) {
    return hn::LoadU(d, rows[0] + offset);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kBlocks = sizeof(T) * hn::MaxLanes(half) / 16;
    return hn::Combine(d, load_blocks(half, rows + kBlocks * stride, stride, offset),
                       load_blocks(half, rows, stride, offset));
  }
}

// Transposes a vector's worth of rows: blocks of 4 x 4 floats or 2 x 2 doubles, one per 128 bits.
// Rows beyond the last repeat it, so that no load leaves the matrix.
template <class T>
HWY_ATTR void transpose(std::int64_t depth, std::int64_t width, const T* from, std::int64_t from_step, T* to,
                        std::int64_t to_step) {
  const Tag<T> d;
  constexpr std::int64_t kLanes = HWY_LANES(T);
  constexpr std::int64_t kBlock = 16 / sizeof(T);
  if (depth < kBlock) return transpose_elements(depth, width, from, from_step, to, to_step);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const T* rows[kLanes];
    for (std::int64_t r = 0; r < kLanes; ++r) {
      rows[r] = from + (i + r < width ? i + r : width - 1) * from_step;
    }
    const bool whole = i + kLanes <= to_step && (i + kLanes <= width || to_step % kLanes == 0);
    const auto mask = hn::FirstN(d, static_cast<size_t>(width - i < kLanes ? width - i : kLanes));
    for (std::int64_t step = 0; step < depth; step += kBlock) {
      // The last block moves back to end with the rows and repeats some steps.
      if (step + kBlock > depth) step = depth - kBlock;
      Vec<T> out[kBlock];
      if constexpr (sizeof(T) == 4) {
        const hn::Repartition<double, Tag<T>> wide;
        const Vec<T> r0 = load_blocks(d, rows + 0, 4, step), r1 = load_blocks(d, rows + 1, 4, step);
        const Vec<T> r2 = load_blocks(d, rows + 2, 4, step), r3 = load_blocks(d, rows + 3, 4, step);
        const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
        const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
        const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
        const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
        out[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
        out[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
        out[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
        out[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
      } else {
        const Vec<T> r0 = load_blocks(d, rows + 0, 2, step), r1 = load_blocks(d, rows + 1, 2, step);
        out[0] = hn::InterleaveLower(d, r0, r1);
        out[1] = hn::InterleaveUpper(d, r0, r1);
      }
      T* target = to + step * to_step + i;
      if (whole) {
#pragma GCC unroll 4
        for (std::int64_t s = 0; s < kBlock; ++s) hn::StoreU(out[s], d, target + s * to_step);
      } else {
#pragma GCC unroll 4
        for (std::int64_t s = 0; s < kBlock; ++s) {
          hn::BlendedStore(out[s], mask, d, target + s * to_step);
        }
      }
    }
  }
}

#endif

// Adds the upper half of the partial sums to the lower half until one is left.
template <class T>
HWY_INLINE HWY_ATTR T fold(T* sums) {
  for (int half = TileKernels<T>::kDotSums / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

template <class T, int kRowsAtOnce>
HWY_INLINE HWY_ATTR void dot_rows(std::int64_t depth, const T* HWY_RESTRICT matrix, std::int64_t row_step,
                                  const T* HWY_RESTRICT x, T* c, std::int64_t c_step, bool accumulate) {
  const Tag<T> d;
  constexpr int kSums = TileKernels<T>::kDotSums;
  constexpr int kLanes = HWY_LANES(T);
  constexpr int kParts = kSums / kLanes;
  Vec<T> sum[kRowsAtOnce][kParts];
#pragma GCC unroll 4
  for (int i = 0; i < kRowsAtOnce; ++i) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) sum[i][p] = hn::Zero(d);
  }
  std::int64_t step = 0;
  for (; step + kSums <= depth; step += kSums) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      const Vec<T> factor = hn::LoadU(d, x + step + p * kLanes);
#pragma GCC unroll 4
      for (int i = 0; i < kRowsAtOnce; ++i) {
        const Vec<T> row = hn::LoadU(d, matrix + i * row_step + step + p * kLanes);
        sum[i][p] = hn::MulAdd(row, factor, sum[i][p]);
      }
    }
  }
  HWY_ALIGN T lanes[kRowsAtOnce][kSums];
#pragma GCC unroll 4
  for (int i = 0; i < kRowsAtOnce; ++i) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) hn::Store(sum[i][p], d, lanes[i] + p * kLanes);
    for (std::int64_t s = step; s < depth; ++s) {
      const hn::CappedTag<T, 1> one;
      const auto product =
          hn::MulAdd(hn::Set(one, matrix[i * row_step + s]), hn::Set(one, x[s]), hn::Set(one, lanes[i][s - step]));
      lanes[i][s - step] = hn::GetLane(product);
    }
    const T total = fold(lanes[i]);
    c[i * c_step] = accumulate ? c[i * c_step] + total : total;
  }
}

template <class T>
HWY_ATTR void dots(std::int64_t rows, std::int64_t depth, const T* matrix, std::int64_t row_step, const T* x, T* c,
                   std::int64_t c_step, bool accumulate) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    dot_rows<T, 4>(depth, matrix + i * row_step, row_step, x, c + i * c_step, c_step, accumulate);
  }
  for (; i < rows; ++i) {
    dot_rows<T, 1>(depth, matrix + i * row_step, row_step, x, c + i * c_step, c_step, accumulate);
  }
}

// Fills one row of the table: tiles of 1 to kCount rows.
template <class T, int kTileVectors, bool kUnitRow, bool kMasked, int kCount>
constexpr void fill(TileKernels<T>& kernels) {
  if constexpr (kCount > 0) {
    fill<T, kTileVectors, kUnitRow, kMasked, kCount - 1>(kernels);
    // A vector of one lane has no part.
    constexpr bool kTileMasked = kMaskAlways || (kMasked && HWY_LANES(T) > 1);
    kernels.tile[kUnitRow][kMasked][kTileVectors - 1][kCount - 1] =
        &tile<T, kCount, kTileVectors, kUnitRow, kTileMasked>;
  }
}

template <class T, bool kUnitRow, bool kMasked>
constexpr void fill_widths(TileKernels<T>& kernels) {
  fill<T, 1, kUnitRow, kMasked, kNarrowRows>(kernels);
  fill<T, 2, kUnitRow, kMasked, kVectors >= 2 ? kRows : kFlatRows>(kernels);
  fill<T, 3, kUnitRow, kMasked, kVectors >= 3 ? kRows : kFlatRows>(kernels);
  fill<T, 4, kUnitRow, kMasked, kVectors >= 4 ? kRows : kFlatRows>(kernels);
}

template <class T>
constexpr TileKernels<T> make_kernels() {
  TileKernels<T> kernels{};
  kernels.lanes = HWY_LANES(T);
  kernels.rows = kRows;
  kernels.narrow_rows = kNarrowRows;
  kernels.vectors = kVectors;
  kernels.flat_rows = kFlatRows;
  fill_widths<T, false, false>(kernels);
  fill_widths<T, false, true>(kernels);
  fill_widths<T, true, false>(kernels);
  fill_widths<T, true, true>(kernels);
#if HWY_TARGET == HWY_AVX3
  kernels.stream = &stream<T>;
  kernels.stream_rows = kStreamRows;
#endif
  kernels.copy = &copy<T>;
  kernels.transpose = &transpose<T>;
  kernels.dots = &dots<T>;
  return kernels;
}

constexpr TileKernels<float> kFloatKernels = make_kernels<float>();
constexpr TileKernels<double> kDoubleKernels = make_kernels<double>();

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

template <>
const TileKernels<float>& tile_kernels<float>(int instruction_set) {
  static constexpr const TileKernels<float>* kTable[kInstructionSets] = {
      &N_SCALAR::kFloatKernels, &N_AVX2::kFloatKernels, &N_AVX3::kFloatKernels};
  return *kTable[instruction_set];
}

template <>
const TileKernels<double>& tile_kernels<double>(int instruction_set) {
  static constexpr const TileKernels<double>* kTable[kInstructionSets] = {
      &N_SCALAR::kDoubleKernels, &N_AVX2::kDoubleKernels, &N_AVX3::kDoubleKernels};
  return *kTable[instruction_set];
}

}  // namespace capstan
#endif
