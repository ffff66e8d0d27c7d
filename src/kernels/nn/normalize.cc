#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/nn/normalize.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/core/thread_pool.h"
#include "src/kernels/nn/normalize.h"

// What does not depend on the instruction set.
#ifndef CAPSTAN_KERNELS_NORMALIZE_ONCE_
#define CAPSTAN_KERNELS_NORMALIZE_ONCE_
namespace capstan {
namespace {

// Rows of a chunk: about 4096 elements, which stay in the first-level cache for a second look.
inline std::int64_t chunk_rows(std::int64_t channels) {
  return std::max<std::int64_t>(4096 / std::max<std::int64_t>(channels, 1), 8);
}

// Runs body(begin, end) for parts of the rows.
template <class Body>
void for_each_part(std::int64_t rows, std::int64_t channels, const Body& body) {
  const std::int64_t size = 8 * chunk_rows(channels);
  parallel_for((rows + size - 1) / size,
               [&](std::int64_t task) { body(task * size, std::min(rows, (task + 1) * size)); });
}

// Shows the processor rows in the order of memory before columns of vectors are walked down, which it foresees badly: a
// third less time where they come from the third-level cache.
template <class T>
void foresee(const T* rows, std::int64_t count, std::int64_t channels) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  if (channels <= kLine) return;
  for (std::int64_t i = 0; i < count * channels; i += kLine) __builtin_prefetch(rows + i);
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

// The sum of term(row) over all rows, in four partial sums.
template <class D, class Term>
HWY_INLINE hn::Vec<D> sum_rows(D d, std::int64_t rows, const Term& term) {
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    s0 = hn::Add(s0, term(r));
    s1 = hn::Add(s1, term(r + 1));
    s2 = hn::Add(s2, term(r + 2));
    s3 = hn::Add(s3, term(r + 3));
  }
  if (r < rows) s0 = hn::Add(s0, term(r));
  if (r + 1 < rows) s1 = hn::Add(s1, term(r + 1));
  if (r + 2 < rows) s2 = hn::Add(s2, term(r + 2));
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

template <class T>
void moments_of_chunk(std::int64_t rows, std::int64_t channels, const T* x, T* mean, T* squares) {
  foresee(x, rows, channels);
  for_each_vector<T>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    const T* at = x + c;
    const auto sum = sum_rows(d, rows, [&](std::int64_t r) HWY_ATTR { return hn::LoadU(d, at + r * channels); });
    const auto m = hn::Div(sum, hn::Set(d, static_cast<T>(rows)));
    const auto square = sum_rows(d, rows, [&](std::int64_t r) HWY_ATTR {
      const auto difference = hn::Sub(hn::LoadU(d, at + r * channels), m);
      return hn::Mul(difference, difference);
    });
    hn::StoreU(m, d, mean + c);
    hn::StoreU(square, d, squares + c);
  });
}

template <class T>
void apply(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
           const T* scale, const T* offset, T* y) {
  for_each_part(rows, channels, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
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
void gradient_of_chunk(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
                       const T* dy, T* sums, T* scaled_sums) {
  foresee(x, rows, channels);
  foresee(dy, rows, channels);
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
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      add(r, 0);
      add(r + 1, 1);
      add(r + 2, 2);
      add(r + 3, 3);
    }
    if (r < rows) add(r, 0);
    if (r + 1 < rows) add(r + 1, 1);
    if (r + 2 < rows) add(r + 2, 2);
    const auto sum = hn::Add(hn::Add(plain[0], plain[1]), hn::Add(plain[2], plain[3]));
    const auto scaled = hn::Add(hn::Add(times[0], times[1]), hn::Add(times[2], times[3]));
    hn::StoreU(sum, d, sums + c);
    hn::StoreU(hn::Mul(scaled, hn::LoadU(d, inverse_deviation + c)), d, scaled_sums + c);
  });
}

