// The exponential function and what follows from it: expm1, tanh, sigmoid. Included once per
// instruction set; see vector_math-inl.h.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, and exp(x) = 2^n exp(r). Rounding to n adds a constant so large
// that the sum has no fraction; n then is in the low bits of the sum and moves into an exponent
// by a shift. The polynomials are Chebyshev fits of (exp(r) - 1 - r) / r^2.
#if defined(CAPSTAN_KERNELS_VECTOR_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_VECTOR_EXP_INL_H_
#undef CAPSTAN_KERNELS_VECTOR_EXP_INL_H_
#else
#define CAPSTAN_KERNELS_VECTOR_EXP_INL_H_
#endif

#include "hwy/highway.h"

#include "src/kernels/math/vector_basic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace vector_math {

template <class D>
struct ExpConstants {
  static constexpr bool kSingle = kIsFloat<D>;
  static constexpr int kMantissa = kSingle ? 23 : 52;
  static constexpr double kBias = kSingle ? 127 : 1023;
  // 1.5 times 2^kMantissa.
  static constexpr double kRound = kSingle ? 12582912.0 : 6755399441055744.0;
  // ln 2 in two parts; a product of the first with n is exact.
  static constexpr double kLn2High = kSingle ? 0.693359375 : 0x1.62e42fefa38p-1;
  static constexpr double kLn2Low = kSingle ? -2.12194440054690583e-4 : 0x1.ef35793c7673p-45;
  // Beyond these the result is infinite or zero.
  static constexpr double kHighest = kSingle ? 89.0 : 710.0;
  static constexpr double kLowest = kSingle ? -104.0 : -746.0;
};

// n (as a number), the sum that holds it in its low bits, and r with its rounding error.
template <class D>
struct Reduced {
  hn::Vec<D> n, sum, r, error;
};
// `offset` is added to the integer in the low bits.
template <bool kWithError, class D>
HWY_INLINE Reduced<D> reduce_exp(D d, hn::Vec<D> x, double offset) {
  using C = ExpConstants<D>;
  Reduced<D> out;
  const auto magic = set(d, C::kRound + offset);
  out.sum = fma(d, x, set(d, 1.4426950408889634), magic);
  out.n = hn::Sub(out.sum, magic);
  const auto high = fnma(d, out.n, set(d, C::kLn2High), x);
  out.r = fnma(d, out.n, set(d, C::kLn2Low), high);
  if constexpr (kWithError) {
    out.error = fnma(d, out.n, set(d, C::kLn2Low), hn::Sub(high, out.r));
  } else {
    out.error = hn::Zero(d);
  }
  return out;
}

// (exp(r) - 1 - r) / r^2; `kFine` keeps the error below what a difference from 1 shows.
template <bool kFine, class D>
HWY_INLINE hn::Vec<D> exp_tail(D d, hn::Vec<D> r) {
  if constexpr (kIsFloat<D> && kFine) {
    static constexpr double c[] = {0.5, 0.1666666668, 0.04166646471, 0.008333310902, 0.001393367373, 0.0001989101718};
    return polynomial(d, r, c);
  } else if constexpr (kIsFloat<D>) {
    static constexpr double c[] = {0.5, 0.1666657689, 0.0416665545, 0.008363194882, 0.001392620336};
    return polynomial(d, r, c);
  } else {
    static constexpr double c[] = {0x1.0p-1,
                                   0x1.5555555555557p-3,
                                   0x1.5555555555556p-5,
                                   0x1.11111111100d3p-7,
                                   0x1.6c16c16c162cfp-10,
                                   0x1.a01a01abeccc3p-13,
                                   0x1.a01a01a6db488p-16,
                                   0x1.71de02225a2f3p-19,
                                   0x1.27e4db5bb725ap-22,
                                   0x1.af4e092e1705bp-26,
                                   0x1.1f7315649f2d7p-29};
    return polynomial(d, r, c);
  }
}

// exp(x). float32: below 1.1 ulp. float64: below 1 ulp.
template <class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
  using C = ExpConstants<D>;
  x = clamp(d, x, C::kLowest, C::kHighest);
  // The offset makes each half of n a biased exponent.
  const auto reduced = reduce_exp<false>(d, x, 2 * C::kBias);
  const auto r = reduced.r;
  const auto p = hn::Add(fma(d, exp_tail<false>(d, r), hn::Mul(r, r), r), set(d, 1));
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) * hn::MaxLanes(D()) == 64) {
    if constexpr (kIsFloat<D>) {
      return hn::Vec<D>{_mm512_scalef_ps(p.raw, reduced.n.raw)};
    } else {
      return hn::Vec<D>{_mm512_scalef_pd(p.raw, reduced.n.raw)};
    }
  }
