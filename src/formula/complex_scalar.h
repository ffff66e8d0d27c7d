// What formulas call, for one complex number; included by formula.h.
//
// Everything is computed in complex128 and rounded once. Only functions that are analytic are here, beside conj and
// sign: a formula that compares, or takes a magnitude, has a form of its own for complex numbers (see
// UnaryOp::Complex).
#pragma once

#include <cmath>
#include <complex>

namespace capstan {

namespace detail {

// exp(z) - 1 = (exp(x) - 1) cos(y) - 2 sin(y / 2)^2 + i exp(x) sin(y), which loses nothing near 0.
inline std::complex<double> complex_expm1(std::complex<double> z) {
  const double half_sine = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half_sine * half_sine,
          std::exp(z.real()) * std::sin(z.imag())};
}

// |1 + z|^2 = 1 + x (2 + x) + y^2; large numbers would overflow there and need no care.
inline std::complex<double> complex_log1p(std::complex<double> z) {
  const double x = z.real();
  const double y = z.imag();
  if (!(std::fabs(x) < 0.5 && std::fabs(y) < 0.5)) return std::log(std::complex<double>(1 + x, y));
  return {0.5 * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
}

inline std::complex<double> complex_sign(std::complex<double> z) {
  return z == 0.0 ? std::complex<double>() : z / std::abs(z);
}

// Of the two forms the one whose exponential does not overflow.
inline std::complex<double> complex_sigmoid(std::complex<double> z) {
  if (z.real() >= 0) return 1.0 / (1.0 + std::exp(-z));
  const std::complex<double> e = std::exp(z);
  return e / (1.0 + e);
}

inline std::complex<double> complex_pow(std::complex<double> x, std::complex<double> y) {
  if (y == 0.0) return 1.0;
  if (x == 0.0) return y.real() > 0 ? std::complex<double>() : std::complex<double>(HUGE_VAL, 0);
  return std::pow(x, y);
}

}  // namespace detail

#define CAPSTAN_COMPLEX_FUNCTION(name, expression)               \
  template <class T>                                             \
  Scalar<std::complex<T>> name(Scalar<std::complex<T>> s) {      \
    const std::complex<double> z(s.v);                           \
    return Scalar<std::complex<T>>(std::complex<T>(expression)); \
  }
CAPSTAN_COMPLEX_FUNCTION(conj, std::conj(z))
CAPSTAN_COMPLEX_FUNCTION(sign, detail::complex_sign(z))
CAPSTAN_COMPLEX_FUNCTION(sqrt, std::sqrt(z))
CAPSTAN_COMPLEX_FUNCTION(rsqrt, 1.0 / std::sqrt(z))
CAPSTAN_COMPLEX_FUNCTION(exp, std::exp(z))
CAPSTAN_COMPLEX_FUNCTION(expm1, detail::complex_expm1(z))
CAPSTAN_COMPLEX_FUNCTION(log, std::log(z))
CAPSTAN_COMPLEX_FUNCTION(log1p, detail::complex_log1p(z))
CAPSTAN_COMPLEX_FUNCTION(sin, std::sin(z))
CAPSTAN_COMPLEX_FUNCTION(cos, std::cos(z))
CAPSTAN_COMPLEX_FUNCTION(tan, std::tan(z))
CAPSTAN_COMPLEX_FUNCTION(asin, std::asin(z))
CAPSTAN_COMPLEX_FUNCTION(acos, std::acos(z))
CAPSTAN_COMPLEX_FUNCTION(atan, std::atan(z))
CAPSTAN_COMPLEX_FUNCTION(sinh, std::sinh(z))
CAPSTAN_COMPLEX_FUNCTION(cosh, std::cosh(z))
CAPSTAN_COMPLEX_FUNCTION(tanh, std::tanh(z))
CAPSTAN_COMPLEX_FUNCTION(asinh, std::asinh(z))
CAPSTAN_COMPLEX_FUNCTION(acosh, std::acosh(z))
CAPSTAN_COMPLEX_FUNCTION(atanh, std::atanh(z))
CAPSTAN_COMPLEX_FUNCTION(sigmoid, detail::complex_sigmoid(z))
#undef CAPSTAN_COMPLEX_FUNCTION

template <class T>
Scalar<std::complex<T>> pow(Scalar<std::complex<T>> x, Scalar<std::complex<T>> y) {
  return Scalar<std::complex<T>>(
      std::complex<T>(detail::complex_pow(std::complex<double>(x.v), std::complex<double>(y.v))));
}
template <class T>
Scalar<bool> is_nan(Scalar<std::complex<T>> x) {
  return Scalar<bool>(std::isnan(x.v.real()) || std::isnan(x.v.imag()));
}
template <class T>
Scalar<bool> is_inf(Scalar<std::complex<T>> x) {
  return Scalar<bool>(std::isinf(x.v.real()) || std::isinf(x.v.imag()));
}
template <class T>
Scalar<bool> is_finite(Scalar<std::complex<T>> x) {
  return Scalar<bool>(std::isfinite(x.v.real()) && std::isfinite(x.v.imag()));
}

}  // namespace capstan
