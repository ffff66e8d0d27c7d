// GRUs, in the way of LSTMs (lstm.cc).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/recurrent/gru.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/core/thread_pool.h"
#include "src/kernels/along-inl.h"
#include "src/kernels/recurrent/gru.h"
#include "src/kernels/recurrent/recurrent.h"
#include "src/kernels/scratch.h"
#include "src/kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// What inputs and states give sums for, and what is kept of a step.
constexpr std::int64_t kSums = 3, kGates = 4;

// Some units of one sequence at one step.
template <class T>
HWY_INLINE void step_forward(std::int64_t units, std::int64_t width, const T* sums, const T* x, const T* b,
                             const T* h_before, T* gates, T* h, T* next_h) {
  const hn::ScalableTag<T> d;
  along(d, width, [&](const auto& place) HWY_ATTR {
    const auto sum = [&](std::int64_t gate)
                         HWY_ATTR { return hn::Add(place.load(sums + gate * width), place.load(b + gate * units)); };
    const auto z = vector_math::sigmoid(d, hn::Add(place.load(x), sum(0)));
    const auto r = vector_math::sigmoid(d, hn::Add(place.load(x + units), sum(1)));
    const auto q = sum(2);
    const auto n = vector_math::tanh(d, hn::MulAdd(r, q, place.load(x + 2 * units)));
    const auto out = hn::MulAdd(z, hn::Sub(place.load(h_before), n), n);
    place.store(z, gates);
    place.store(r, gates + units);
    place.store(n, gates + 2 * units);
    place.store(q, gates + 3 * units);
    place.store(out, h);
    place.store(out, next_h);
  });
}
// The same where the mask leaves the step out.
template <class T>
void step_over(std::int64_t units, std::int64_t width, const T* h_before, T* gates, T* h, T* next_h) {
  std::fill_n(gates, width, T(1));
  for (std::int64_t gate = 1; gate < kGates; ++gate) std::fill_n(gates + gate * units, width, T(0));
  std::copy_n(h_before, width, h);
  std::copy_n(h_before, width, next_h);
}

template <class T>
void forward(const GruShape& s, const GruForwardCall<T>& p) {
  const std::int64_t units = s.units, steps = s.steps;
  if (s.batch * steps * units == 0) return;
  const Scratch packed(ScratchSlot::kCall, static_cast<std::size_t>(GateBlocks<T>::elements(units, kSums)) * sizeof(T));
  const GateBlocks<T> blocks(units, kSums, p.u, packed.as<T>());
  parallel_for(sequence_tasks(s.batch), [&](std::int64_t task) HWY_ATTR {
    const std::int64_t first = task * kTaskSequences, rows = std::min(kTaskSequences, s.batch - first);
    const std::int64_t step = padded_row(units);
    const Scratch scratch(ScratchSlot::kTask,
                          static_cast<std::size_t>(rows * (2 * step + kSums * kBlockUnits)) * sizeof(T));
    T* h = scratch.as<T>();
    T* next = h + rows * step;
    T* const sums = next + rows * step;
    for (std::int64_t row = 0; row < rows; ++row) std::copy_n(p.first_h + (first + row) * units, units, h + row * step);
    for (std::int64_t t = 0; t < steps; ++t) {
      for (std::int64_t begin = 0; begin < units; begin += kBlockUnits) {
        const std::int64_t width = blocks.width(begin);
        blocks.multiply(begin, rows, h, step, sums, [&](std::int64_t row, std::int64_t end) {
          for (; row < end; ++row) {
            const T* const x = p.x + ((first + row) * steps + t) * kSums * units + begin;
            for (std::int64_t gate = 0; gate < kSums; ++gate) fetch(x + gate * units, width);
          }
        });
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::int64_t at = (first + row) * steps + t;
          const T* const before = h + row * step + begin;
          T* const gates = p.gates + at * kGates * units + begin;
          T* const out = p.h + at * units + begin;
          T* const to = next + row * step + begin;
          if (p.mask != nullptr && !p.mask[at]) {
            step_over(units, width, before, gates, out, to);
          } else {
            step_forward(units, width, sums + row * kSums * width, p.x + at * kSums * units + begin, p.b + begin,
                         before, gates, out, to);
          }
        }
      }
      std::swap(h, next);
    }
  });
}

// One sequence at one step. `h` is the cotangent of h that comes from the step after it, and becomes the part of the
// one for the step before that does not go through the sums.
template <class T>
HWY_INLINE void step_back(const GruGradientCall<T>& p, std::int64_t units, std::int64_t at, const T* h_before, T* h,
                          T* dsums) {
  const hn::ScalableTag<T> d;
  const T* const gates = p.gates + at * kGates * units;
  const T* const dgates = p.dgates == nullptr ? nullptr : p.dgates + at * kGates * units;
  T* const dx = p.dx + at * kSums * units;
  T* const dsums_out = p.dsums + at * kSums * units;
  const auto one = hn::Set(d, T(1));
  along(d, units, [&](const auto& place) HWY_ATTR {
    const auto z = place.load(gates), r = place.load(gates + units), n = place.load(gates + 2 * units),
               q = place.load(gates + 3 * units);
    const auto more = [&](hn::Vec<decltype(d)> v, std::int64_t gate)
                          HWY_ATTR { return dgates == nullptr ? v : hn::Add(v, place.load(dgates + gate * units)); };
    const auto dh = hn::Add(place.load(h), place.load(p.dh + at * units));
    const auto dz = more(hn::Mul(dh, hn::Sub(place.load(h_before), n)), 0);
    const auto dn = more(hn::Mul(dh, hn::Sub(one, z)), 2);
    const auto to_n = hn::Mul(dn, hn::NegMulAdd(n, n, one));
    const auto to_z = hn::Mul(dz, hn::Mul(z, hn::Sub(one, z)));
    const auto to_r = hn::Mul(more(hn::Mul(to_n, q), 1), hn::Mul(r, hn::Sub(one, r)));
    const auto to_q = more(hn::Mul(to_n, r), 3);
    for (T* const to : {dx, dsums_out, dsums}) {
      place.store(to_z, to);
      place.store(to_r, to + units);
    }
    place.store(to_n, dx + 2 * units);
    place.store(to_q, dsums_out + 2 * units);
    place.store(to_q, dsums + 2 * units);
    place.store(hn::Mul(dh, z), h);
    if (p.whole_dh != nullptr) place.store(dh, p.whole_dh + at * units);
  });
}

