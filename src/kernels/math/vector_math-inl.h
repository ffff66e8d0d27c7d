// The functions that formulas call, on vectors of float32 and float64. Included once per instruction
// set, after highway.h.
//
// Every function has the same bits on every instruction set: it is made of IEEE operations, with fma
// written where it is meant, or it calls the standard library's function for each lane. Each states
// its largest error in units in the last place (ulp) where it is written; functions that are called
// lane by lane compute in float64, so they have the standard library's error of about 1 ulp. All take
// any argument: infinities, NaN, subnormal numbers, signed zeros, huge angles.
#if defined(CAPSTAN_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_VECTOR_MATH_INL_H_
#undef CAPSTAN_KERNELS_VECTOR_MATH_INL_H_
#else
#define CAPSTAN_KERNELS_VECTOR_MATH_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

#include "src/kernels/math/scalar_math.h"
#include "src/kernels/math/vector_basic-inl.h"
#include "src/kernels/math/vector_exp-inl.h"
#include "src/kernels/math/vector_log-inl.h"
#include "src/kernels/math/vector_trig-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace vector_math {

#define CAPSTAN_LANE_FUNCTION(name, function)     \
  template <class D>                              \
  HWY_INLINE hn::Vec<D> name(D d, hn::Vec<D> x) { \
    return for_each_lane(d, x, function);         \
  }
CAPSTAN_LANE_FUNCTION(asin, std::asin)
CAPSTAN_LANE_FUNCTION(acos, std::acos)
CAPSTAN_LANE_FUNCTION(atan, std::atan)
CAPSTAN_LANE_FUNCTION(sinh, std::sinh)
CAPSTAN_LANE_FUNCTION(cosh, std::cosh)
CAPSTAN_LANE_FUNCTION(asinh, std::asinh)
CAPSTAN_LANE_FUNCTION(acosh, std::acosh)
CAPSTAN_LANE_FUNCTION(atanh, std::atanh)
CAPSTAN_LANE_FUNCTION(erfc, std::erfc)
#undef CAPSTAN_LANE_FUNCTION

#define CAPSTAN_LANE_FUNCTION(name, expression)                 \
  template <class D>                                            \
  HWY_INLINE hn::Vec<D> name(D d, hn::Vec<D> x, hn::Vec<D> y) { \
    using T = hn::TFromD<D>;                                    \
    return for_each_lane(                                       \
        d, x, y, +[](T a, T b) -> T { return expression; });    \
  }
CAPSTAN_LANE_FUNCTION(atan2, std::atan2(a, b))
CAPSTAN_LANE_FUNCTION(truncatemod, std::fmod(a, b))
#undef CAPSTAN_LANE_FUNCTION

// erf(x). float32: below 1.1 ulp, by polynomials of Norbert Juffa. float64: the standard library's.
template <class D>
HWY_INLINE hn::Vec<D> erf(D d, hn::Vec<D> x) {
  if constexpr (kIsFloat<D>) {
    const auto t = hn::Abs(x);
    const auto s = hn::Mul(x, x);
    static constexpr double near[] = {1.28379166e-1f,  -3.76125336e-1f, 1.12819925e-1f,
                                      -2.67681349e-2f, 4.99119423e-3f,  -5.96761703e-4f};
    const auto small = fma(d, polynomial(d, s, near), x, x);
    // 1 - exp(p(t)); beyond 4 it is 1.
    const auto u = clamp(d, t, 0, 4);
    const auto square = hn::Mul(u, u);
    auto p = fma(d, set(d, -1.72853470e-5f), u, set(d, 3.83197126e-4f));
    p = fma(d, p, square, fma(d, set(d, -3.88396438e-3f), u, set(d, 2.42546219e-2f)));
    p = fma(d, p, u, set(d, -1.06777877e-1f));
    p = fma(d, p, u, set(d, -6.34846687e-1f));
    p = fma(d, p, u, set(d, -1.28717512e-1f));
    p = fma(d, p, u, hn::Neg(u));
    const auto large = hn::CopySignToAbs(hn::Sub(set(d, 1), exp(d, p)), x);
    return hn::IfThenElse(hn::Gt(t, set(d, 0.927734375)), large, small);
  } else {
    return for_each_lane(d, x, std::erf);
  }
}

// log(1 + exp(x)). float32, float64: below 2 ulp.
template <class D>
HWY_INLINE hn::Vec<D> softplus(D d, hn::Vec<D> x) {
  const auto tail = log1p(d, exp(d, hn::Neg(hn::Abs(x))));
  return hn::Add(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x), tail);
}

// The quotient rounded down.
template <class D>
HWY_INLINE hn::Vec<D> floordiv(D d, hn::Vec<D> x, hn::Vec<D> y) {
  return floor(d, hn::Div(x, y));
}

// The remainder with the sign of y.
template <class D>
HWY_INLINE hn::Vec<D> floormod(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto zero = hn::Zero(d);
  const auto r = truncatemod(d, x, y);
  const auto wrong_side = hn::Xor(hn::VecFromMask(d, hn::Lt(r, zero)), hn::VecFromMask(d, hn::Lt(y, zero)));
  const auto shift = hn::AndNot(hn::Eq(r, zero), hn::MaskFromVec(wrong_side));
  return hn::IfThenElse(shift, hn::Add(r, y), r);
}

}  // namespace vector_math
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
