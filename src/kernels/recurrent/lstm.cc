// LSTMs: a task takes some sequences of the batch through all steps. In a step it multiplies the states with the
// recurrent kernel, a few units at a time, and computes their gates while the sums are in the first cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/recurrent/lstm.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/core/thread_pool.h"
#include "src/kernels/along-inl.h"
#include "src/kernels/recurrent/lstm.h"
#include "src/kernels/recurrent/recurrent.h"
#include "src/kernels/scratch.h"
#include "src/kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kGates = 4;

// Some units of one sequence at one step.
template <class T>
HWY_INLINE void step_forward(std::int64_t units, std::int64_t width, const T* sums, const T* z, const T* c_before,
                             T* gates, T* c, T* h, T* next_h) {
  const hn::ScalableTag<T> d;
  along(d, width, [&](const auto& place) HWY_ATTR {
    const auto sum = [&](std::int64_t gate)
                         HWY_ATTR { return hn::Add(place.load(z + gate * units), place.load(sums + gate * width)); };
    const auto i = vector_math::sigmoid(d, sum(0));
    const auto f = vector_math::sigmoid(d, sum(1));
    const auto g = vector_math::tanh(d, sum(2));
    const auto o = vector_math::sigmoid(d, sum(3));
    const auto cell = hn::Add(hn::Mul(f, place.load(c_before)), hn::Mul(i, g));
    const auto out = hn::Mul(o, vector_math::tanh(d, cell));
    place.store(i, gates);
    place.store(f, gates + units);
    place.store(g, gates + 2 * units);
    place.store(o, gates + 3 * units);
    place.store(cell, c);
    place.store(out, h);
    place.store(out, next_h);
  });
}
// The same where the mask leaves the step out.
template <class T>
void step_over(std::int64_t units, std::int64_t width, const T* c_before, const T* h_before, T* gates, T* c, T* h,
               T* next_h) {
  std::fill_n(gates, width, T(0));
  std::fill_n(gates + units, width, T(1));
  std::fill_n(gates + 2 * units, width, T(1));
  std::fill_n(gates + 3 * units, width, T(0));
  std::copy_n(c_before, width, c);
  std::copy_n(h_before, width, h);
  std::copy_n(h_before, width, next_h);
}

template <class T>
void forward(const LstmShape& s, const LstmForwardCall<T>& p) {
  const std::int64_t units = s.units, steps = s.steps;
  if (s.batch * steps * units == 0) return;
  const Scratch packed(ScratchSlot::kCall,
                       static_cast<std::size_t>(GateBlocks<T>::elements(units, kGates)) * sizeof(T));
  const GateBlocks<T> blocks(units, kGates, p.u, packed.as<T>());
  parallel_for(sequence_tasks(s.batch), [&](std::int64_t task) HWY_ATTR {
    const std::int64_t first = task * kTaskSequences, rows = std::min(kTaskSequences, s.batch - first);
    const std::int64_t step = padded_row(units);
    const Scratch scratch(ScratchSlot::kTask,
                          static_cast<std::size_t>(rows * (2 * step + kGates * kBlockUnits)) * sizeof(T));
    T* h = scratch.as<T>();
    T* next = h + rows * step;
    T* const sums = next + rows * step;
    const auto z_of = [&](std::int64_t at) { return p.z + (p.rows == nullptr ? at : p.rows[at]) * kGates * units; };
    for (std::int64_t row = 0; row < rows; ++row) std::copy_n(p.first_h + (first + row) * units, units, h + row * step);
    for (std::int64_t t = 0; t < steps; ++t) {
      for (std::int64_t begin = 0; begin < units; begin += kBlockUnits) {
        const std::int64_t width = blocks.width(begin);
        blocks.multiply(begin, rows, h, step, sums, [&](std::int64_t row, std::int64_t end) {
          for (; row < end; ++row) {
            const T* const z = z_of((first + row) * steps + t) + begin;
            for (std::int64_t gate = 0; gate < kGates; ++gate) fetch(z + gate * units, width);
          }
        });
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::int64_t at = (first + row) * steps + t;
          const T* const c_before =
              t > 0 ? p.cells + (at - 1) * units + begin : p.first_c + (first + row) * units + begin;
          T* const gates = p.gates + at * kGates * units + begin;
          T* const to = next + row * step + begin;
          const std::int64_t out = at * units + begin;
          if (s.mask != nullptr && !s.mask[at]) {
            step_over(units, width, c_before, h + row * step + begin, gates, p.cells + out, p.h + out, to);
          } else {
            step_forward(units, width, sums + row * kGates * width, z_of(at) + begin, c_before, gates, p.cells + out,
                         p.h + out, to);
          }
        }
      }
      std::swap(h, next);
    }
  });
}

