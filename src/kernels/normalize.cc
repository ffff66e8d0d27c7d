#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/normalize.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/core/thread_pool.h"
#include "src/kernels/normalize.h"
#include "src/kernels/scratch.h"

// What does not depend on the instruction set.
#ifndef CAPSTAN_KERNELS_NORMALIZE_ONCE_
#define CAPSTAN_KERNELS_NORMALIZE_ONCE_
namespace capstan {
namespace {

// Rows of a chunk: about 4096 elements, which stay in the first-level cache for a second look.
inline std::int64_t chunk_rows(std::int64_t channels) {
  return std::max<std::int64_t>(4096 / std::max<std::int64_t>(channels, 1), 8);
}

// Runs body(chunk, begin, end) for all chunks of rows; some chunks are one task. The last come first: they are what is
// left in cache of whatever has just been written from the first row to the last, and what follows finds the first.
template <class Body>
void for_each_chunk(std::int64_t rows, std::int64_t channels, const Body& body) {
  constexpr std::int64_t kChunksPerTask = 8;
  const std::int64_t size = chunk_rows(channels);
  const std::int64_t chunks = (rows + size - 1) / size;
  parallel_for((chunks + kChunksPerTask - 1) / kChunksPerTask, [&](std::int64_t task) {
    const std::int64_t end = chunks - task * kChunksPerTask;
    for (std::int64_t chunk = end; chunk-- > std::max<std::int64_t>(end - kChunksPerTask, 0);) {
      body(chunk, chunk * size, std::min(rows, (chunk + 1) * size));
    }
  });
}

// Shows the processor rows in the order of memory before columns of vectors are walked down, which it foresees badly: a
// third less time where they come from the third-level cache.
template <class T>
void foresee(const T* rows, std::int64_t count, std::int64_t channels) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  if (channels <= kLine) return;
  for (std::int64_t i = 0; i < count * channels; i += kLine) __builtin_prefetch(rows + i);
}

// total[channel] = the sum of partial[chunk * channels + channel] * weight(chunk), in order.
template <class T, class Weight>
void join_chunks(std::int64_t chunks, std::int64_t channels, const T* partial, const Weight& weight, double* total) {
  std::fill(total, total + channels, 0.0);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const double w = weight(chunk);
    const T* from = partial + chunk * channels;
    for (std::int64_t c = 0; c < channels; ++c) total[c] += w * from[c];
  }
}

}  // namespace
}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, channel) for vectors of channels, then for single ones.
template <class T, class Body>
HWY_INLINE void for_each_vector(std::int64_t channels, const Body& body) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const std::int64_t lanes = hn::Lanes(d);
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) body(d, c);
  for (; c < channels; ++c) body(one, c);
}

// The sum of term(row) over [begin, end), in four partial sums.
template <class D, class Term>
HWY_INLINE hn::Vec<D> sum_rows(D d, std::int64_t begin, std::int64_t end, const Term& term) {
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::int64_t r = begin;
  for (; r + 4 <= end; r += 4) {
    s0 = hn::Add(s0, term(r));
    s1 = hn::Add(s1, term(r + 1));
    s2 = hn::Add(s2, term(r + 2));
    s3 = hn::Add(s3, term(r + 3));
  }
  if (r < end) s0 = hn::Add(s0, term(r));
  if (r + 1 < end) s1 = hn::Add(s1, term(r + 1));
  if (r + 2 < end) s2 = hn::Add(s2, term(r + 2));
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

template <class T>
void moments(std::int64_t rows, std::int64_t channels, const T* x, T* mean, T* variance) {
  const std::int64_t size = chunk_rows(channels), chunks = (rows + size - 1) / size;
  Scratch scratch(ScratchSlot::kCall, 2 * chunks * channels * sizeof(T) + 2 * channels * sizeof(double));
  double* total = scratch.as<double>();
  double* squares = total + channels;
  T* means = reinterpret_cast<T*>(squares + channels);
  T* deviations = means + chunks * channels;
  for_each_chunk(rows, channels, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) HWY_ATTR {
    foresee(x + begin * channels, end - begin, channels);
    const T count = static_cast<T>(end - begin);
    for_each_vector<T>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const T* at = x + c;
      const auto sum =
          sum_rows(d, begin, end, [&](std::int64_t r) HWY_ATTR { return hn::LoadU(d, at + r * channels); });
      const auto m = hn::Div(sum, hn::Set(d, count));
      const auto square = sum_rows(d, begin, end, [&](std::int64_t r) HWY_ATTR {
        const auto difference = hn::Sub(hn::LoadU(d, at + r * channels), m);
        return hn::Mul(difference, difference);
      });
      hn::StoreU(m, d, means + chunk * channels + c);
      hn::StoreU(square, d, deviations + chunk * channels + c);
    });
  });
  // The squares about the whole mean are those about the chunks' means, plus the squares of the
  // distances between the means.
  auto count = [&](std::int64_t chunk) {
    return static_cast<double>(std::min(rows, (chunk + 1) * size) - chunk * size);
  };
  join_chunks(chunks, channels, means, count, total);
  join_chunks(
      chunks, channels, deviations, [](std::int64_t) { return 1.0; }, squares);
  const double n = static_cast<double>(rows);
  for (std::int64_t c = 0; c < channels; ++c) total[c] /= n;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const double w = count(chunk);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double distance = means[chunk * channels + c] - total[c];
      squares[c] += w * (distance * distance);
    }
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    mean[c] = static_cast<T>(total[c]);
    variance[c] = static_cast<T>(squares[c] / n);
  }
}

