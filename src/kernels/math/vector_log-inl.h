// Logarithms and powers. Included once per instruction set; see vector_math-inl.h.
//
// x = 2^k m with m between sqrt(1/2) and sqrt(2). With f = m - 1 and s = f / (2 + f),
// log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)); the coefficients of R are those of Sun's libm.
#if defined(CAPSTAN_KERNELS_VECTOR_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_VECTOR_LOG_INL_H_
#undef CAPSTAN_KERNELS_VECTOR_LOG_INL_H_
#else
#define CAPSTAN_KERNELS_VECTOR_LOG_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/highway.h"

#include "src/kernels/math/vector_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace vector_math {

template <class D>
struct LogConstants {
  static constexpr bool kSingle = kIsFloat<D>;
  using Bits = hwy::MakeUnsigned<hn::TFromD<D>>;
  static constexpr int kMantissa = kSingle ? 23 : 52;
  static constexpr Bits kOne = static_cast<Bits>(kSingle ? 0x3f800000u : 0x3ff0000000000000u);
  static constexpr Bits kSqrtHalf = static_cast<Bits>(kSingle ? 0x3f3504f3u : 0x3fe6a09e667f3bcdu);
  // 2^kMantissa as bits: an integer below becomes a number by filling in its low bits.
  static constexpr Bits kInteger = static_cast<Bits>(kSingle ? 0x4b000000u : 0x4330000000000000u);
  static constexpr double kIntegerBias = kSingle ? 8388608.0 + 127 : 4503599627370496.0 + 1023;
  static constexpr double kSmallestNormal = kSingle ? 0x1p-126 : 0x1p-1022;
  static constexpr double kSubnormalShift = kSingle ? 25 : 54;
  static constexpr double kSubnormalScale = kSingle ? 0x1p25 : 0x1p54;
  static constexpr double kLn2High = kSingle ? 6.9313812256e-01 : 6.93147180369123816490e-01;
  static constexpr double kLn2Low = kSingle ? 9.0580006145e-06 : 1.90821492927058770002e-10;
};

// x > 0, finite, normal: k and m.
template <class D>
struct Split {
  hn::Vec<D> k, m;
};
template <class D>
HWY_INLINE Split<D> split_exponent(D d, hn::Vec<D> x) {
  using C = LogConstants<D>;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, C::kOne - C::kSqrtHalf));
  const auto biased = hn::Or(hn::ShiftRight<C::kMantissa>(bits), hn::Set(du, C::kInteger));
  const auto mantissa = hn::And(bits, hn::Set(du, (typename C::Bits{1} << C::kMantissa) - 1));
  return {hn::Sub(hn::BitCast(d, biased), set(d, C::kIntegerBias)),
          hn::BitCast(d, hn::Add(mantissa, hn::Set(du, C::kSqrtHalf)))};
}

// k ln 2 + log(1 + f) + small.
template <class D>
HWY_INLINE hn::Vec<D> log_sum(D d, hn::Vec<D> k, hn::Vec<D> f, hn::Vec<D> small) {
  using C = LogConstants<D>;
  const auto s = hn::Div(f, hn::Add(set(d, 2), f));
  const auto z = hn::Mul(s, s);
  const auto half_square = hn::Mul(set(d, 0.5), hn::Mul(f, f));
  hn::Vec<D> tail;
  if constexpr (kIsFloat<D>) {
    static constexpr double c[] = {0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841};
    tail = hn::Mul(z, polynomial(d, z, c));
  } else {
    static constexpr double c[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                   2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                   1.479819860511658591e-01};
    tail = hn::Mul(z, polynomial(d, z, c));
  }
  const auto low = fma(d, k, set(d, C::kLn2Low), small);
  const auto correction = fma(d, s, hn::Add(half_square, tail), low);
  return fma(d, k, set(d, C::kLn2High), hn::Sub(f, hn::Sub(half_square, correction)));
}