// One sequence at one step. `h` is the cotangent of h that comes from the step after it, and becomes the part of the
// one for the step before that does not go through dz; `c` is the same for cells.
template <class T>
HWY_INLINE void step_back(const LstmGradientCall<T>& p, std::int64_t units, std::int64_t at, const T* c_before,
                          bool taken, T* h, T* c, T* dz) {
  const hn::ScalableTag<T> d;
  const T* const gates = p.gates + at * kGates * units;
  T* const dz_out = p.dz + at * kGates * units;
  const auto one = hn::Set(d, T(1));
  along(d, units, [&](const auto& place) HWY_ATTR {
    const auto i = place.load(gates);
    const auto f = place.load(gates + units);
    const auto g = place.load(gates + 2 * units);
    const auto o = place.load(gates + 3 * units);
    const auto y = vector_math::tanh(d, place.load(p.cells + at * units));
    const auto dh = hn::Add(place.load(h), place.load(p.dh + at * units));
    auto dc = place.load(c);
    if (p.dcells != nullptr) dc = hn::Add(dc, place.load(p.dcells + at * units));
    dc = hn::MulAdd(hn::Mul(dh, o), hn::NegMulAdd(y, y, one), dc);
    hn::Vec<decltype(d)> z[] = {
        hn::Mul(hn::Mul(dc, g), hn::Mul(i, hn::Sub(one, i))),
        hn::Mul(hn::Mul(dc, place.load(c_before)), hn::Mul(f, hn::Sub(one, f))),
        hn::Mul(hn::Mul(dc, i), hn::NegMulAdd(g, g, one)),
        hn::Mul(hn::Mul(dh, y), hn::Mul(o, hn::Sub(one, o))),
    };
    for (std::int64_t gate = 0; gate < kGates; ++gate) {
      auto& v = z[gate];
      if (p.added != nullptr) v = hn::Add(v, place.load(p.added + (at * kGates + gate) * units));
      place.store(v, dz_out + gate * units);
      place.store(v, dz + gate * units);
    }
    place.store(hn::Mul(dc, f), c);
    place.store(taken ? hn::Zero(d) : dh, h);
    if (p.whole_dcells != nullptr) place.store(dc, p.whole_dcells + at * units);
    if (p.whole_dh != nullptr) place.store(dh, p.whole_dh + at * units);
  });
}

template <class T>
void gradients(const LstmShape& s, const LstmGradientCall<T>& p) {
  const std::int64_t units = s.units, steps = s.steps, width = kGates * units;
  if (s.batch * units == 0) return;
  const Scratch packed(ScratchSlot::kCall, static_cast<std::size_t>(units * width) * sizeof(T));
  T* const turned = packed.as<T>();
  pack_panels(width, units, p.u, 1, width, turned);
  parallel_for(sequence_tasks(s.batch), [&](std::int64_t task) HWY_ATTR {
    const std::int64_t first = task * kTaskSequences, rows = std::min(kTaskSequences, s.batch - first);
    const std::int64_t dz_step = padded_row(width);
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(rows * (2 * units + dz_step)) * sizeof(T));
    T* const h = scratch.as<T>();
    T* const c = h + rows * units;
    T* const dz = c + rows * units;
    std::fill_n(h, 2 * rows * units, T(0));
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t at = (first + row) * steps + t;
        const T* const c_before = t > 0 ? p.cells + (at - 1) * units : p.first_c + (first + row) * units;
        const bool taken = s.mask == nullptr || s.mask[at];
        step_back(p, units, at, c_before, taken, h + row * units, c + row * units, dz + row * dz_step);
      }
      multiply_panels(rows, units, width, dz, dz_step, turned, h, units, true, [&](std::int64_t row, std::int64_t end) {
        for (; row < end && t > 0; ++row) {
          const std::int64_t next = (first + row) * steps + t - 1;
          fetch(p.gates + next * width, width);
          fetch(p.dh + next * units, units);
          if (t > 1) fetch(p.cells + (next - 1) * units, units);
        }
      });
    }
    std::copy_n(h, rows * units, p.dfirst_h + first * units);
    std::copy_n(c, rows * units, p.dfirst_c + first * units);
  });
}

