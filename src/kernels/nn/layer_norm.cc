// Layer normalisation: several short passes over a row while it is in the first cache.
//
// The gradient computes mean and variance again instead of taking them from the forward pass: two more passes over a
// row that is in cache cost less than they save in what has to be kept, and the gradient becomes a function of the
// inputs alone, which has derivatives of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/nn/layer_norm.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/core/thread_pool.h"
#include "src/kernels/fold-inl.h"
#include "src/kernels/nn/layer_norm.h"
#include "src/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kPartials = 64;
// Elements of a row that are summed in T; longer rows are joined in float64.
constexpr std::int64_t kBlock = 4096;
// Elements of a task of the forward pass, and the most tasks of the gradient, each of which sums over its rows.
constexpr std::int64_t kTaskElements = 32768;
constexpr std::int64_t kGradientTasks = 32;

// kSums sums along a row at once.
template <class T, int kSums>
struct RowSums {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;
  static constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  static constexpr int kVectors = static_cast<int>(kPartials / kLanes);

  // Joins partial sums by halving.
  static HWY_INLINE double fold(V* v) {
    for (int half = kVectors / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) v[i] = hn::Add(v[i], v[i + half]);
    }
    return static_cast<double>(sum_lanes(d, v[0]));
  }

  // terms(i, mask, partial, out): the terms of elements i, i + 1, ... as vectors out[0 .. kSums); zeros outside the
  // mask.
  template <class Terms>
  static HWY_INLINE void run(std::int64_t n, const Terms& terms, double* sums) {
    std::fill_n(sums, kSums, 0.0);
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const std::int64_t end = std::min(n, begin + kBlock);
      V partial[kSums][kVectors];
      for (int s = 0; s < kSums; ++s) {
        for (int v = 0; v < kVectors; ++v) partial[s][v] = hn::Zero(d);
      }
      const auto all = hn::FirstN(d, static_cast<std::size_t>(kLanes));
      std::int64_t i = begin;
      for (; i + kPartials <= end; i += kPartials) {
        for (int v = 0; v < kVectors; ++v) {
          V out[kSums];
          terms(i + v * kLanes, all, false, out);
          for (int s = 0; s < kSums; ++s) partial[s][v] = hn::Add(partial[s][v], out[s]);
        }
      }
      for (int v = 0; v < kVectors && i < end; ++v, i += kLanes) {
        const std::int64_t left = std::min(kLanes, end - i);
        V out[kSums];
        terms(i, hn::FirstN(d, static_cast<std::size_t>(left)), left < kLanes, out);
        for (int s = 0; s < kSums; ++s) partial[s][v] = hn::Add(partial[s][v], out[s]);
      }
      for (int s = 0; s < kSums; ++s) sums[s] += fold(partial[s]);
    }
  }
};

