// Copies a row of an image into the padded block that the convolution tiles read. Included once per
// instruction set.
#if defined(CAPSTAN_KERNELS_CONV2D_COPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_CONV2D_COPY_INL_H_
#undef CAPSTAN_KERNELS_CONV2D_COPY_INL_H_
#else
#define CAPSTAN_KERNELS_CONV2D_COPY_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

// Where the columns of an image lie in a copied row: phase by phase, `positions` pixels each;
// position i of phase p is column i * phases + p - left, zero outside of the image.
struct RowLayout {
  std::int64_t columns;
  std::int64_t channels;
  std::int64_t phases;
  std::int64_t positions;
  std::int64_t left;
};

// Copies `width` channels of every pixel that lies inside the image; pixels of the copy are
// `distance` apart. The rest stays as it is: the caller has filled the block with zeros once, and
// all rows that it copies there leave out the same places.
template <class T>
inline void copy_row(const RowLayout& row, const T* from, std::int64_t width, std::int64_t distance, T* to) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t phase = 0; phase < row.phases; ++phase, to += row.positions * distance) {
    // Positions [begin, end) are columns of the image.
    const std::int64_t outside = row.left - phase, limit = row.columns + outside;
    std::int64_t begin = outside, end = limit;
    if (row.phases > 1) {
      begin = outside > 0 ? (outside + row.phases - 1) / row.phases : -(-outside / row.phases);
      end = limit > 0 ? (limit + row.phases - 1) / row.phases : 0;
    }
    begin = std::clamp<std::int64_t>(begin, 0, row.positions);
    end = std::clamp<std::int64_t>(end, begin, row.positions);
    const T* s = from + (begin * row.phases - outside) * row.channels;
    T* t = to + begin * distance;
    const std::int64_t step = row.phases * row.channels;
    if (step == distance && width == distance) {
      std::copy(s, s + (end - begin) * distance, t);
    } else if (width == kBlock && distance == kBlock) {
      for (std::int64_t i = begin; i < end; ++i, s += step, t += kBlock) {
        std::memcpy(t, s, kBlock * sizeof(T));
      }
    } else {
      for (std::int64_t i = begin; i < end; ++i, s += step, t += distance) {
        for (std::int64_t k = 0; k < width; ++k) t[k] = s[k];
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // CAPSTAN_KERNELS_CONV2D_COPY_INL_H_
