// The functions that formulas call, on vectors of float32 and float64. Included once per instruction
// set, after highway.h.
//
// Every function has the same bits on every instruction set: it is made of IEEE operations, with fma
// written where it is meant, or it calls the standard library's function for each lane.
#if defined(CAPSTAN_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_VECTOR_MATH_INL_H_
#undef CAPSTAN_KERNELS_VECTOR_MATH_INL_H_
#else
#define CAPSTAN_KERNELS_VECTOR_MATH_INL_H_
#endif

#include <cmath>
#include <cstddef>

#include "hwy/highway.h"

#include "src/kernels/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace vector_math {

namespace hn = hwy::HWY_NAMESPACE;

// --- Lane by lane ---

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

#define CAPSTAN_LANE_FUNCTION(name, function)             \
  template <class D>                                      \
  HWY_INLINE hn::Vec<D> name(D d, hn::Vec<D> x) {         \
    return for_each_lane(d, x, function);                 \
  }
CAPSTAN_LANE_FUNCTION(exp, std::exp)
CAPSTAN_LANE_FUNCTION(expm1, std::expm1)
CAPSTAN_LANE_FUNCTION(log, std::log)
CAPSTAN_LANE_FUNCTION(log1p, std::log1p)
CAPSTAN_LANE_FUNCTION(sin, std::sin)
CAPSTAN_LANE_FUNCTION(cos, std::cos)
CAPSTAN_LANE_FUNCTION(tan, std::tan)
CAPSTAN_LANE_FUNCTION(asin, std::asin)
CAPSTAN_LANE_FUNCTION(acos, std::acos)
CAPSTAN_LANE_FUNCTION(atan, std::atan)
CAPSTAN_LANE_FUNCTION(sinh, std::sinh)
CAPSTAN_LANE_FUNCTION(cosh, std::cosh)
CAPSTAN_LANE_FUNCTION(tanh, std::tanh)
CAPSTAN_LANE_FUNCTION(asinh, std::asinh)
CAPSTAN_LANE_FUNCTION(acosh, std::acosh)
CAPSTAN_LANE_FUNCTION(atanh, std::atanh)
CAPSTAN_LANE_FUNCTION(erf, std::erf)
CAPSTAN_LANE_FUNCTION(erfc, std::erfc)
CAPSTAN_LANE_FUNCTION(sigmoid, capstan::detail::sigmoid)
CAPSTAN_LANE_FUNCTION(softplus, capstan::detail::softplus)
CAPSTAN_LANE_FUNCTION(lgamma, capstan::detail::log_gamma)
CAPSTAN_LANE_FUNCTION(digamma, capstan::detail::digamma)
#if HWY_TARGET == HWY_SCALAR
CAPSTAN_LANE_FUNCTION(round, std::nearbyint)  // Highway's is wrong just below one half.
#else
template <class D>
HWY_INLINE hn::Vec<D> round(D, hn::Vec<D> x) {
  return hn::Round(x);
}
#endif
#undef CAPSTAN_LANE_FUNCTION

#define CAPSTAN_LANE_FUNCTION(name, expression)                            \
  template <class D>                                                       \
  HWY_INLINE hn::Vec<D> name(D d, hn::Vec<D> x, hn::Vec<D> y) {            \
    using T = hn::TFromD<D>;                                               \
    return for_each_lane(d, x, y, +[](T a, T b) -> T { return expression; }); \
  }
CAPSTAN_LANE_FUNCTION(pow, std::pow(a, b))
CAPSTAN_LANE_FUNCTION(atan2, std::atan2(a, b))
CAPSTAN_LANE_FUNCTION(truncatemod, std::fmod(a, b))
CAPSTAN_LANE_FUNCTION(polygamma, static_cast<T>(capstan::detail::polygamma(a, b)))
#undef CAPSTAN_LANE_FUNCTION

// --- Few instructions ---

template <class D>
HWY_INLINE hn::Mask<D> is_nan(D, hn::Vec<D> x) {
  return hn::IsNaN(x);  // Ne is false for NaN on x86, contrary to the portable one.
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
template <class D>
HWY_INLINE hn::Vec<D> sign(D d, hn::Vec<D> x) {
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, hn::TFromD<D>(1));
  return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), x));
}
template <class D>
HWY_INLINE hn::Vec<D> sqrt(D, hn::Vec<D> x) {
  return hn::Sqrt(x);
}
template <class D>
HWY_INLINE hn::Vec<D> rsqrt(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, hn::TFromD<D>(1)), hn::Sqrt(x));
}
template <class D>
HWY_INLINE hn::Vec<D> floor(D, hn::Vec<D> x) {
  return hn::Floor(x);
}
template <class D>
HWY_INLINE hn::Vec<D> ceil(D, hn::Vec<D> x) {
  return hn::Ceil(x);
}
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
template <class D>
HWY_INLINE hn::Vec<D> floordiv(D, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::Floor(hn::Div(x, y));
}
// The remainder with the sign of y.
template <class D>
HWY_INLINE hn::Vec<D> floormod(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto zero = hn::Zero(d);
  const auto r = truncatemod(d, x, y);
  const auto wrong_side = hn::Xor(hn::VecFromMask(d, hn::Lt(r, zero)), hn::VecFromMask(d, hn::Lt(y, zero)));
  const auto shift = hn::And(hn::MaskFromVec(wrong_side), hn::Ne(r, zero));
  return hn::IfThenElse(shift, hn::Add(r, y), r);
}

}  // namespace vector_math
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
