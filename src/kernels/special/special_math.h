// Special functions of numbers, in float64: what the ops of src/ops/special/special.cc compute for each element.
//
// The formulas are those of the Digital Library of Mathematical Functions (dlmf.nist.gov); each function says which.
// Relative errors are below 1e-12 where nothing else is said. NaN gives NaN; so do arguments outside a domain.
#pragma once

namespace capstan::special {

// --- The gamma function (special_gamma.cc) ---

// log|gamma(x)|; unlike std::lgamma it writes no global sign, so that several threads may call it.
double lgamma(double x);
// The derivative of lgamma. NaN at zero and at the negative integers.
double digamma(double x);
// The n-th derivative of digamma, n = 0, 1, 2, ...; NaN for any other n. Relative error below 1e-13 for x > 0 and
// n < 20.
double polygamma(double n, double x);
// Hurwitz' zeta function, the sum of (q + k)^-s for k = 0, 1, ...: infinite for s = 1 and for q = 0, -1, ...; NaN for
// s < 1, and for q < 0 unless s is an integer.
double zeta(double s, double q);
// log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2 for x >= 10.
double stirling_correction(double x);
// log(1 + x) - x, precise near 0.
double log1p_minus(double x);

// --- Incomplete integrals of the gamma and beta functions (special_incomplete.cc) ---

// P(a, x), the integral of t^(a-1) exp(-t) / gamma(a) from 0 to x, and Q = 1 - P; NaN for a <= 0 or x < 0.
double igamma(double a, double x);
double igammac(double a, double x);
// The derivative of igamma for a.
double igamma_grad_a(double a, double x);
// The derivative of x for a where igamma(a, x) is constant: that of a gamma sample for its parameter.
double random_gamma_grad(double a, double x);
// I_x(a, b), the integral of t^(a-1) (1-t)^(b-1) / B(a, b) from 0 to x; NaN for a <= 0, b <= 0 or x outside [0, 1].
double betainc(double a, double b, double x);
// log(B(a, b)) for a, b > 0.
double log_beta(double a, double b);

// --- Inverses and integrals of the normal density (special_normal.cc) ---

// The inverses of erf, erfc and the normal distribution function; infinite at the ends of the domain.
double erfinv(double x);
double erfcinv(double x);
double ndtri(double p);
// Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x.
double dawsn(double x);
// The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x. Absolute error below 1e-13.
double fresnel_cos(double x);
double fresnel_sin(double x);

// --- Logarithmic integrals (special_normal.cc) ---

// Ei(x), the principal value of the integral of exp(t) / t from -infinity to x; -infinity at 0.
double expint(double x);
// The integral of log(t) / (1 - t) from 1 to x; NaN for x < 0.
double spence(double x);

// --- Bessel functions (special_bessel.cc) ---

// Of the first and second kind; absolute error of some 1e-16 near their zeros.
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
// Modified ones; those with an e are scaled by exp(-|x|) and exp(x).
double bessel_i0(double x);
double bessel_i1(double x);
double bessel_i0e(double x);
double bessel_i1e(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double bessel_k0e(double x);
double bessel_k1e(double x);

}  // namespace capstan::special