// log(x). float32, float64: below 1 ulp.
template <class D>
HWY_INLINE hn::Vec<D> log(D d, hn::Vec<D> x) {
  using C = LogConstants<D>;
  const auto zero = hn::Zero(d);
  const auto subnormal = hn::Lt(x, set(d, C::kSmallestNormal));
  const auto normal = hn::IfThenElse(subnormal, hn::Mul(x, set(d, C::kSubnormalScale)), x);
  const auto split = split_exponent(d, normal);
  const auto k = hn::IfThenElse(subnormal, hn::Sub(split.k, set(d, C::kSubnormalShift)), split.k);
  const auto value = log_sum(d, k, hn::Sub(split.m, set(d, 1)), zero);
  const auto ordinary = hn::And(hn::Gt(x, zero), hn::Lt(x, hn::Inf(d)));
  const auto below = hn::IfThenElse(hn::Lt(x, zero), hn::NaN(d), x);
  const auto special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), below);
  return hn::IfThenElse(ordinary, value, special);
}

// log(1 + x). float32, float64: below 2 ulp.
template <class D>
HWY_INLINE hn::Vec<D> log1p(D d, hn::Vec<D> x) {
  const auto zero = hn::Zero(d);
  const auto one = set(d, 1);
  const auto u = hn::Add(one, x);
  const auto split = split_exponent(d, u);
  // What rounding took from 1 + x.
  const auto lost = hn::IfThenElse(hn::Ge(x, one), hn::Sub(one, hn::Sub(u, x)), hn::Sub(x, hn::Sub(u, one)));
  const auto near_one = hn::Eq(split.k, zero);
  const auto f = hn::IfThenElse(near_one, x, hn::Sub(split.m, one));
  const auto small = hn::IfThenElse(near_one, zero, hn::Div(lost, u));
  const auto value = log_sum(d, split.k, f, small);
  const auto ordinary = hn::And(hn::Gt(x, set(d, -1)), hn::Lt(x, hn::Inf(d)));
  const auto below = hn::IfThenElse(hn::Lt(x, set(d, -1)), hn::NaN(d), x);
  const auto special = hn::IfThenElse(hn::Eq(x, set(d, -1)), hn::Neg(hn::Inf(d)), below);
  return hn::IfThenElse(hn::AndNot(hn::Eq(x, zero), ordinary), value, special);
}

// x to the power of y for lanes that exp(y log(x)) in float64 does not serve, and for float64, whose
// logarithm would need more than 53 bits.
template <class D>
HWY_NOINLINE hn::Vec<D> pow_by_lane(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  return for_each_lane(
      d, x, y, +[](T a, T b) -> T { return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b))); });
}

// x^y. float32: below 1 ulp. float64: the standard library's.
#ifdef CAPSTAN_RECORDING_TARGET  // two widths of vectors in one function cannot be recorded
template <class D>
HWY_INLINE hn::Vec<D> pow(D d, hn::Vec<D> x, hn::Vec<D> y) {
  return pow_by_lane(d, x, y);
}
#else
template <class D>
HWY_INLINE hn::Vec<D> pow(D d, hn::Vec<D> x, hn::Vec<D> y) {
  if constexpr (kIsFloat<D>) {
    const hn::ScalableTag<double> wide;
    const hn::Rebind<float, decltype(wide)> narrow;
    HWY_ALIGN float bases[HWY_MAX_BYTES / sizeof(float)];
    HWY_ALIGN float exponents[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(x, d, bases);
    hn::Store(y, d, exponents);
    for (std::size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(wide)) {
      const auto base = hn::PromoteTo(wide, hn::Load(narrow, bases + i));
      const auto exponent = hn::PromoteTo(wide, hn::Load(narrow, exponents + i));
      const auto power = exp(wide, hn::Mul(exponent, log(wide, base)));
#if HWY_TARGET == HWY_SCALAR
      bases[i] = static_cast<float>(hn::GetLane(power));  // Highway's stops at the largest number.
#else
      hn::Store(hn::DemoteTo(narrow, power), narrow, bases + i);
#endif
    }
    const auto value = hn::Load(d, bases);
    const auto positive = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Inf(d)));
    const auto ordinary = hn::And(positive, is_finite(d, y));
    if (hn::AllTrue(d, ordinary)) [[likely]]
      return value;
    return hn::IfThenElse(ordinary, value, pow_by_lane(d, x, y));
  } else {
    return pow_by_lane(d, x, y);
  }
}
#endif

}  // namespace vector_math
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
