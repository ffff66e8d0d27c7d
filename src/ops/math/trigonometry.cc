// Trigonometric and hyperbolic functions and their inverses.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/math/trigonometry.cc"
#include "src/ops/elementwise-inl.h"

#include "capstan/ops/math.h"
#include "src/ops/family.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct Sin : UnaryOp {
  using Complex = Sin;
  static constexpr OpText text{"sin", "The sine of an angle in radians."};
  FORMULA f(X x) { return sin(x); }
  FORMULA df(X g, X x, X) { return g * cos(x); }
};

struct Cos : UnaryOp {
  using Complex = Cos;
  static constexpr OpText text{"cos", "The cosine of an angle in radians."};
  FORMULA f(X x) { return cos(x); }
  FORMULA df(X g, X x, X) { return -g * sin(x); }
};

struct Tan : UnaryOp {
  using Complex = Tan;
  static constexpr OpText text{"tan", "The tangent of an angle in radians."};
  FORMULA f(X x) { return tan(x); }
  FORMULA df(X g, X, X y) { return g * (1.0 + y * y); }
};

struct Asin : UnaryOp {
  using Complex = Asin;
  static constexpr OpText text{"asin", "The angle from -pi/2 to pi/2 whose sine is x."};
  FORMULA f(X x) { return asin(x); }
  FORMULA df(X g, X x, X) { return g / sqrt(1.0 - x * x); }
};

struct Acos : UnaryOp {
  using Complex = Acos;
  static constexpr OpText text{"acos", "The angle from 0 to pi whose cosine is x."};
  FORMULA f(X x) { return acos(x); }
  FORMULA df(X g, X x, X) { return -g / sqrt(1.0 - x * x); }
};

struct Atan : UnaryOp {
  using Complex = Atan;
  static constexpr OpText text{"atan", "The angle from -pi/2 to pi/2 whose tangent is x."};
  FORMULA f(X x) { return atan(x); }
  FORMULA df(X g, X x, X) { return g / (1.0 + x * x); }
};

struct Sinh : UnaryOp {
  using Complex = Sinh;
  static constexpr OpText text{"sinh", "The hyperbolic sine."};
  FORMULA f(X x) { return sinh(x); }
  FORMULA df(X g, X x, X) { return g * cosh(x); }
};

struct Cosh : UnaryOp {
  using Complex = Cosh;
  static constexpr OpText text{"cosh", "The hyperbolic cosine."};
  FORMULA f(X x) { return cosh(x); }
  FORMULA df(X g, X x, X) { return g * sinh(x); }
};

struct Tanh : UnaryOp {
  using Complex = Tanh;
  static constexpr OpText text{"tanh", "The hyperbolic tangent."};
  FORMULA f(X x) { return tanh(x); }
  FORMULA df(X g, X, X y) { return g * (1.0 - y * y); }
};

struct Asinh : UnaryOp {
  using Complex = Asinh;
  static constexpr OpText text{"asinh", "The inverse of sinh."};
  FORMULA f(X x) { return asinh(x); }
  FORMULA df(X g, X x, X) { return g / sqrt(x * x + 1.0); }
};

struct Acosh : UnaryOp {
  using Complex = Acosh;
  static constexpr OpText text{"acosh", "The inverse of cosh, for x of at least 1."};
  FORMULA f(X x) { return acosh(x); }
  FORMULA df(X g, X, X y) { return g / sinh(y); }
};

struct Atanh : UnaryOp {
  using Complex = Atanh;
  static constexpr OpText text{"atanh", "The inverse of tanh, for x from -1 to 1."};
  FORMULA f(X x) { return atanh(x); }
  FORMULA df(X g, X x, X) { return g / (1.0 - x * x); }
};

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kSin, Sin);
CAPSTAN_ELEMENTWISE(kCos, Cos);
CAPSTAN_ELEMENTWISE(kTan, Tan);
CAPSTAN_ELEMENTWISE(kAsin, Asin);
CAPSTAN_ELEMENTWISE(kAcos, Acos);
CAPSTAN_ELEMENTWISE(kAtan, Atan);
CAPSTAN_ELEMENTWISE(kSinh, Sinh);
CAPSTAN_ELEMENTWISE(kCosh, Cosh);
CAPSTAN_ELEMENTWISE(kTanh, Tanh);
CAPSTAN_ELEMENTWISE(kAsinh, Asinh);
CAPSTAN_ELEMENTWISE(kAcosh, Acosh);
CAPSTAN_ELEMENTWISE(kAtanh, Atanh);

Tensor sin(Operand x) { return apply(kSin, x); }
Tensor cos(Operand x) { return apply(kCos, x); }
Tensor tan(Operand x) { return apply(kTan, x); }
Tensor asin(Operand x) { return apply(kAsin, x); }
Tensor acos(Operand x) { return apply(kAcos, x); }
Tensor atan(Operand x) { return apply(kAtan, x); }
Tensor sinh(Operand x) { return apply(kSinh, x); }
Tensor cosh(Operand x) { return apply(kCosh, x); }
Tensor tanh(Operand x) { return apply(kTanh, x); }
Tensor asinh(Operand x) { return apply(kAsinh, x); }
Tensor acosh(Operand x) { return apply(kAcosh, x); }
Tensor atanh(Operand x) { return apply(kAtanh, x); }

CAPSTAN_OPS(trigonometry, &kSin, &kCos, &kTan, &kAsin, &kAcos, &kAtan, &kSinh, &kCosh, &kTanh, &kAsinh, &kAcosh,
            &kAtanh);

}  // namespace capstan
#endif  // HWY_ONCE
