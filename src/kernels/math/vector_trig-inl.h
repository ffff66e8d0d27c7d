// Sine, cosine, tangent. Included once per instruction set; see vector_math-inl.h.
//
// x = n pi/2 + r with |r| <= pi/4. Pi/2 is given in three parts of full precision. The first
// difference, x - n p1, is exact; what the next ones round away is kept in a second number, so r has
// nearly twice the precision of x. That holds up to kHuge; lanes beyond it, which are rare, call the
// standard library.
#if defined(CAPSTAN_KERNELS_VECTOR_TRIG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_VECTOR_TRIG_INL_H_
#undef CAPSTAN_KERNELS_VECTOR_TRIG_INL_H_
#else
#define CAPSTAN_KERNELS_VECTOR_TRIG_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

#include "src/kernels/math/vector_basic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace vector_math {

template <class D>
struct TrigConstants {
  static constexpr bool kSingle = kIsFloat<D>;
  static constexpr double kRound = kSingle ? 12582912.0 : 6755399441055744.0;
  static constexpr double kHuge = kSingle ? 0x1p17 : 0x1p30;
  static constexpr double kPart1 = kSingle ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0;
  static constexpr double kPart2 = kSingle ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54;
  static constexpr double kPart3 = kSingle ? -0x1.ee59dap-50 : -0x1.f1976b7ed8fbcp-110;
};

// sin(r) and cos(r), and the quadrant n in the low bits of `quadrant`.
template <class D>
struct SineCosine {
  hn::Vec<D> sine, cosine;
  hn::Vec<hn::RebindToUnsigned<D>> quadrant;
};

template <class D>
HWY_INLINE SineCosine<D> sine_cosine(D d, hn::Vec<D> x) {
  using C = TrigConstants<D>;
  const hn::RebindToUnsigned<D> du;
  const auto sum = fma(d, x, set(d, 0.63661977236758134), set(d, C::kRound));
  const auto n = hn::Sub(sum, set(d, C::kRound));
  const auto first = fnma(d, n, set(d, C::kPart1), x);
  const auto product = hn::Mul(n, set(d, C::kPart2));
  const auto product_low = fma(d, n, set(d, C::kPart2), hn::Neg(product));
  const auto second = hn::Sub(first, product);
  // What this difference rounds away, whichever operand is larger (Knuth).
  const auto back = hn::Sub(second, first);
  const auto lost = hn::Sub(hn::Sub(first, hn::Sub(second, back)), hn::Add(product, back));
  const auto third = fnma(d, n, set(d, C::kPart3), hn::Sub(lost, product_low));
  const auto r = hn::Add(second, third);
  const auto low = hn::Add(hn::Sub(second, r), third);

  const auto z = hn::Mul(r, r);
  hn::Vec<D> s;
  hn::Vec<D> c;
  if constexpr (kIsFloat<D>) {
    static constexpr double sines[] = {-0.1666666666, 0.00833333187, -0.0001984008438, 2.724962008e-6};
    static constexpr double cosines[] = {0.04166666465, -0.001388830187, 2.454768977e-5};
    s = polynomial(d, z, sines);
    c = polynomial(d, z, cosines);
  } else {
    static constexpr double sines[] = {-0x1.5555555555555p-3, 0x1.1111111110babp-7,   -0x1.a01a019e820aep-13,
                                       0x1.71de37946ed6dp-19, -0x1.ae6008d114485p-26, 0x1.5e0a4fc16be59p-33};
    static constexpr double cosines[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16963p-10, 0x1.a01a019f4ddfdp-16,
                                         -0x1.27e4fa16cc2d1p-22, 0x1.1eeb67d026ec6p-29,  -0x1.907cd8ff5ede7p-37};
    s = polynomial(d, z, sines);
    c = polynomial(d, z, cosines);
  }
  const auto half = hn::Mul(set(d, 0.5), z);
  const auto top = hn::Sub(set(d, 1), half);
  SineCosine<D> out;
  out.sine = hn::Add(r, fma(d, hn::Mul(r, z), s, hn::Mul(low, top)));
  const auto rest = fnma(d, r, low, hn::Mul(hn::Mul(z, z), c));
  out.cosine = hn::Add(top, hn::Add(hn::Sub(hn::Sub(set(d, 1), top), half), rest));
  out.quadrant = hn::BitCast(du, sum);
  return out;
}

// sin for kShift = 0, cos for kShift = 1: the function in quadrant n is sin in quadrant n + kShift.
template <int kShift, class D>
HWY_INLINE hn::Vec<D> rotated_sine(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  using Bits = hn::TFromD<decltype(du)>;
  const auto both = sine_cosine(d, x);
  const auto quadrant = hn::Add(both.quadrant, hn::Set(du, Bits{kShift}));
  const auto odd = hn::RebindMask(d, hn::TestBit(quadrant, hn::Set(du, Bits{1})));
  const auto value = hn::IfThenElse(odd, both.cosine, both.sine);
  const auto flip = hn::And(hn::ShiftLeft<sizeof(Bits) * 8 - 2>(quadrant), hn::BitCast(du, hn::SignBit(d)));
  return hn::Xor(value, hn::BitCast(d, flip));
}

// `value` where |x| is small enough for it, else function(x).
template <class D>
HWY_INLINE hn::Vec<D> unless_huge(D d, hn::Vec<D> x, hn::Vec<D> value, double (*function)(double)) {
  const auto huge = hn::Gt(hn::Abs(x), set(d, TrigConstants<D>::kHuge));
  if (hn::AllFalse(d, huge)) [[likely]]
    return value;
  return hn::IfThenElse(huge, for_each_lane(d, x, function), value);
}

// sin(x). float32, float64: below 1 ulp.
template <class D>
HWY_INLINE hn::Vec<D> sin(D d, hn::Vec<D> x) {
  const auto value = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, rotated_sine<0>(d, x));
  return unless_huge(d, x, value, std::sin);
}

// cos(x). float32, float64: below 1 ulp.
template <class D>
HWY_INLINE hn::Vec<D> cos(D d, hn::Vec<D> x) {
  return unless_huge(d, x, rotated_sine<1>(d, x), std::cos);
}

// tan(x). float32, float64: below 3 ulp.
template <class D>
HWY_INLINE hn::Vec<D> tan(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  using Bits = hn::TFromD<decltype(du)>;
  const auto both = sine_cosine(d, x);
  const auto odd = hn::RebindMask(d, hn::TestBit(both.quadrant, hn::Set(du, Bits{1})));
  const auto numerator = hn::IfThenElse(odd, hn::Neg(both.cosine), both.sine);
  const auto quotient = hn::Div(numerator, hn::IfThenElse(odd, both.sine, both.cosine));
  const auto value = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, quotient);
  return unless_huge(d, x, value, std::tan);
}

}  // namespace vector_math
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
