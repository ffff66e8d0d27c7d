// Special functions: of the gamma family, inverses of the error function, Bessel functions, and some integrals.
//
// They are computed one element after the other (src/kernels/special/special_math.h): no vector code would be much
// faster than their branches and series. So this file is compiled for one target only, and a second derivative costs a
// function call per element like the first.
//
// Orders and parameters that count or that TensorFlow does not differentiate either (n of polygamma, x of zeta, a and b
// of betainc) are cut off from the tape by the public function, so that their gradient is missing and not wrong.
#define HWY_COMPILE_ONLY_SCALAR
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/special/special.cc"
#include "src/ops/elementwise-inl.h"

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/special.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/special/special_formula.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct PortableUnaryOp : UnaryOp {
  static constexpr bool portable = true;
};
struct PortableBinaryOp : BinaryOp {
  static constexpr bool portable = true;
};

struct Lgamma : PortableUnaryOp {
  static constexpr OpText text{"lgamma", "The logarithm of the absolute value of the gamma function."};
  FORMULA f(X x) { return lgamma(x); }
  FORMULA df(X g, X x, X) { return g * digamma(x); }
};

struct Digamma : PortableUnaryOp {
  static constexpr OpText text{"digamma", "The derivative of lgamma."};
  FORMULA f(X x) { return digamma(x); }
  FORMULA df(X g, X x, X) { return g * polygamma(zero_of(x) + 1.0, x); }
};

struct Erfinv : PortableUnaryOp {
  static constexpr OpText text{"erfinv", "The inverse of erf."};
  FORMULA f(X x) { return erfinv(x); }
  FORMULA df(X g, X, X y) { return 0.886226925452758 * g * exp(y * y); }
};

struct Erfcinv : PortableUnaryOp {
  static constexpr OpText text{"erfcinv", "The inverse of erfc."};
  FORMULA f(X x) { return erfcinv(x); }
  FORMULA df(X g, X, X y) { return -0.886226925452758 * g * exp(y * y); }
};

struct Ndtri : PortableUnaryOp {
  static constexpr OpText text{"ndtri", "The inverse of the normal distribution function."};
  FORMULA f(X x) { return ndtri(x); }
  FORMULA df(X g, X, X y) { return 2.5066282746310002 * g * exp(0.5 * y * y); }
};

struct BesselJ0 : PortableUnaryOp {
  static constexpr OpText text{"bessel_j0", "The Bessel function of the first kind of order 0."};
  FORMULA f(X x) { return bessel_j0(x); }
  FORMULA df(X g, X x, X) { return -g * bessel_j1(x); }
};

struct BesselJ1 : PortableUnaryOp {
  static constexpr OpText text{"bessel_j1", "The Bessel function of the first kind of order 1."};
  FORMULA f(X x) { return bessel_j1(x); }
  FORMULA df(X g, X x, X y) { return g * select(x == 0.0, 0.5, bessel_j0(x) - y / x); }
};

struct BesselY0 : PortableUnaryOp {
  static constexpr OpText text{"bessel_y0", "The Bessel function of the second kind of order 0."};
  FORMULA f(X x) { return bessel_y0(x); }
  FORMULA df(X g, X x, X) { return -g * bessel_y1(x); }
};

struct BesselY1 : PortableUnaryOp {
  static constexpr OpText text{"bessel_y1", "The Bessel function of the second kind of order 1."};
  FORMULA f(X x) { return bessel_y1(x); }
  FORMULA df(X g, X x, X y) { return g * (bessel_y0(x) - y / x); }
};

struct BesselI0 : PortableUnaryOp {
  static constexpr OpText text{"bessel_i0", "The modified Bessel function of the first kind of order 0."};
  FORMULA f(X x) { return bessel_i0(x); }
  FORMULA df(X g, X x, X) { return g * bessel_i1(x); }
};

struct BesselI1 : PortableUnaryOp {
  static constexpr OpText text{"bessel_i1", "The modified Bessel function of the first kind of order 1."};
  FORMULA f(X x) { return bessel_i1(x); }
  FORMULA df(X g, X x, X y) { return g * select(x == 0.0, 0.5, bessel_i0(x) - y / x); }
};

struct BesselI0e : PortableUnaryOp {
  static constexpr OpText text{"bessel_i0e", "bessel_i0 times exp(-|x|)."};
  FORMULA f(X x) { return bessel_i0e(x); }
  FORMULA df(X g, X x, X y) { return g * (bessel_i1e(x) - sign(x) * y); }
};