// One sequence at one step, whose tangents of sums are there.
template <class T>
HWY_INLINE void step_tangents(const LstmTangentCall<T>& p, std::int64_t units, std::int64_t at, const T* c_before,
                              const T* th_before, const T* tc_before, bool taken) {
  const hn::ScalableTag<T> d;
  const T* const gates = p.gates + at * kGates * units;
  const T* const sums = p.tsums + at * kGates * units;
  const auto one = hn::Set(d, T(1));
  along(d, units, [&](const auto& place) HWY_ATTR {
    const auto i = place.load(gates);
    const auto f = place.load(gates + units);
    const auto g = place.load(gates + 2 * units);
    const auto o = place.load(gates + 3 * units);
    const auto y = vector_math::tanh(d, place.load(p.cells + at * units));
    const auto ti = hn::Mul(place.load(sums), hn::Mul(i, hn::Sub(one, i)));
    const auto tf = hn::Mul(place.load(sums + units), hn::Mul(f, hn::Sub(one, f)));
    const auto tg = hn::Mul(place.load(sums + 2 * units), hn::NegMulAdd(g, g, one));
    const auto to = hn::Mul(place.load(sums + 3 * units), hn::Mul(o, hn::Sub(one, o)));
    auto tc = hn::Mul(f, place.load(tc_before));
    tc = hn::MulAdd(tf, place.load(c_before), tc);
    tc = hn::MulAdd(ti, g, hn::MulAdd(tg, i, tc));
    if (p.added_cells != nullptr) tc = hn::Add(tc, place.load(p.added_cells + at * units));
    auto th = hn::MulAdd(hn::Mul(tc, o), hn::NegMulAdd(y, y, one), hn::Mul(to, y));
    if (p.added_h != nullptr) th = hn::Add(th, place.load(p.added_h + at * units));
    if (!taken) th = hn::Add(th, place.load(th_before));
    place.store(tc, p.tcells + at * units);
    place.store(th, p.th + at * units);
  });
}

// For derivatives of derivatives, which are rare: the recurrent kernel is read as it is.
template <class T>
void tangents(const LstmShape& s, const LstmTangentCall<T>& p) {
  const std::int64_t units = s.units, steps = s.steps, width = kGates * units;
  if (s.batch * steps * units == 0) return;
  std::copy_n(p.tz, s.batch * steps * width, p.tsums);
  parallel_for(sequence_tasks(s.batch), [&](std::int64_t task) HWY_ATTR {
    const std::int64_t first = task * kTaskSequences, rows = std::min(kTaskSequences, s.batch - first);
    for (std::int64_t t = 0; t < steps; ++t) {
      // States of the step before, [rows, units], and how far apart their rows are.
      const std::int64_t at = first * steps + t, step = t > 0 ? steps * units : units;
      const T* const th_before = t > 0 ? p.th + (at - 1) * units : p.tfirst_h + first * units;
      const T* const tc_before = t > 0 ? p.tcells + (at - 1) * units : p.tfirst_c + first * units;
      const T* const c_before = t > 0 ? p.cells + (at - 1) * units : p.first_c + first * units;
      gemm_serial(
          {.m = rows, .n = width, .k = units, .lda = step, .ldb = width, .ldc = steps * width, .accumulate = true},
          th_before, p.u, p.tsums + at * width);
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t here = at + row * steps;
        step_tangents(p, units, here, c_before + row * step, th_before + row * step, tc_before + row * step,
                      s.mask == nullptr || s.mask[here]);
      }
    }
  });
}

template <class T>
constexpr LstmKernels<T> kKernels = {&forward<T>, &gradients<T>, &tangents<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(LstmKernels, lstm)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(LstmKernels, lstm)

}  // namespace capstan
#endif  // HWY_ONCE
