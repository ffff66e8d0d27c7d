#include "src/kernels/reduce/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "src/kernels/with_type.h"
#include "src/kernels/wrapping.h"

namespace capstan {

namespace {

struct SumStep {
  static constexpr double kIdentity = 0;
  template <class T>
  static T join(T a, T b) {
    return wrapping_sum(a, b);
  }
};
struct ProductStep {
  static constexpr double kIdentity = 1;
  template <class T>
  static T join(T a, T b) {
    return wrapping_product(a, b);
  }
};
struct LogsumexpStep {
  static constexpr double kIdentity = -std::numeric_limits<double>::infinity();
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T low = std::min(a, b);
      const T high = std::max(a, b);
      if (std::isinf(high)) return high;  // exp(inf - inf) would be NaN
      return high + std::log1p(std::exp(low - high));
    } else {
      return a;
    }
  }
};

template <class Step, class T>
void scan(const AxisView& view, bool exclusive, bool reverse, const T* in, T* out) {
  using W = Wide<T>;
  // The running value is kept in the wide type, one row of inner positions at a time.
  std::vector<W> running(static_cast<std::size_t>(view.inner));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    std::fill(running.begin(), running.end(), static_cast<W>(Step::kIdentity));
    for (std::int64_t i = 0; i < view.n; ++i) {
      const std::int64_t k = reverse ? view.n - 1 - i : i;
      const std::int64_t row = (o * view.n + k) * view.inner;
      for (std::int64_t j = 0; j < view.inner; ++j) {
        W& value = running[static_cast<std::size_t>(j)];
        if (exclusive) out[row + j] = T(value);
        value = Step::join(value, static_cast<W>(in[row + j]));
        if (!exclusive) out[row + j] = T(value);
      }
    }
  }
}

template <class Step>
void scan_as(DType dtype, const AxisView& view, bool exclusive, bool reverse, const void* in, void* out) {
  with_any_number_type(dtype, [&]<class T>(T) {
    scan<Step>(view, exclusive, reverse, static_cast<const T*>(in), static_cast<T*>(out));
  });
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
  switch (scan) {
    case Scan::kSum:
      return scan_as<SumStep>(dtype, view, exclusive, reverse, in, out);
    case Scan::kProduct:
      return scan_as<ProductStep>(dtype, view, exclusive, reverse, in, out);
    case Scan::kLogsumexp:
      return scan_as<LogsumexpStep>(dtype, view, exclusive, reverse, in, out);
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