#endif
  // In two steps, because 2^n alone may overflow or be subnormal; only the second one rounds.
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, reduced.sum);
  const auto half = hn::ShiftRight<1>(bits);
  const auto first = hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(half));
  const auto second = hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(hn::Sub(bits, half)));
  return hn::Mul(hn::Mul(p, first), second);
}

// (exp(x) - 1) / 2 for x inside the range of expm1.
template <class D>
HWY_INLINE hn::Vec<D> half_expm1(D d, hn::Vec<D> x) {
  using C = ExpConstants<D>;
  // 2^(n - 1) as a biased exponent.
  const auto reduced = reduce_exp<true>(d, x, C::kBias - 1);
  const auto r = reduced.r;
  const auto e = hn::Add(r, fma(d, exp_tail<true>(d, r), hn::Mul(r, r), reduced.error));
  const hn::RebindToUnsigned<D> du;
  const auto s = hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(hn::BitCast(du, reduced.sum)));
  return fma(d, s, e, hn::Sub(s, set(d, 0.5)));
}

// exp(x) - 1. float32, float64: below 2 ulp.
template <class D>
HWY_INLINE hn::Vec<D> expm1(D d, hn::Vec<D> x) {
  using C = ExpConstants<D>;
  const auto h = half_expm1(d, clamp(d, x, C::kSingle ? -18 : -38, C::kHighest));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Add(h, h));
}

// tanh(x) = h / (h + 1) with h = (exp(2 |x|) - 1) / 2. float32: below 2 ulp. float64: below 2.5 ulp.
//
// The reduction has no second part of ln 2, because an error of h in proportion to n matters 1 / h as
// much to tanh. With |x| = n ln 2 / 2 + r, h = 2^n u + (2^n - 1) / 2, where u = (exp(2 r) - 1) / 2.
template <class D>
HWY_INLINE hn::Vec<D> tanh(D d, hn::Vec<D> x) {
  using C = ExpConstants<D>;
  // hn::Min keeps NaN, see clamp.
  const auto magnitude = hn::Abs(x);
#if HWY_TARGET == HWY_SCALAR
  const auto limit = set(d, C::kSingle ? 10 : 22);
  const auto y = hn::IfThenElse(hn::Gt(magnitude, limit), limit, magnitude);
#else
  const auto y = hn::Min(set(d, C::kSingle ? 10 : 22), magnitude);
#endif
  const auto magic = set(d, C::kRound + C::kBias);
  const auto sum = fma(d, y, set(d, 2 * 1.4426950408889634), magic);
  const auto r = fnma(d, hn::Sub(sum, magic), set(d, 0.34657359027997264), y);
  hn::Vec<D> tail;
  if constexpr (C::kSingle) {
    static constexpr double c[] = {1.0, 0.6666630758, 0.333332436, 0.1338111181, 0.04456385076};
    tail = polynomial(d, r, c);
  } else {
    static constexpr double c[] = {0x1.0p0,
                                   0x1.5555555555557p-1,
                                   0x1.5555555555556p-2,
                                   0x1.11111111100d3p-3,
                                   0x1.6c16c16c162cfp-5,
                                   0x1.a01a01abeccc3p-7,
                                   0x1.a01a01a6db488p-9,
                                   0x1.71de02225a2f3p-11,
                                   0x1.27e4db5bb725ap-13,
                                   0x1.af4e092e1705bp-16,
                                   0x1.1f7315649f2d7p-18};
    tail = polynomial(d, r, c);
  }
  const auto u = fma(d, tail, hn::Mul(r, r), r);
  const hn::RebindToUnsigned<D> du;
  const auto s = hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(hn::BitCast(du, sum)));
  const auto h = fma(d, s, u, fma(d, s, set(d, 0.5), set(d, -0.5)));
  const auto quotient = hn::Div(h, hn::Add(h, set(d, 1)));
  // A small quotient is the difference of h and something smaller, which hides what division rounds.
  const auto fine = fnma(d, h, quotient, h);
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(h, set(d, 0.5)), fine, quotient), x);
}

// 1 / (1 + exp(-x)). float32, float64: below 2 ulp.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  const auto e = exp(d, hn::Neg(hn::Abs(x)));
  const auto one = set(d, 1);
  const auto negative = hn::Lt(x, hn::Zero(d));
  const auto quotient = hn::Div(hn::IfThenElse(negative, e, one), hn::Add(one, e));
  // As in tanh.
  const auto small = hn::And(negative, hn::Lt(e, set(d, 0.5)));
  return hn::IfThenElse(small, fnma(d, e, quotient, e), quotient);
}

}  // namespace vector_math
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
