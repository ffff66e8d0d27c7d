// What the vector functions are made of: true fma, polynomials, lane by lane calls, and the functions
// of few instructions. Included once per instruction set; see vector_math-inl.h.
#if defined(CAPSTAN_KERNELS_VECTOR_BASIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_VECTOR_BASIC_INL_H_
#undef CAPSTAN_KERNELS_VECTOR_BASIC_INL_H_
#else
#define CAPSTAN_KERNELS_VECTOR_BASIC_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace vector_math {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kIsFloat = std::is_same_v<hn::TFromD<D>, float>;

// A constant; the literal is rounded to the lane type.
template <class D>
HWY_INLINE hn::Vec<D> set(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

// a * b + c and c - a * b with one rounding. Highway's portable target rounds twice.
template <class D>
HWY_INLINE hn::Vec<D> fma(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, std::fma(hn::GetLane(a), hn::GetLane(b), hn::GetLane(c)));
#else
  (void)d;
  return hn::MulAdd(a, b, c);
#endif
}
template <class D>
HWY_INLINE hn::Vec<D> fnma(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, std::fma(-hn::GetLane(a), hn::GetLane(b), hn::GetLane(c)));
#else
  (void)d;
  return hn::NegMulAdd(a, b, c);
#endif
}

template <class D, std::size_t N, std::size_t... I>
HWY_INLINE hn::Vec<D> horner(D d, hn::Vec<D> x, const double (&c)[N], std::index_sequence<I...>) {
  auto value = set(d, c[N - 1]);
  ((value = fma(d, value, x, set(d, c[N - 2 - I]))), ...);
  return value;
}
// The polynomial with these coefficients, constant term first.
template <class D, std::size_t N>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const double (&coefficients)[N]) {
  return horner(d, x, coefficients, std::make_index_sequence<N - 1>());
}

// x limited to a range; NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> clamp(D d, hn::Vec<D> x, double low, double high) {
#if HWY_TARGET == HWY_SCALAR
  const auto capped = hn::IfThenElse(hn::Gt(x, set(d, high)), set(d, high), x);
  return hn::IfThenElse(hn::Lt(capped, set(d, low)), set(d, low), capped);
#else
  // The instructions return their second operand if one is NaN.
  return hn::Max(set(d, low), hn::Min(set(d, high), x));
#endif
}

// --- Lane by lane ---

#ifndef CAPSTAN_RECORDING_TARGET  // src/emit/record-inl.h has its own
template <class D>
HWY_NOINLINE hn::Vec<D> for_each_lane(D d, hn::Vec<D> x, double (*function)(double)) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    lanes[i] = static_cast<T>(function(static_cast<double>(lanes[i])));
  }
  return hn::Load(d, lanes);
}

template <class D>
HWY_NOINLINE hn::Vec<D> for_each_lane(D d, hn::Vec<D> x, hn::Vec<D> y,
                                      hn::TFromD<D> (*function)(hn::TFromD<D>, hn::TFromD<D>)) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T a[HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T b[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) a[i] = function(a[i], b[i]);
  return hn::Load(d, a);
}
#endif

// --- Few instructions ---

// Highway's Ne is false for NaN.
template <class D>
HWY_INLINE hn::Mask<D> is_nan(D, hn::Vec<D> x) {
  return hn::Not(hn::Eq(x, x));
}
template <class D>
HWY_INLINE hn::Mask<D> is_inf(D d, hn::Vec<D> x) {
  return hn::Eq(hn::Abs(x), hn::Inf(d));
}
template <class D>
HWY_INLINE hn::Mask<D> is_finite(D d, hn::Vec<D> x) {
  return hn::Lt(hn::Abs(x), hn::Inf(d));
}

template <class D>
HWY_INLINE hn::Vec<D> abs(D, hn::Vec<D> x) {
  return hn::Abs(x);
}
// -1, x itself if it is a zero or NaN, or 1.
template <class D>
HWY_INLINE hn::Vec<D> sign(D d, hn::Vec<D> x) {
  const auto zero = hn::Zero(d);
  return hn::IfThenElse(hn::Gt(x, zero), set(d, 1), hn::IfThenElse(hn::Lt(x, zero), set(d, -1), x));
}
// Correctly rounded.
template <class D>
HWY_INLINE hn::Vec<D> sqrt(D, hn::Vec<D> x) {
  return hn::Sqrt(x);
}
// Two correctly rounded operations: below 1.5 ulp.
template <class D>
HWY_INLINE hn::Vec<D> rsqrt(D d, hn::Vec<D> x) {
  return hn::Div(set(d, 1), hn::Sqrt(x));
}
// Rounding; Highway's portable target loses the sign of zero, and halves just below one half.
#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE hn::Vec<D> floor(D d, hn::Vec<D> x) {
  return hn::Set(d, std::floor(hn::GetLane(x)));
}
template <class D>
HWY_INLINE hn::Vec<D> ceil(D d, hn::Vec<D> x) {
  return hn::Set(d, std::ceil(hn::GetLane(x)));
}
template <class D>
HWY_INLINE hn::Vec<D> round(D d, hn::Vec<D> x) {
  return hn::Set(d, std::nearbyint(hn::GetLane(x)));
}
#else
template <class D>
HWY_INLINE hn::Vec<D> floor(D, hn::Vec<D> x) {
  return hn::Floor(x);
}
template <class D>
HWY_INLINE hn::Vec<D> ceil(D, hn::Vec<D> x) {
  return hn::Ceil(x);
}
// Halves go to the even neighbour.
template <class D>
HWY_INLINE hn::Vec<D> round(D, hn::Vec<D> x) {
  return hn::Round(x);
}
#endif
template <class D>
HWY_INLINE hn::Vec<D> maximum(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const auto larger = hn::IfThenElse(hn::Ge(a, b), a, b);
  return hn::IfThenElse(is_nan(d, a), a, larger);
}
template <class D>
HWY_INLINE hn::Vec<D> minimum(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const auto smaller = hn::IfThenElse(hn::Le(a, b), a, b);
  return hn::IfThenElse(is_nan(d, a), a, smaller);
}

}  // namespace vector_math
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