// Calls body(i, mask, partial) along a row.
template <class D, class Body>
HWY_INLINE void along_row(D d, std::int64_t n, const Body& body) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, all, false);
  if (i < n) body(i, hn::FirstN(d, static_cast<std::size_t>(n - i)), true);
}
template <class D, class M, class T>
HWY_INLINE hn::Vec<D> load(D d, M mask, bool partial, const T* from) {
  return partial ? hn::MaskedLoad(mask, d, from) : hn::LoadU(d, from);
}
template <class D, class M, class V, class T>
HWY_INLINE void store(D d, M mask, bool partial, V v, T* to) {
  if (partial) {
    hn::BlendedStore(v, mask, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

template <class T>
struct RowMoments {
  T mean;
  T inverse;  // 1 / sqrt(variance + epsilon)
};

template <class T>
HWY_INLINE RowMoments<T> moments_of(std::int64_t n, T epsilon, const T* x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  double sum;
  RowSums<T, 1>::run(
      n, [&](std::int64_t i, auto mask, bool partial, V* out) HWY_ATTR { out[0] = load(d, mask, partial, x + i); },
      &sum);
  const T mean = static_cast<T>(sum / static_cast<double>(n));
  const auto means = hn::Set(d, mean);
  double squares;
  RowSums<T, 1>::run(
      n,
      [&](std::int64_t i, auto mask, bool partial, V* out) HWY_ATTR {
        auto centred = hn::Sub(load(d, mask, partial, x + i), means);
        if (partial) centred = hn::IfThenElseZero(mask, centred);
        out[0] = hn::Mul(centred, centred);
      },
      &squares);
  const T variance = static_cast<T>(squares / static_cast<double>(n));
  return {mean, T(1) / std::sqrt(variance + epsilon)};
}

template <class T>
void forward(std::int64_t rows, std::int64_t n, T epsilon, const T* x, const T* scale, const T* offset, T* y) {
  if (rows * n == 0) return;
  const std::int64_t per_task = std::max<std::int64_t>(kTaskElements / n, 1);
  parallel_for((rows + per_task - 1) / per_task, [&](std::int64_t task) HWY_ATTR {
    const hn::ScalableTag<T> d;
    for (std::int64_t row = task * per_task; row < std::min(rows, (task + 1) * per_task); ++row) {
      const T* const from = x + row * n;
      T* const to = y + row * n;
      const RowMoments<T> m = moments_of<T>(n, epsilon, from);
      const auto mean = hn::Set(d, m.mean);
      const auto inverse = hn::Set(d, m.inverse);
      along_row(d, n, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
        const auto h = hn::Mul(hn::Sub(load(d, mask, partial, from + i), mean), inverse);
        store(d, mask, partial, hn::MulAdd(h, load(d, mask, partial, scale + i), load(d, mask, partial, offset + i)),
              to + i);
      });
    }
  });
}

// One row of the gradient; adds to the sums over rows.
template <class T>
HWY_INLINE void gradient_row(std::int64_t n, T epsilon, const T* x, const T* scale, const T* dy, T* dx, T* dscale,
                             T* doffset) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const RowMoments<T> m = moments_of<T>(n, epsilon, x);
  const auto mean = hn::Set(d, m.mean);
  const auto inverse = hn::Set(d, m.inverse);
  // Of p = dy * scale and of p * h, where h is the normalised row.
  double sums[2];
  RowSums<T, 2>::run(
      n,
      [&](std::int64_t i, auto mask, bool partial, V* out) HWY_ATTR {
        const auto h = hn::Mul(hn::Sub(load(d, mask, partial, x + i), mean), inverse);
        out[0] = hn::Mul(load(d, mask, partial, dy + i), load(d, mask, partial, scale + i));
        out[1] = hn::Mul(out[0], h);
      },
      sums);
  const auto mean_p = hn::Set(d, static_cast<T>(sums[0] / static_cast<double>(n)));
  const auto mean_ph = hn::Set(d, static_cast<T>(sums[1] / static_cast<double>(n)));
  along_row(d, n, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
    const auto g = load(d, mask, partial, dy + i);
    const auto h = hn::Mul(hn::Sub(load(d, mask, partial, x + i), mean), inverse);
    const auto p = hn::Mul(g, load(d, mask, partial, scale + i));
    store(d, mask, partial, hn::Mul(hn::NegMulAdd(h, mean_ph, hn::Sub(p, mean_p)), inverse), dx + i);
    store(d, mask, partial, hn::MulAdd(g, h, load(d, mask, partial, dscale + i)), dscale + i);
    store(d, mask, partial, hn::Add(g, load(d, mask, partial, doffset + i)), doffset + i);
  });
}

template <class T>
void gradient(std::int64_t rows, std::int64_t n, T epsilon, const T* x, const T* scale, const T* dy, T* dx, T* dscale,
              T* doffset) {
  std::fill(dscale, dscale + n, T(0));
  std::fill(doffset, doffset + n, T(0));
  if (rows * n == 0) return;
  const std::int64_t tasks = std::clamp<std::int64_t>(rows * n / kTaskElements, 1, std::min(rows, kGradientTasks));
  // [task, 2, n]
  const Scratch scratch(ScratchSlot::kCall, static_cast<std::size_t>(tasks * 2 * n) * sizeof(T));
  T* const parts = scratch.as<T>();
  parallel_for(tasks, [&](std::int64_t task) HWY_ATTR {
    T* const part = parts + task * 2 * n;
    std::fill(part, part + 2 * n, T(0));
    for (std::int64_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row) {
      gradient_row<T>(n, epsilon, x + row * n, scale, dy + row * n, dx + row * n, part, part + n);
    }
  });
  for (std::int64_t i = 0; i < n; ++i) {
    double of_scale = 0;
    double of_offset = 0;
    for (std::int64_t task = 0; task < tasks; ++task) {
      of_scale += static_cast<double>(parts[task * 2 * n + i]);
      of_offset += static_cast<double>(parts[task * 2 * n + n + i]);
    }
    dscale[i] = static_cast<T>(of_scale);
    doffset[i] = static_cast<T>(of_offset);
  }
}

template <class T>
constexpr LayerNormKernels<T> kKernels = {&forward<T>, &gradient<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(LayerNormKernels, layer_norm)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(LayerNormKernels, layer_norm)

}  // namespace capstan
#endif  // HWY_ONCE