struct BesselI1e : PortableUnaryOp {
  static constexpr OpText text{"bessel_i1e", "bessel_i1 times exp(-|x|)."};
  FORMULA f(X x) { return bessel_i1e(x); }
  FORMULA df(X g, X x, X y) { return g * select(x == 0.0, 0.5, bessel_i0e(x) - y * (sign(x) + 1.0 / x)); }
};

struct BesselK0 : PortableUnaryOp {
  static constexpr OpText text{"bessel_k0", "The modified Bessel function of the second kind of order 0."};
  FORMULA f(X x) { return bessel_k0(x); }
  FORMULA df(X g, X x, X) { return -g * bessel_k1(x); }
};

struct BesselK1 : PortableUnaryOp {
  static constexpr OpText text{"bessel_k1", "The modified Bessel function of the second kind of order 1."};
  FORMULA f(X x) { return bessel_k1(x); }
  FORMULA df(X g, X x, X y) { return -g * (bessel_k0(x) + y / x); }
};

struct BesselK0e : PortableUnaryOp {
  static constexpr OpText text{"bessel_k0e", "bessel_k0 times exp(x)."};
  FORMULA f(X x) { return bessel_k0e(x); }
  FORMULA df(X g, X x, X y) { return g * (y - bessel_k1e(x)); }
};

struct BesselK1e : PortableUnaryOp {
  static constexpr OpText text{"bessel_k1e", "bessel_k1 times exp(x)."};
  FORMULA f(X x) { return bessel_k1e(x); }
  FORMULA df(X g, X x, X y) { return g * (y * (1.0 - 1.0 / x) - bessel_k0e(x)); }
};

struct Dawsn : PortableUnaryOp {
  static constexpr OpText text{"dawsn", "Dawson's integral."};
  FORMULA f(X x) { return dawsn(x); }
  FORMULA df(X g, X x, X y) { return g * (1.0 - 2.0 * x * y); }
};

struct Expint : PortableUnaryOp {
  static constexpr OpText text{"expint", "The exponential integral Ei."};
  FORMULA f(X x) { return expint(x); }
  FORMULA df(X g, X x, X) { return g * exp(x) / x; }
};

struct Spence : PortableUnaryOp {
  static constexpr OpText text{"spence", "The integral of log(t) / (1 - t) from 1 to x."};
  FORMULA f(X x) { return spence(x); }
  FORMULA df(X g, X x, X) { return g * select(x == 1.0, -1.0, log(x) / (1.0 - x)); }
};

struct FresnelCos : PortableUnaryOp {
  static constexpr OpText text{"fresnel_cos", "The integral of cos(pi t^2 / 2) from 0 to x."};
  FORMULA f(X x) { return fresnel_cos(x); }
  FORMULA df(X g, X x, X) { return g * cos(1.5707963267948966 * x * x); }
};

struct FresnelSin : PortableUnaryOp {
  static constexpr OpText text{"fresnel_sin", "The integral of sin(pi t^2 / 2) from 0 to x."};
  FORMULA f(X x) { return fresnel_sin(x); }
  FORMULA df(X g, X x, X) { return g * sin(1.5707963267948966 * x * x); }
};

// The density of the gamma distribution, x^(a-1) exp(-x) / gamma(a); 0^0 is 1.
FORMULA gamma_density(X a, X x) { return exp(select(a == 1.0, 0.0, (a - 1.0) * log(x)) - x - lgamma(a)); }

struct Igamma : PortableBinaryOp {
  static constexpr OpText text{"igamma", "The lower incomplete gamma function, divided by gamma(a)."};
  static constexpr std::string_view input_names = "a, x";
  FORMULA f(X a, X x) { return igamma(a, x); }
  FORMULA da(X g, X a, X x, X) { return g * igamma_grad_a(a, x); }
  FORMULA db(X g, X a, X x, X) { return g * gamma_density(a, x); }
};

struct Igammac : PortableBinaryOp {
  static constexpr OpText text{"igammac", "The upper incomplete gamma function, divided by gamma(a)."};
  static constexpr std::string_view input_names = "a, x";
  FORMULA f(X a, X x) { return igammac(a, x); }
  FORMULA da(X g, X a, X x, X) { return -g * igamma_grad_a(a, x); }
  FORMULA db(X g, X a, X x, X) { return -g * gamma_density(a, x); }
};

