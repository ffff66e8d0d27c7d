#pragma once

#include "capstan/tensor.h"

namespace capstan {

// Functions beyond those of math.h, element by element. float32, float64, bfloat16; operands broadcast. Outside its
// domain a function is NaN. Errors: DTypeError, ShapeError.

/// sqrt(x^2 + y^2), without overflow. The gradient at the origin is 0.
///
///     hypot(constant({3.0, 5.0}), constant({4.0, 12.0}));  // [5, 13]
CAPSTAN_EXPORT Tensor hypot(Operand x, Operand y);
/// log(exp(x) + exp(y)), without overflow.
///
///     logaddexp(constant({1000.0}), constant({1000.0}));  // [1000.693]
CAPSTAN_EXPORT Tensor logaddexp(Operand x, Operand y);
/// sin(pi x) / (pi x), and 1 at 0.
///
///     sinc(constant({0.0, 0.5}));  // [1, 0.6366198]
CAPSTAN_EXPORT Tensor sinc(Operand x);
/// 1 / x, and 0 where x is 0; the gradient there is 0.
///
///     reciprocal_no_nan(constant({0.0, 4.0}));  // [0, 0.25]
CAPSTAN_EXPORT Tensor reciprocal_no_nan(Operand x);
/// The probability that a normal variable is below x.
///
///     ndtr(constant({0.0, 1.0}));  // [0.5, 0.8413447]
CAPSTAN_EXPORT Tensor ndtr(Operand x);

// What follows is computed in float64 whatever the dtype, one element after the other, with a relative error below
// 1e-12 before the result is rounded. The formulas are those of the Digital Library of Mathematical Functions,
// dlmf.nist.gov.

/// The logarithm of |gamma(x)|; infinite at 0 and the negative integers.
///
///     lgamma(constant({1.0, 5.0}));  // [0, 3.178054]
CAPSTAN_EXPORT Tensor lgamma(Operand x);
/// The derivative of lgamma; NaN at 0 and the negative integers.
///
///     digamma(constant({1.0, 5.0}));  // [-0.5772157, 1.506118]
CAPSTAN_EXPORT Tensor digamma(Operand x);
/// The n-th derivative of digamma at x, for n = 0, 1, 2, ...; the gradient for n is zero.
///
///     polygamma(1.0, constant({1.0, 5.0}));  // [1.644934, 0.2213229]
CAPSTAN_EXPORT Tensor polygamma(Operand n, Operand x);
/// Hurwitz' zeta function, the sum of (q + k)^-x for k = 0, 1, ...; x has no gradient.
///
///     zeta(2.0, constant({1.0, 2.0}));  // [1.644934, 0.6449341]
CAPSTAN_EXPORT Tensor zeta(Operand x, Operand q);
/// The logarithm of the beta function of the last axis: the sum of lgamma(x) minus lgamma of the sum of x.
///
///     lbeta(constant({2.0, 3.0}));  // log(1! 2! / 4!)
CAPSTAN_EXPORT Tensor lbeta(Operand x);

/// The lower incomplete gamma function over gamma(a): the integral of t^(a-1) exp(-t) / gamma(a) from 0 to x, for a > 0
/// and x >= 0. Second derivatives exist for x, and of mixed kind, but not for a alone.
///
///     igamma(constant({1.0, 2.0}), constant({1.0, 1.0}));  // [0.6321206, 0.2642411]
CAPSTAN_EXPORT Tensor igamma(Operand a, Operand x);
/// 1 - igamma(a, x), precise where that is small.
///
///     igammac(constant({1.0, 2.0}), constant({1.0, 1.0}));  // [0.3678794, 0.7357589]
CAPSTAN_EXPORT Tensor igammac(Operand a, Operand x);
/// The derivative of igamma for a, itself differentiable for x only.
///
///     igamma_grad_a(constant({1.0}), constant({1.0}));  // [-0.4317297]
CAPSTAN_EXPORT Tensor igamma_grad_a(Operand a, Operand x);
/// The derivative for alpha of a gamma sample with that parameter. Not differentiable.
///
///     random_gamma_grad(constant({2.0}), constant({1.5}));  // [0.9366391]
CAPSTAN_EXPORT Tensor random_gamma_grad(Operand alpha, Operand sample);
/// The incomplete beta function over the beta function: the integral of t^(a-1) (1-t)^(b-1) / B(a, b) from 0 to x. a
/// and b have no gradient.
///
///     betainc(2.0, 3.0, constant({0.25, 0.5}));  // [0.2617188, 0.6875]
CAPSTAN_EXPORT Tensor betainc(Operand a, Operand b, Operand x);

/// The inverse of erf, infinite at -1 and 1.
///
///     erfinv(constant({0.0, 0.5}));  // [0, 0.4769363]
CAPSTAN_EXPORT Tensor erfinv(Operand x);
/// The inverse of erfc, infinite at 0 and 2.
///
///     erfcinv(constant({0.5, 1.0}));  // [0.4769363, 0]
CAPSTAN_EXPORT Tensor erfcinv(Operand x);
/// The inverse of ndtr, the quantiles of the normal distribution.
///
///     ndtri(constant({0.5, 0.975}));  // [0, 1.959964]
CAPSTAN_EXPORT Tensor ndtri(Operand p);

/// Bessel functions of the first (j) and second (y) kind, and modified ones of the first (i) and second (k) kind, of
/// order 0 and 1. Those that end in e are scaled: i by exp(-|x|), k by exp(x). y and k are infinite at 0 and NaN below.
///
///     bessel_j0(constant({0.0, 1.0}));  // [1, 0.7651977]
///     bessel_j1(constant({0.0, 1.0}));  // [0, 0.4400506]
///     bessel_y0(constant({1.0, 2.0}));  // [0.08825696, 0.5103757]
///     bessel_y1(constant({1.0, 2.0}));  // [-0.7812128, -0.1070324]
///     bessel_i0(constant({0.0, 1.0}));  // [1, 1.266066]
///     bessel_i1(constant({0.0, 1.0}));  // [0, 0.5651591]
///     bessel_i0e(constant({0.0, 100.0}));  // [1, 0.03994438]
///     bessel_i1e(constant({0.0, 100.0}));  // [0, 0.03974415]
///     bessel_k0(constant({1.0, 2.0}));  // [0.4210244, 0.1138939]
///     bessel_k1(constant({1.0, 2.0}));  // [0.6019073, 0.1398659]
///     bessel_k0e(constant({1.0, 100.0}));  // [1.144463, 0.1251756]
///     bessel_k1e(constant({1.0, 100.0}));  // [1.636154, 0.1257999]
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
///
///     dawsn(constant({0.0, 1.0}));  // [0, 0.5380795]
CAPSTAN_EXPORT Tensor dawsn(Operand x);
/// The exponential integral Ei(x), the integral of exp(t) / t from -infinity to x; -infinity at 0.
///
///     expint(constant({-1.0, 1.0}));  // [-0.2193839, 1.895118]
CAPSTAN_EXPORT Tensor expint(Operand x);
/// The integral of log(t) / (1 - t) from 1 to x, for x >= 0.
///
///     spence(constant({1.0, 2.0}));  // [0, -0.822467]
CAPSTAN_EXPORT Tensor spence(Operand x);
/// The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x.
///
///     fresnel_cos(constant({0.0, 1.0}));  // [0, 0.7798934]
///     fresnel_sin(constant({0.0, 1.0}));  // [0, 0.4382591]
CAPSTAN_EXPORT Tensor fresnel_cos(Operand x);
CAPSTAN_EXPORT Tensor fresnel_sin(Operand x);

}  // namespace capstan
