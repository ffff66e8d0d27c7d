#pragma once

#include "capstan/tensor.h"

namespace capstan {

// Functions beyond those of math.h, element by element. float32, float64, bfloat16; operands broadcast. Outside its
// domain a function is NaN. Errors: DTypeError, ShapeError.

/// sqrt(x^2 + y^2), without overflow. The gradient at the origin is 0.
CAPSTAN_EXPORT Tensor hypot(Operand x, Operand y);
/// log(exp(x) + exp(y)), without overflow.
CAPSTAN_EXPORT Tensor logaddexp(Operand x, Operand y);
/// sin(pi x) / (pi x), and 1 at 0.
CAPSTAN_EXPORT Tensor sinc(Operand x);
/// 1 / x, and 0 where x is 0; the gradient there is 0.
CAPSTAN_EXPORT Tensor reciprocal_no_nan(Operand x);
/// The probability that a normal variable is below x.
CAPSTAN_EXPORT Tensor ndtr(Operand x);

// What follows is computed in float64 whatever the dtype, one element after the other, with a relative error below
// 1e-12 before the result is rounded. The formulas are those of the Digital Library of Mathematical Functions,
// dlmf.nist.gov.

/// The logarithm of |gamma(x)|; infinite at 0 and the negative integers.
CAPSTAN_EXPORT Tensor lgamma(Operand x);
/// The derivative of lgamma; NaN at 0 and the negative integers.
CAPSTAN_EXPORT Tensor digamma(Operand x);
/// The n-th derivative of digamma at x, for n = 0, 1, 2, ...; the gradient for n is zero.
CAPSTAN_EXPORT Tensor polygamma(Operand n, Operand x);
/// Hurwitz' zeta function, the sum of (q + k)^-x for k = 0, 1, ...; x has no gradient.
CAPSTAN_EXPORT Tensor zeta(Operand x, Operand q);
/// The logarithm of the beta function of the last axis: the sum of lgamma(x) minus lgamma of the sum of x.
///
///     lbeta(constant({2.0, 3.0}));  // log(1! 2! / 4!)
CAPSTAN_EXPORT Tensor lbeta(Operand x);

/// The lower incomplete gamma function over gamma(a): the integral of t^(a-1) exp(-t) / gamma(a) from 0 to x, for a > 0
/// and x >= 0. Second derivatives exist for x, and of mixed kind, but not for a alone.
CAPSTAN_EXPORT Tensor igamma(Operand a, Operand x);
/// 1 - igamma(a, x), precise where that is small.
CAPSTAN_EXPORT Tensor igammac(Operand a, Operand x);
/// The derivative of igamma for a, itself differentiable for x only.
CAPSTAN_EXPORT Tensor igamma_grad_a(Operand a, Operand x);
/// The derivative for alpha of a gamma sample with that parameter. Not differentiable.
CAPSTAN_EXPORT Tensor random_gamma_grad(Operand alpha, Operand sample);
/// The incomplete beta function over the beta function: the integral of t^(a-1) (1-t)^(b-1) / B(a, b) from 0 to x. a
/// and b have no gradient.
CAPSTAN_EXPORT Tensor betainc(Operand a, Operand b, Operand x);

/// The inverse of erf, infinite at -1 and 1.
CAPSTAN_EXPORT Tensor erfinv(Operand x);
/// The inverse of erfc, infinite at 0 and 2.
CAPSTAN_EXPORT Tensor erfcinv(Operand x);
/// The inverse of ndtr, the quantiles of the normal distribution.
CAPSTAN_EXPORT Tensor ndtri(Operand p);

/// Bessel functions of the first (j) and second (y) kind, and modified ones of the first (i) and second (k) kind, of
/// order 0 and 1. Those that end in e are scaled: i by exp(-|x|), k by exp(x). y and k are infinite at 0 and NaN below.
CAPSTAN_EXPORT Tensor bessel_j0(Operand x);
CAPSTAN_EXPORT Tensor bessel_j1(Operand x);
CAPSTAN_EXPORT Tensor bessel_y0(Operand x);
CAPSTAN_EXPORT Tensor bessel_y1(Operand x);
CAPSTAN_EXPORT Tensor bessel_i0(Operand x);
CAPSTAN_EXPORT Tensor bessel_i1(Operand x);
CAPSTAN_EXPORT Tensor bessel_i0e(Operand x);
CAPSTAN_EXPORT Tensor bessel_i1e(Operand x);
CAPSTAN_EXPORT Tensor bessel_k0(Operand x);
CAPSTAN_EXPORT Tensor bessel_k1(Operand x);
CAPSTAN_EXPORT Tensor bessel_k0e(Operand x);
CAPSTAN_EXPORT Tensor bessel_k1e(Operand x);

/// Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.
CAPSTAN_EXPORT Tensor dawsn(Operand x);
/// The exponential integral Ei(x), the integral of exp(t) / t from -infinity to x; -infinity at 0.
CAPSTAN_EXPORT Tensor expint(Operand x);
/// The integral of log(t) / (1 - t) from 1 to x, for x >= 0.
CAPSTAN_EXPORT Tensor spence(Operand x);
/// The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x.
CAPSTAN_EXPORT Tensor fresnel_cos(Operand x);
CAPSTAN_EXPORT Tensor fresnel_sin(Operand x);

}  // namespace capstan
