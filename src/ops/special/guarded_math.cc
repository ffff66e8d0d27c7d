// Functions that one could write with other ops, but not without losing range or digits: hypot, logaddexp, sinc, ndtr,
// reciprocal_no_nan.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/special/guarded_math.cc"
#include "src/ops/elementwise-inl.h"

#include "capstan/ops/special.h"
#include "src/ops/family.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct Hypot : BinaryOp {
  static constexpr OpText text{"hypot", "sqrt(x^2 + y^2), without overflow."};
  FORMULA f(X x, X y) {
    X larger = maximum(abs(x), abs(y));
    X smaller = minimum(abs(x), abs(y));
    X ratio = smaller / larger;
    // An infinity wins over anything but a NaN; of two zeros the ratio is NaN.
    return select(larger == 0.0 || is_inf(larger), larger, larger * sqrt(1.0 + ratio * ratio));
  }
  FORMULA da(X g, X x, X, X r) { return select(r == 0.0, 0.0, g * (x / r)); }
  FORMULA db(X g, X, X y, X r) { return select(r == 0.0, 0.0, g * (y / r)); }
};

struct Logaddexp : BinaryOp {
  static constexpr OpText text{"logaddexp", "log(exp(x) + exp(y)), without overflow."};
  FORMULA f(X x, X y) {
    // Of two equal infinities the difference is NaN.
    X distance = select(x == y, 0.0, abs(x - y));
    return maximum(x, y) + log1p(exp(-distance));
  }
  FORMULA da(X g, X x, X y, X) { return g * select(x == y, 0.5, sigmoid(x - y)); }
  FORMULA db(X g, X x, X y, X) { return g * select(x == y, 0.5, sigmoid(y - x)); }
};

struct Sinc : UnaryOp {
  static constexpr OpText text{"sinc", "sin(pi x) / (pi x), and 1 at 0."};
  FORMULA f(X x) {
    X angle = select(x == 0.0, 1.0, 3.141592653589793 * x);
    return select(x == 0.0, 1.0, sin(angle) / angle);
  }
  FORMULA df(X g, X x, X) {
    // Near 0 the quotient would cancel; its series starts with -pi^2 x / 3.
    X small = select(abs(x) < 0.1, x, 0.0);
    X square = 9.869604401089358 * small * small;
    X terms = square * (-2.505210838544172e-08 * 10.0 * square + 2.7557319223985893e-06 * 8.0);
    terms = square * (terms - 0.0001984126984126984 * 6.0) + 0.008333333333333333 * 4.0;
    X series = 9.869604401089358 * small * (square * terms - 0.3333333333333333);
    X large = select(abs(x) < 0.1, 1.0, x);
    X angle = 3.141592653589793 * large;
    X quotient = (cos(angle) - sin(angle) / angle) / large;
    return g * select(abs(x) < 0.1, series, quotient);
  }
};

struct Ndtr : UnaryOp {
  static constexpr OpText text{"ndtr", "The probability that a normal variable is below x."};
  FORMULA f(X x) { return 0.5 * erfc(-0.7071067811865476 * x); }
  FORMULA df(X g, X x, X) { return 0.3989422804014327 * g * exp(-0.5 * x * x); }
};

struct ReciprocalNoNan : UnaryOp {
  static constexpr OpText text{"reciprocal_no_nan", "One divided by the number, and 0 where that is 0."};
  FORMULA f(X x) { return select(x == 0.0, 0.0, 1.0 / select(x == 0.0, 1.0, x)); }
  FORMULA df(X g, X, X y) { return -g * y * y; }
};

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kHypot, Hypot);
CAPSTAN_ELEMENTWISE(kLogaddexp, Logaddexp);
CAPSTAN_ELEMENTWISE(kSinc, Sinc);
CAPSTAN_ELEMENTWISE(kNdtr, Ndtr);
CAPSTAN_ELEMENTWISE(kReciprocalNoNan, ReciprocalNoNan);

Tensor hypot(Operand x, Operand y) { return apply(kHypot, x, y); }
Tensor logaddexp(Operand x, Operand y) { return apply(kLogaddexp, x, y); }
Tensor sinc(Operand x) { return apply(kSinc, x); }
Tensor ndtr(Operand x) { return apply(kNdtr, x); }
Tensor reciprocal_no_nan(Operand x) { return apply(kReciprocalNoNan, x); }

CAPSTAN_OPS(guarded_math, &kHypot, &kLogaddexp, &kSinc, &kNdtr, &kReciprocalNoNan);

}  // namespace capstan
#endif  // HWY_ONCE
