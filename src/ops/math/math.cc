// Functions of one element: signs, powers, exponential and logarithm, rounding, the error function.
//
// Where a derivative is infinite, TensorFlow's rules say that a cotangent of exactly zero stays zero (sqrt, rsqrt,
// reciprocal), so that `where(x > 0, sqrt(x), 0)` has the gradient 0 at 0. The rules here are special at the singular
// points only; a zero cotangent elsewhere follows the plain rule, whose own derivative second orders need.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/math/math.cc"
#include "src/ops/elementwise-inl.h"

#include "capstan/ops/math.h"
#include "src/ops/math/complex.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/math/math.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct Copy : UnaryOp {
  static constexpr OpText text{"copy", "The element itself: the loop of a broadcast."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<first_operand>;
  FORMULA f(X x) { return x; }
  FORMULA df(X g, X, X) { return g; }
};

struct Abs : UnaryOp {
  static constexpr Compose compose = &detail::call_function<capstan::abs>;
  static constexpr OpText text{"abs", "The absolute value."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<done_before>;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x) { return abs(x); }
  FORMULA df(X g, X x, X) { return g * sign(x); }
};

struct SignOfComplex;
struct Sign : UnaryOp {
  using Complex = SignOfComplex;
  static constexpr OpText text{"sign", "-1, 0 or 1, of complex numbers x / |x|; the gradient of real ones is zero."};
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x) { return sign(x); }
  FORMULA df(X g, X, X) { return zero_of(g); }
};

// A step along the number itself does not turn it: what is left of the cotangent is its part across, divided by |x|.
struct SignOfComplex : Sign {
  FORMULA df(X g, X x, X y) {
    X length = select(x == 0.0, 1.0, x * conj(y));
    X along = g * y;
    return select(x == 0.0, 0.0, (g - 0.5 * conj(y) * (along + conj(along))) / length);
  }
};

struct Negative : UnaryOp {
  using Complex = Negative;
  static constexpr OpText text{"negative", "The number with its sign changed."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<undone>;
  static constexpr Types types = Types::kNumbers;
  static constexpr std::uint16_t flags = kKeepsRowSparse;
  FORMULA f(X x) { return -x; }
  FORMULA df(X g, X, X) { return -g; }
};

struct Square : UnaryOp {
  using Complex = Square;
  static constexpr OpText text{"square", "The square."};
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x) { return x * x; }
  FORMULA df(X g, X x, X) { return 2.0 * g * x; }
};

struct SqrtOfComplex;
struct Sqrt : UnaryOp {
  using Complex = SqrtOfComplex;
  static constexpr OpText text{"sqrt", "The square root."};
  FORMULA f(X x) { return sqrt(x); }
  FORMULA df(X g, X, X y) { return select(g == 0.0 && !(y > 0.0), 0.0, 0.5 * g / y); }
};

struct SqrtOfComplex : Sqrt {
  FORMULA df(X g, X, X y) { return select(g == 0.0 && y == 0.0, 0.0, 0.5 * g / y); }
};

struct Rsqrt : UnaryOp {
  using Complex = Rsqrt;
  static constexpr OpText text{"rsqrt", "One divided by the square root."};
  FORMULA f(X x) { return rsqrt(x); }
  FORMULA df(X g, X, X y) { return select(g == 0.0 && !is_finite(y), 0.0, -0.5 * g * y * y * y); }
};

struct Reciprocal : UnaryOp {
  using Complex = Reciprocal;
  static constexpr OpText text{"reciprocal", "One divided by the number."};
  FORMULA f(X x) { return 1.0 / x; }
  FORMULA df(X g, X, X y) { return select(g == 0.0 && !is_finite(y), 0.0, -g * y * y); }
};

struct Exp : UnaryOp {
  using Complex = Exp;
  static constexpr OpText text{"exp", "The exponential function."};
  FORMULA f(X x) { return exp(x); }
  FORMULA df(X g, X, X y) { return g * y; }
};

struct Expm1 : UnaryOp {
  using Complex = Expm1;
  static constexpr OpText text{"expm1", "The exponential function minus 1, precise near 0."};
  FORMULA f(X x) { return expm1(x); }
  FORMULA df(X g, X x, X) { return g * exp(x); }
};

struct Log : UnaryOp {
  using Complex = Log;
  static constexpr OpText text{"log", "The natural logarithm."};
  FORMULA f(X x) { return log(x); }
  FORMULA df(X g, X x, X) { return g / x; }
};

struct Log1p : UnaryOp {
  using Complex = Log1p;
  static constexpr OpText text{"log1p", "The natural logarithm of 1 + x, precise near 0."};
  FORMULA f(X x) { return log1p(x); }
  FORMULA df(X g, X x, X) { return g / (1.0 + x); }
};