struct IgammaGradA : PortableBinaryOp {
  static constexpr OpText text{"igamma_grad_a", "The derivative of igamma for a."};
  static constexpr std::string_view input_names = "a, x";
  static constexpr Compose compose = &detail::call_function<capstan::igamma_grad_a>;
  FORMULA f(X a, X x) { return igamma_grad_a(a, x); }
  FORMULA da(X g, X, X, X) { return zero_of(g); }
  FORMULA db(X g, X a, X x, X) { return g * gamma_density(a, x) * (log(x) - digamma(a)); }
};

struct RandomGammaGrad : PortableBinaryOp {
  static constexpr OpText text{"random_gamma_grad", "The derivative of a gamma sample for its parameter."};
  static constexpr std::string_view input_names = "alpha, sample";
  static constexpr bool differentiable = false;
  FORMULA f(X alpha, X sample) { return random_gamma_grad(alpha, sample); }
};

struct Polygamma : PortableBinaryOp {
  static constexpr OpText text{"polygamma", "The n-th derivative of digamma at x."};
  static constexpr std::string_view input_names = "n, x";
  static constexpr Compose compose = &detail::call_function<capstan::polygamma>;
  FORMULA f(X n, X x) { return polygamma(n, x); }
  FORMULA da(X g, X, X, X) { return zero_of(g); }
  FORMULA db(X g, X n, X x, X) { return g * polygamma(n + 1.0, x); }
};

struct Zeta : PortableBinaryOp {
  static constexpr OpText text{"zeta", "Hurwitz' zeta function."};
  static constexpr std::string_view input_names = "x, q";
  static constexpr Compose compose = &detail::call_function<capstan::zeta>;
  FORMULA f(X x, X q) { return zeta(x, q); }
  FORMULA da(X g, X, X, X) { return zero_of(g); }
  FORMULA db(X g, X x, X q, X) { return -g * x * zeta(x + 1.0, q); }
};

struct Betainc : TernaryOp {
  static constexpr bool portable = true;
  static constexpr OpText text{"betainc", "The incomplete beta function, divided by the beta function."};
  static constexpr std::string_view input_names = "a, b, x";
  static constexpr Compose compose = [](std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
    outputs.push_back(capstan::betainc(inputs[0], inputs[1], inputs[2]));
  };
  FORMULA f(X a, X b, X x) { return betainc(a, b, x); }
  FORMULA da(X g, X, X, X, X) { return zero_of(g); }
  FORMULA db(X g, X, X, X, X) { return zero_of(g); }
  FORMULA dc(X g, X a, X b, X x, X) {
    // 0^0 is 1.
    X left = select(a == 1.0, 0.0, (a - 1.0) * log(x));
    X right = select(b == 1.0, 0.0, (b - 1.0) * log1p(-x));
    return g * exp(left + right + lgamma(a + b) - lgamma(a) - lgamma(b));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_PORTABLE_ELEMENTWISE(kLgamma, Lgamma);
CAPSTAN_PORTABLE_ELEMENTWISE(kDigamma, Digamma);
CAPSTAN_PORTABLE_ELEMENTWISE(kErfinv, Erfinv);
CAPSTAN_PORTABLE_ELEMENTWISE(kErfcinv, Erfcinv);
CAPSTAN_PORTABLE_ELEMENTWISE(kNdtri, Ndtri);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselJ0, BesselJ0);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselJ1, BesselJ1);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselY0, BesselY0);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselY1, BesselY1);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselI0, BesselI0);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselI1, BesselI1);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselI0e, BesselI0e);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselI1e, BesselI1e);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselK0, BesselK0);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselK1, BesselK1);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselK0e, BesselK0e);
CAPSTAN_PORTABLE_ELEMENTWISE(kBesselK1e, BesselK1e);
CAPSTAN_PORTABLE_ELEMENTWISE(kDawsn, Dawsn);
CAPSTAN_PORTABLE_ELEMENTWISE(kExpint, Expint);
CAPSTAN_PORTABLE_ELEMENTWISE(kSpence, Spence);
CAPSTAN_PORTABLE_ELEMENTWISE(kFresnelCos, FresnelCos);
CAPSTAN_PORTABLE_ELEMENTWISE(kFresnelSin, FresnelSin);
CAPSTAN_PORTABLE_ELEMENTWISE(kIgamma, Igamma);
CAPSTAN_PORTABLE_ELEMENTWISE(kIgammac, Igammac);
CAPSTAN_PORTABLE_ELEMENTWISE(kIgammaGradA, IgammaGradA);
CAPSTAN_PORTABLE_ELEMENTWISE(kRandomGammaGrad, RandomGammaGrad);
CAPSTAN_PORTABLE_ELEMENTWISE(kPolygamma, Polygamma);
CAPSTAN_PORTABLE_ELEMENTWISE(kZeta, Zeta);
CAPSTAN_PORTABLE_ELEMENTWISE(kBetainc, Betainc);

