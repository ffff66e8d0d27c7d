#include "src/kernels/reduce/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "src/kernels/joins.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

struct LogsumexpJoin {
  template <class T>
  static constexpr T kIdentity = -std::numeric_limits<T>::infinity();
  template <class T>
  static T join(T a, T b) {
    const T low = std::min(a, b);
    const T high = std::max(a, b);
    if (std::isinf(high)) return high;  // exp(inf - inf) would be NaN
    return high + std::log1p(std::exp(low - high));
  }
};

template <class Join, class T>
void scan_as(const AxisView& view, bool exclusive, bool reverse, const T* in, T* out) {
  using W = Wide<T>;
  // The running value is kept in the wide type, one row of inner positions at a time.
  std::vector<W> running(static_cast<std::size_t>(view.inner));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    std::fill(running.begin(), running.end(), Join::template kIdentity<W>);
    for (std::int64_t i = 0; i < view.n; ++i) {
      const std::int64_t k = reverse ? view.n - 1 - i : i;
      const std::int64_t row = (o * view.n + k) * view.inner;
      for (std::int64_t j = 0; j < view.inner; ++j) {
        W& value = running[static_cast<std::size_t>(j)];
        if (exclusive) out[row + j] = T(value);
        value = Join::join(value, static_cast<W>(in[row + j]));
        if (!exclusive) out[row + j] = T(value);
      }
    }
  }
}

// Calls step(previous offset or -1, offset) for every element, in the order of the scan, inner
// positions together.
template <class Step>
void for_each_step(const AxisView& view, bool reverse, const Step& step) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.n; ++i) {
      const std::int64_t k = reverse ? view.n - 1 - i : i;
      const std::int64_t row = (o * view.n + k) * view.inner;
      const std::int64_t before = i == 0 ? -1 : row + (reverse ? view.inner : -view.inner);
      for (std::int64_t j = 0; j < view.inner; ++j) step(before < 0 ? -1 : before + j, row + j);
    }
  }
}

}  // namespace

void scan_along(Scan scan, DType dtype, const AxisView& view, bool exclusive, bool reverse, const void* in, void* out) {
  const auto run = [&]<class Join, class T>(Join, T) {
    scan_as<Join>(view, exclusive, reverse, static_cast<const T*>(in), static_cast<T*>(out));
  };
  switch (scan) {
    case Scan::kSum:
      return with_any_number_type(dtype, [&](auto type) { run(SumJoin{}, type); });
    case Scan::kProduct:
      return with_any_number_type(dtype, [&](auto type) { run(ProductJoin{}, type); });
    case Scan::kLogsumexp:
      return with_floating_type(dtype, [&](auto type) { run(LogsumexpJoin{}, type); });
  }
}

void recur_along(DType dtype, const AxisView& view, bool reverse, const void* a, const void* b, void* s) {
  with_any_number_type(dtype, [&]<class T>(T) {
    using W = Wide<T>;
    const auto* factors = static_cast<const T*>(a);
    const auto* terms = static_cast<const T*>(b);
    auto* out = static_cast<T*>(s);
    for_each_step(view, reverse, [&](std::int64_t before, std::int64_t at) {
      const auto factor = static_cast<W>(before < 0 ? T(0) : factors[at]);
      out[at] = factor == W(0) ? terms[at] : T(static_cast<W>(terms[at]) + factor * static_cast<W>(out[before]));
    });
  });
}

}  // namespace capstan
