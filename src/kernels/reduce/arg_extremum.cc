// Positions of extrema, see reduce.h.
//
// One loop for all dtypes and processors: which element wins depends on those before it, and a
// column is read once.
#include <algorithm>
#include <cstdint>

#include "src/core/thread_pool.h"
#include "src/kernels/reduce/reduce.h"
#include "src/kernels/with_type.h"

namespace capstan {
namespace {

// Elements per task.
constexpr std::int64_t kChunk = 32768;

template <class T>
void arg_extremum_typed(bool largest, const AxisView& view, const T* in, std::int64_t* out) {
  const std::int64_t outer = view.outer, n = view.n, inner = view.inner;
  const auto column = [&](std::int64_t o, std::int64_t j) {
    const T* p = in + o * n * inner + j;
    std::int64_t best = 0;
    T value = p[0];
    for (std::int64_t i = 1; i < n; ++i) {
      const T x = p[i * inner];
      // A NaN never wins; it loses its place to the first number.
      const bool better = (largest ? x > value : x < value) || (value != value && x == x);
      if (better) {
        best = i;
        value = x;
      }
    }
    out[o * inner + j] = best;
  };
  const std::int64_t per_task = std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(1, n * inner));
  parallel_for((outer + per_task - 1) / per_task, [&](std::int64_t task) {
    for (std::int64_t o = task * per_task; o < std::min(outer, (task + 1) * per_task); ++o) {
      for (std::int64_t j = 0; j < inner; ++j) column(o, j);
    }
  });
}

}  // namespace

void arg_extremum(bool largest, DType dtype, const AxisView& view, const void* in, std::int64_t* out) {
  // Complex numbers have no order; the op refuses them.
  with_ordered_type(dtype, [&]<class T>(T) { arg_extremum_typed(largest, view, static_cast<const T*>(in), out); });
}

}  // namespace capstan