// --- lbeta ---

constinit const OpDef kLbeta = composite<&lbeta, "x">("lbeta", "The logarithm of the beta function of the last axis.");

Tensor lbeta(Operand x) {
  return with_errors_of("lbeta", [&] {
    const Tensor values = to_tensor(x);
    return reduce_sum(lgamma(values), -1) - lgamma(reduce_sum(values, -1));
  });
}

namespace {

// What no tape shall connect with the result; a number is never connected.
Tensor cut(Operand x, Operand other) {
  if (!x.is_literal()) return stop_gradient(x);
  return other.is_literal() ? to_tensor(x) : to_tensor(x, to_tensor(other).dtype());
}

}  // namespace

Tensor lgamma(Operand x) { return apply(kLgamma, x); }
Tensor digamma(Operand x) { return apply(kDigamma, x); }
Tensor erfinv(Operand x) { return apply(kErfinv, x); }
Tensor erfcinv(Operand x) { return apply(kErfcinv, x); }
Tensor ndtri(Operand p) { return apply(kNdtri, p); }
Tensor bessel_j0(Operand x) { return apply(kBesselJ0, x); }
Tensor bessel_j1(Operand x) { return apply(kBesselJ1, x); }
Tensor bessel_y0(Operand x) { return apply(kBesselY0, x); }
Tensor bessel_y1(Operand x) { return apply(kBesselY1, x); }
Tensor bessel_i0(Operand x) { return apply(kBesselI0, x); }
Tensor bessel_i1(Operand x) { return apply(kBesselI1, x); }
Tensor bessel_i0e(Operand x) { return apply(kBesselI0e, x); }
Tensor bessel_i1e(Operand x) { return apply(kBesselI1e, x); }
Tensor bessel_k0(Operand x) { return apply(kBesselK0, x); }
Tensor bessel_k1(Operand x) { return apply(kBesselK1, x); }
Tensor bessel_k0e(Operand x) { return apply(kBesselK0e, x); }
Tensor bessel_k1e(Operand x) { return apply(kBesselK1e, x); }
Tensor dawsn(Operand x) { return apply(kDawsn, x); }
Tensor expint(Operand x) { return apply(kExpint, x); }
Tensor spence(Operand x) { return apply(kSpence, x); }
Tensor fresnel_cos(Operand x) { return apply(kFresnelCos, x); }
Tensor fresnel_sin(Operand x) { return apply(kFresnelSin, x); }
Tensor igamma(Operand a, Operand x) { return apply(kIgamma, a, x); }
Tensor igammac(Operand a, Operand x) { return apply(kIgammac, a, x); }
Tensor random_gamma_grad(Operand alpha, Operand sample) { return apply(kRandomGammaGrad, alpha, sample); }
Tensor igamma_grad_a(Operand a, Operand x) try {
  const Tensor fixed = cut(a, x);
  return apply(kIgammaGradA, fixed, x);
} catch (const Error&) {
  rethrow_as("igamma_grad_a");
}
Tensor polygamma(Operand n, Operand x) try {
  const Tensor count = cut(n, x);
  return apply(kPolygamma, count, x);
} catch (const Error&) {
  rethrow_as("polygamma");
}
Tensor zeta(Operand x, Operand q) try {
  const Tensor fixed = cut(x, q);
  return apply(kZeta, fixed, q);
} catch (const Error&) {
  rethrow_as("zeta");
}
Tensor betainc(Operand a, Operand b, Operand x) try {
  const Tensor first = cut(a, x);
  const Tensor second = cut(b, x);
  return apply(kBetainc, first, second, x);
} catch (const Error&) {
  rethrow_as("betainc");
}

CAPSTAN_OPS(special, &kLgamma, &kDigamma, &kErfinv, &kErfcinv, &kNdtri, &kBesselJ0, &kBesselJ1, &kBesselY0, &kBesselY1,
            &kBesselI0, &kBesselI1, &kBesselI0e, &kBesselI1e, &kBesselK0, &kBesselK1, &kBesselK0e, &kBesselK1e, &kDawsn,
            &kExpint, &kSpence, &kFresnelCos, &kFresnelSin, &kIgamma, &kIgammac, &kIgammaGradA, &kRandomGammaGrad,
            &kPolygamma, &kZeta, &kBetainc, &kLbeta);

}  // namespace capstan
#endif  // HWY_ONCE
