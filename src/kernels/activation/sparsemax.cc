#include "src/kernels/activation/sparsemax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "src/core/thread_pool.h"
#include "src/kernels/joins.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

// What is subtracted from every element of a row so that its positive parts sum to one.
double simplex_shift(std::vector<double>& row) {
  std::sort(row.begin(), row.end(), std::greater<>());
  double sum = 0;
  double shift = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    sum += row[k];
    const auto count = static_cast<double>(k + 1);
    if (!(1 + count * row[k] > sum)) break;
    shift = (sum - 1) / count;
  }
  return shift;
}

template <class T>
void sparsemax_rows(const AxisView& view, const T* x, T* y) {
  const auto [outer, n, inner] = view;
  if (n == 0) return;
  const auto project = [&](std::int64_t number, std::vector<double>& row) {
    const std::int64_t first = number / inner * inner * n + number % inner;
    bool unordered = false;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto value = static_cast<double>(x[first + k * inner]);
      unordered |= !(value < std::numeric_limits<double>::infinity());
      row[static_cast<std::size_t>(k)] = value;
    }
    // The shift of a row of negative infinities is NaN as well.
    const double shift = unordered ? std::numeric_limits<double>::quiet_NaN() : simplex_shift(row);
    for (std::int64_t k = 0; k < n; ++k) {
      const double above = static_cast<double>(x[first + k * inner]) - shift;
      y[first + k * inner] = T(static_cast<Wide<T>>(above > 0 || std::isnan(above) ? above : 0));
    }
  };
  const std::int64_t rows = outer * inner;
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, 16384 / n);
  parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    std::vector<double> row(static_cast<std::size_t>(n));
    for (std::int64_t i = task * rows_per_task; i < std::min(rows, (task + 1) * rows_per_task); ++i) project(i, row);
  });
}

}  // namespace

void sparsemax_along(DType dtype, const AxisView& view, const void* x, void* y) {
  with_floating_type(dtype, [&]<class T>(T) { sparsemax_rows(view, static_cast<const T*>(x), static_cast<T*>(y)); });
}

}  // namespace capstan
