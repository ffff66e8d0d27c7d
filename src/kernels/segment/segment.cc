#include "src/kernels/segment/segment.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "src/kernels/joins.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

template <class Join, class W, class T, class Id>
void join_rows(const Id* ids, std::int64_t rows, std::int64_t width, const T* in, W* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    if (ids[i] < 0) continue;
    W* to = out + ids[i] * width;
    for (std::int64_t j = 0; j < width; ++j) to[j] = Join::join(to[j], static_cast<W>(in[i * width + j]));
  }
}

template <class Join, class T, class Id>
void join_as(const Id* ids, std::int64_t rows, std::int64_t width, std::int64_t size, const T* in, T* out) {
  using W = Wide<T>;
  if constexpr (std::is_same_v<T, W>) {
    std::fill_n(out, size, Join::template kIdentity<W>);
    join_rows<Join>(ids, rows, width, in, out);
  } else {
    std::vector<W> wide(static_cast<std::size_t>(size), Join::template kIdentity<W>);
    join_rows<Join>(ids, rows, width, in, wide.data());
    // The lowest float32 would round to an infinity.
    const float largest = std::bit_cast<float>(std::uint32_t{0x7f7f0000});
    std::transform(wide.begin(), wide.end(), out, [largest](W value) {
      return T(std::abs(value) == std::numeric_limits<float>::max() ? std::copysign(largest, value) : value);
    });
  }
}

template <class Id>
void join_by(Segments join, DType dtype, const Id* ids, std::int64_t rows, std::int64_t width, std::int64_t size,
             const void* in, void* out) {
  const auto run = [&]<class Join, class T>(Join, T) {
    join_as<Join>(ids, rows, width, size, static_cast<const T*>(in), static_cast<T*>(out));
  };
  switch (join) {
    case Segments::kSum:
      return with_any_number_type(dtype, [&](auto type) { run(SumJoin{}, type); });
    case Segments::kProduct:
      return with_any_number_type(dtype, [&](auto type) { run(ProductJoin{}, type); });
    case Segments::kMaximum:
      return with_real_type(dtype, [&](auto type) { run(MaximumJoin{}, type); });
    case Segments::kMinimum:
      return with_real_type(dtype, [&](auto type) { run(MinimumJoin{}, type); });
  }
}

}  // namespace

void join_segments(Segments join, DType dtype, const std::int32_t* ids, std::int64_t rows, std::int64_t width,
                   std::int64_t size, const void* in, void* out) {
  join_by(join, dtype, ids, rows, width, size, in, out);
}
void join_segments(Segments join, DType dtype, const std::int64_t* ids, std::int64_t rows, std::int64_t width,
                   std::int64_t size, const void* in, void* out) {
  join_by(join, dtype, ids, rows, width, size, in, out);
}

}  // namespace capstan