template <class T>
void gradients(const GruShape& s, const GruGradientCall<T>& p) {
  const std::int64_t units = s.units, steps = s.steps, width = kSums * units;
  if (s.batch * units == 0) return;
  const Scratch packed(ScratchSlot::kCall, static_cast<std::size_t>(units * width) * sizeof(T));
  T* const turned = packed.as<T>();
  pack_panels(width, units, p.u, 1, width, turned);
  parallel_for(sequence_tasks(s.batch), [&](std::int64_t task) HWY_ATTR {
    const std::int64_t first = task * kTaskSequences, rows = std::min(kTaskSequences, s.batch - first);
    const std::int64_t dsums_step = padded_row(width);
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(rows * (units + dsums_step)) * sizeof(T));
    T* const h = scratch.as<T>();
    T* const dsums = h + rows * units;
    std::fill_n(h, rows * units, T(0));
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t at = (first + row) * steps + t;
        const T* const h_before = t > 0 ? p.h + (at - 1) * units : p.first_h + (first + row) * units;
        step_back(p, units, at, h_before, h + row * units, dsums + row * dsums_step);
      }
      const auto ahead = [&](std::int64_t row, std::int64_t end) {
        for (; row < end && t > 0; ++row) {
          const std::int64_t next = (first + row) * steps + t - 1;
          fetch(p.gates + next * kGates * units, kGates * units);
          fetch(p.dh + next * units, units);
          if (t > 1) fetch(p.h + (next - 1) * units, units);
        }
      };
      multiply_panels(rows, units, width, dsums, dsums_step, turned, h, units, true, ahead);
    }
    std::copy_n(h, rows * units, p.dfirst_h + first * units);
  });
}

// One sequence at one step; `sums` are the tangents of its sums.
template <class T>
HWY_INLINE void step_tangents(const GruTangentCall<T>& p, std::int64_t units, std::int64_t at, const T* h_before,
                              const T* th_before, const T* sums) {
  const hn::ScalableTag<T> d;
  const T* const gates = p.gates + at * kGates * units;
  const T* const tx = p.tx + at * kSums * units;
  const auto one = hn::Set(d, T(1));
  along(d, units, [&](const auto& place) HWY_ATTR {
    const auto z = place.load(gates), r = place.load(gates + units), n = place.load(gates + 2 * units),
               q = place.load(gates + 3 * units);
    const auto tz = hn::Mul(hn::Add(place.load(tx), place.load(sums)), hn::Mul(z, hn::Sub(one, z)));
    const auto tr = hn::Mul(hn::Add(place.load(tx + units), place.load(sums + units)), hn::Mul(r, hn::Sub(one, r)));
    const auto inner = hn::MulAdd(q, tr, hn::MulAdd(place.load(sums + 2 * units), r, place.load(tx + 2 * units)));
    const auto tn = hn::Mul(inner, hn::NegMulAdd(n, n, one));
    auto th = hn::Mul(z, place.load(th_before));
    th = hn::MulAdd(tz, hn::Sub(place.load(h_before), n), hn::MulAdd(hn::Sub(one, z), tn, th));
    if (p.added != nullptr) th = hn::Add(th, place.load(p.added + at * units));
    place.store(th, p.th + at * units);
  });
}

// For derivatives of derivatives, which are rare: the recurrent kernel is read as it is.
template <class T>
void tangents(const GruShape& s, const GruTangentCall<T>& p) {
  const std::int64_t units = s.units, steps = s.steps, width = kSums * units;
  if (s.batch * steps * units == 0) return;
  parallel_for(sequence_tasks(s.batch), [&](std::int64_t task) HWY_ATTR {
    const std::int64_t first = task * kTaskSequences, rows = std::min(kTaskSequences, s.batch - first);
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(rows * width) * sizeof(T));
    T* const sums = scratch.as<T>();
    for (std::int64_t t = 0; t < steps; ++t) {
      // States of the step before, [rows, units], and how far apart their rows are.
      const std::int64_t at = first * steps + t, step = t > 0 ? steps * units : units;
      const T* const th_before = t > 0 ? p.th + (at - 1) * units : p.tfirst_h + first * units;
      const T* const h_before = t > 0 ? p.h + (at - 1) * units : p.first_h + first * units;
      for (std::int64_t row = 0; row < rows; ++row) {
        std::copy_n(p.tsums + (at + row * steps) * width, width, sums + row * width);
      }
      gemm_serial({.m = rows, .n = width, .k = units, .lda = step, .ldb = width, .ldc = width, .accumulate = true},
                  th_before, p.u, sums);
      for (std::int64_t row = 0; row < rows; ++row) {
        step_tangents(p, units, at + row * steps, h_before + row * step, th_before + row * step, sums + row * width);
      }
    }
  });
}

template <class T>
constexpr GruKernels<T> kKernels = {&forward<T>, &gradients<T>, &tangents<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(GruKernels, gru)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(GruKernels, gru)

}  // namespace capstan
#endif  // HWY_ONCE