struct Floor : UnaryOp {
  static constexpr OpText text{"floor", "The largest integer that is not larger."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<done_before>;
  static constexpr bool differentiable = false;
  FORMULA f(X x) { return floor(x); }
};

struct Ceil : UnaryOp {
  static constexpr OpText text{"ceil", "The smallest integer that is not smaller."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<done_before>;
  static constexpr bool differentiable = false;
  FORMULA f(X x) { return ceil(x); }
};

struct Round : UnaryOp {
  static constexpr OpText text{"round", "The nearest integer; halves go to the even one."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<done_before>;
  static constexpr Types types = Types::kNumbers;
  static constexpr bool differentiable = false;
  FORMULA f(X x) { return round(x); }
};

struct Rint : UnaryOp {
  static constexpr OpText text{"rint", "The nearest integer; halves go to the even one."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<done_before>;
  static constexpr bool differentiable = false;
  FORMULA f(X x) { return round(x); }
};

struct Erf : UnaryOp {
  static constexpr OpText text{"erf", "The error function."};
  FORMULA f(X x) { return erf(x); }
  FORMULA df(X g, X x, X) {
    // exp(-900) is 0; without the limit the second derivative of an infinity were 0 times infinity.
    X limited = select(abs(x) > 30.0, 30.0, x);
    return 1.1283791670955126 * g * exp(-(limited * limited));
  }
};

struct Erfc : UnaryOp {
  static constexpr OpText text{"erfc", "One minus the error function, precise for large x."};
  FORMULA f(X x) { return erfc(x); }
  FORMULA df(X g, X x, X) { return -1.1283791670955126 * g * exp(-(x * x)); }
};

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kCopy, Copy);
CAPSTAN_ELEMENTWISE(kAbs, Abs);
CAPSTAN_ELEMENTWISE(kSign, Sign);
CAPSTAN_ELEMENTWISE(kNegative, Negative);
CAPSTAN_ELEMENTWISE(kSquare, Square);
CAPSTAN_ELEMENTWISE(kSqrt, Sqrt);
CAPSTAN_ELEMENTWISE(kRsqrt, Rsqrt);
CAPSTAN_ELEMENTWISE(kReciprocal, Reciprocal);
CAPSTAN_ELEMENTWISE(kExp, Exp);
CAPSTAN_ELEMENTWISE(kExpm1, Expm1);
CAPSTAN_ELEMENTWISE(kLog, Log);
CAPSTAN_ELEMENTWISE(kLog1p, Log1p);
CAPSTAN_ELEMENTWISE(kFloor, Floor);
CAPSTAN_ELEMENTWISE(kCeil, Ceil);
CAPSTAN_ELEMENTWISE(kRound, Round);
CAPSTAN_ELEMENTWISE(kRint, Rint);
CAPSTAN_ELEMENTWISE(kErf, Erf);
CAPSTAN_ELEMENTWISE(kErfc, Erfc);

Tensor abs(Operand x) { return is_complex_operand(x) ? complex_abs(x) : apply(kAbs, x); }
Tensor sign(Operand x) { return apply(kSign, x); }
// Of a row-sparse gradient the rows, so that it stays one.
Tensor negative(Operand x) {
  if (x.kind() == Operand::Kind::kLent || x.kind() == Operand::Kind::kGiven) {
    const TensorRef given(x.kind() == Operand::Kind::kLent ? x.lent() : x.given()->block());
    if (given.has_value() && (given.block()->flags & detail::Block::kRowSparse) != 0) {
      const Tensor sparse = to_tensor(x);
      return make_row_sparse(sparse.indices(), apply(kNegative, sparse.values()), sparse.shape());
    }
  }
  return apply(kNegative, x);
}
Tensor square(Operand x) { return apply(kSquare, x); }
Tensor sqrt(Operand x) { return apply(kSqrt, x); }
Tensor rsqrt(Operand x) { return apply(kRsqrt, x); }
Tensor reciprocal(Operand x) { return apply(kReciprocal, x); }
Tensor exp(Operand x) { return apply(kExp, x); }
Tensor expm1(Operand x) { return apply(kExpm1, x); }
Tensor log(Operand x) { return apply(kLog, x); }
Tensor log1p(Operand x) { return apply(kLog1p, x); }
Tensor floor(Operand x) { return apply(kFloor, x); }
Tensor ceil(Operand x) { return apply(kCeil, x); }
Tensor round(Operand x) { return apply(kRound, x); }
Tensor rint(Operand x) { return apply(kRint, x); }
Tensor erf(Operand x) { return apply(kErf, x); }
Tensor erfc(Operand x) { return apply(kErfc, x); }

namespace detail {
Tensor operator-(Operand x) { return negative(x); }
}  // namespace detail

CAPSTAN_OPS(math, &kAbs, &kSign, &kNegative, &kSquare, &kSqrt, &kRsqrt, &kReciprocal, &kExp, &kExpm1, &kLog, &kLog1p,
            &kFloor, &kCeil, &kRound, &kRint, &kErf, &kErfc);

}  // namespace capstan
#endif  // HWY_ONCE
