// Any order gives the same bits, so loops are those that compilers make vectors of: along a row, or over all columns of
// a row.
#include "src/kernels/reduce/reduce_integers.h"

#include <algorithm>
#include <numeric>

namespace capstan {
namespace {

template <class T>
constexpr T join(ReduceStep step, T a, T b) {
  using U = std::uint64_t;
  switch (step) {
    case kProductStep:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case kMaximumStep:
      return std::max(a, b);
    case kMinimumStep:
      return std::min(a, b);
    default:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}

template <ReduceStep kStep, class T>
void reduce_by(std::int64_t outer, std::int64_t n, std::int64_t inner, const T* __restrict in, T* __restrict out) {
  const auto add = [](T sum, T x) {
    if (kStep == kSumOfSquaresStep) x = join(kProductStep, x, x);
    return join(kStep, sum, x);
  };
  for (std::int64_t o = 0; o < outer; ++o, in += n * inner, out += inner) {
    if (inner == 1) {
      *out = std::accumulate(in, in + n, identity_of<T>(kStep), add);
      continue;
    }
    std::fill_n(out, inner, identity_of<T>(kStep));
    for (std::int64_t i = 0; i < n; ++i) {
      const T* const row = in + i * inner;
      for (std::int64_t j = 0; j < inner; ++j) out[j] = add(out[j], row[j]);
    }
  }
}

}  // namespace

template <class T>
void reduce_integers(ReduceStep step, std::int64_t outer, std::int64_t n, std::int64_t inner, const T* in, T* out) {
  switch (step) {
    case kProductStep:
      return reduce_by<kProductStep>(outer, n, inner, in, out);
    case kMaximumStep:
      return reduce_by<kMaximumStep>(outer, n, inner, in, out);
    case kMinimumStep:
      return reduce_by<kMinimumStep>(outer, n, inner, in, out);
    case kSumOfSquaresStep:
      return reduce_by<kSumOfSquaresStep>(outer, n, inner, in, out);
    default:
      return reduce_by<kSumStep>(outer, n, inner, in, out);
  }
}

template void reduce_integers(ReduceStep, std::int64_t, std::int64_t, std::int64_t, const std::int32_t*, std::int32_t*);
template void reduce_integers(ReduceStep, std::int64_t, std::int64_t, std::int64_t, const std::int64_t*, std::int64_t*);
template void reduce_integers(ReduceStep, std::int64_t, std::int64_t, std::int64_t, const std::uint8_t*, std::uint8_t*);
template void reduce_integers(ReduceStep, std::int64_t, std::int64_t, std::int64_t, const bool*, bool*);

}  // namespace capstan