template <class T>
void apply(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
           const T* scale, const T* offset, T* y) {
  for_each_chunk(rows, channels, [&](std::int64_t, std::int64_t begin, std::int64_t end) HWY_ATTR {
    for_each_vector<T>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto m = hn::LoadU(d, mean + c);
      auto factor = hn::LoadU(d, inverse_deviation + c);
      if (scale != nullptr) factor = hn::Mul(factor, hn::LoadU(d, scale + c));
      const auto shift = offset != nullptr ? hn::LoadU(d, offset + c) : hn::Zero(d);
      for (std::int64_t r = begin; r < end; ++r) {
        const auto v = hn::Sub(hn::LoadU(d, x + r * channels + c), m);
        hn::StoreU(hn::Add(hn::Mul(v, factor), shift), d, y + r * channels + c);
      }
    });
  });
}

template <class T>
void gradient_sums(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
                   const T* scale, const T* dy, const BatchNormSums<T>& out) {
  const std::int64_t size = chunk_rows(channels), chunks = (rows + size - 1) / size;
  Scratch scratch(ScratchSlot::kCall, 2 * chunks * channels * sizeof(T) + 2 * channels * sizeof(double));
  double* total = scratch.as<double>();
  double* total_scaled = total + channels;
  T* sums = reinterpret_cast<T*>(total_scaled + channels);
  T* scaled_sums = sums + chunks * channels;
  for_each_chunk(rows, channels, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) HWY_ATTR {
    foresee(x + begin * channels, end - begin, channels);
    foresee(dy + begin * channels, end - begin, channels);
    for_each_vector<T>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto m = hn::LoadU(d, mean + c);
      // As two sums of sum_rows(), but dy is read once.
      hn::Vec<decltype(d)> plain[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      hn::Vec<decltype(d)> times[4] = {plain[0], plain[0], plain[0], plain[0]};
      const auto add = [&](std::int64_t r, int k) HWY_ATTR {
        const auto g = hn::LoadU(d, dy + r * channels + c);
        plain[k] = hn::Add(plain[k], g);
        times[k] = hn::Add(times[k], hn::Mul(g, hn::Sub(hn::LoadU(d, x + r * channels + c), m)));
      };
      std::int64_t r = begin;
      for (; r + 4 <= end; r += 4) {
        add(r, 0);
        add(r + 1, 1);
        add(r + 2, 2);
        add(r + 3, 3);
      }
      if (r < end) add(r, 0);
      if (r + 1 < end) add(r + 1, 1);
      if (r + 2 < end) add(r + 2, 2);
      const auto sum = hn::Add(hn::Add(plain[0], plain[1]), hn::Add(plain[2], plain[3]));
      const auto scaled = hn::Add(hn::Add(times[0], times[1]), hn::Add(times[2], times[3]));
      hn::StoreU(sum, d, sums + chunk * channels + c);
      hn::StoreU(hn::Mul(scaled, hn::LoadU(d, inverse_deviation + c)), d, scaled_sums + chunk * channels + c);
    });
  });
  const auto one = [](std::int64_t) { return 1.0; };
  join_chunks(chunks, channels, sums, one, total);
  join_chunks(chunks, channels, scaled_sums, one, total_scaled);
  const double n = static_cast<double>(rows);
  for (std::int64_t c = 0; c < channels; ++c) {
    out.offset[c] = static_cast<T>(total[c]);
    out.scale[c] = static_cast<T>(total_scaled[c]);
    out.factor[c] = inverse_deviation[c] * (scale != nullptr ? scale[c] : T(1));
    out.slope[c] = static_cast<T>(total_scaled[c] / n * inverse_deviation[c]);
    out.shift[c] = static_cast<T>(total[c] / n);
  }
}

template <class T>
void gradient_of_x(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* dy,
                   const BatchNormSums<T>& sums, T* dx) {
  for_each_chunk(rows, channels, [&](std::int64_t, std::int64_t begin, std::int64_t end) HWY_ATTR {
    for_each_vector<T>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto m = hn::LoadU(d, mean + c);
      const auto f = hn::LoadU(d, sums.factor + c);
      const auto a = hn::LoadU(d, sums.slope + c);
      const auto b = hn::LoadU(d, sums.shift + c);
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t i = r * channels + c;
        const auto centered = hn::Sub(hn::LoadU(d, x + i), m);
        const auto v = hn::Sub(hn::Sub(hn::LoadU(d, dy + i), b), hn::Mul(centered, a));
        hn::StoreU(hn::Mul(v, f), d, dx + i);
      }
    });
  });
}

template <class T>
constexpr BatchNormKernels<T> kKernels = {&moments<T>, &apply<T>, &gradient_sums<T>, &gradient_of_x<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(BatchNormKernels, batch_norm)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(BatchNormKernels, batch_norm)

template <class T>
void batch_norm_inverse_deviation(std::int64_t channels, const T* variance, T epsilon, T* inverse_deviation) {
  for (std::int64_t c = 0; c < channels; ++c) {
    inverse_deviation[c] = T(1) / std::sqrt(variance[c] + epsilon);
  }
}
template void batch_norm_inverse_deviation(std::int64_t, const float*, float, float*);
template void batch_norm_inverse_deviation(std::int64_t, const double*, double, double*);

}  // namespace capstan
#endif  // HWY_ONCE