template <class T>
void gradient_of_x(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* dy,
                   const BatchNormSums<T>& sums, T* dx) {
  for_each_part(rows, channels, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
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
constexpr BatchNormKernels<T> kKernels = {&moments_of_chunk<T>, &apply<T>, &gradient_of_chunk<T>, &gradient_of_x<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(BatchNormKernels, batch_norm)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(BatchNormKernels, batch_norm)

namespace {

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

// Two sums in float64 for each channel, and after them two numbers for every chunk.
template <class T>
std::size_t scratch_bytes(std::int64_t rows, std::int64_t channels) {
  const std::int64_t chunks = (rows + chunk_rows(channels) - 1) / chunk_rows(channels);
  return static_cast<std::size_t>(2 * channels) * (static_cast<std::size_t>(chunks) * sizeof(T) + sizeof(double));
}

}  // namespace

template <class T>
BatchNormMoments<T>::BatchNormMoments(std::int64_t rows, std::int64_t channels, const T* x, T* mean, T* variance,
                                      int instruction_set)
    : RowSums(rows, channels, capstan::chunk_rows(channels), scratch_bytes<T>(rows, channels)),
      kernels_(batch_norm_kernels<T>(instruction_set)),
      x_(x),
      mean_(mean),
      variance_(variance) {}

template <class T>
void BatchNormMoments<T>::add_chunk(std::int64_t chunk) const {
  const std::int64_t begin = chunk * chunk_rows();
  T* const means = scratch<T>(2 * columns()) + chunk * columns();
  kernels_.moments_of_chunk(chunk_end(chunk) - begin, columns(), x_ + begin * columns(), means,
                            means + chunks() * columns());
}

template <class T>
void BatchNormMoments<T>::finish() const {
  double* const total = scratch<double>(0);
  double* const squares = total + columns();
  const T* const means = scratch<T>(2 * columns());
  const auto count = [&](std::int64_t chunk) { return static_cast<double>(chunk_end(chunk) - chunk * chunk_rows()); };
  const auto one = [](std::int64_t) { return 1.0; };
  join_chunks(chunks(), columns(), means, count, total);
  join_chunks(chunks(), columns(), means + chunks() * columns(), one, squares);
  const double n = static_cast<double>(rows());
  for (std::int64_t c = 0; c < columns(); ++c) total[c] /= n;
  // The squares about the whole mean are those about the chunks' means, plus the squares of the
  // distances between the means.
  for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
    const double w = count(chunk);
    for (std::int64_t c = 0; c < columns(); ++c) {
      const double distance = means[chunk * columns() + c] - total[c];
      squares[c] += w * (distance * distance);
    }
  }
  for (std::int64_t c = 0; c < columns(); ++c) {
    mean_[c] = static_cast<T>(total[c]);
    variance_[c] = static_cast<T>(squares[c] / n);
  }
}

template <class T>
BatchNormGradientSums<T>::BatchNormGradientSums(std::int64_t rows, std::int64_t channels, const T* x, const T* mean,
                                                const T* inverse_deviation, const T* scale, const T* dy,
                                                const BatchNormSums<T>& sums, int instruction_set)
    : RowSums(rows, channels, capstan::chunk_rows(channels), scratch_bytes<T>(rows, channels)),
      kernels_(batch_norm_kernels<T>(instruction_set)),
      x_(x),
      mean_(mean),
      inverse_deviation_(inverse_deviation),
      scale_(scale),
      dy_(dy),
      sums_(sums) {}

template <class T>
void BatchNormGradientSums<T>::add_chunk(std::int64_t chunk) const {
  const std::int64_t begin = chunk * chunk_rows();
  T* const sums = scratch<T>(2 * columns()) + chunk * columns();
  kernels_.gradient_of_chunk(chunk_end(chunk) - begin, columns(), x_ + begin * columns(), mean_, inverse_deviation_,
                             dy_ + begin * columns(), sums, sums + chunks() * columns());
}

template <class T>
void BatchNormGradientSums<T>::finish() const {
  double* const total = scratch<double>(0);
  double* const total_scaled = total + columns();
  const T* const sums = scratch<T>(2 * columns());
  const auto one = [](std::int64_t) { return 1.0; };
  join_chunks(chunks(), columns(), sums, one, total);
  join_chunks(chunks(), columns(), sums + chunks() * columns(), one, total_scaled);
  const double n = static_cast<double>(rows());
  for (std::int64_t c = 0; c < columns(); ++c) {
    sums_.offset[c] = static_cast<T>(total[c]);
    sums_.scale[c] = static_cast<T>(total_scaled[c]);
    sums_.factor[c] = inverse_deviation_[c] * (scale_ != nullptr ? scale_[c] : T(1));
    sums_.slope[c] = static_cast<T>(total_scaled[c] / n * inverse_deviation_[c]);
    sums_.shift[c] = static_cast<T>(total[c] / n);
  }
}

template class BatchNormMoments<float>;
template class BatchNormMoments<double>;
template class BatchNormGradientSums<float>;
template class BatchNormGradientSums<double>;

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
