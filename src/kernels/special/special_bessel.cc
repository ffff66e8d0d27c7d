// Bessel functions of order 0 and 1.
#include <math.h>

#include <cmath>
#include <limits>

#include "src/kernels/special/special_math.h"

namespace capstan::special {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// I of order 0 or 1 at x >= 0, without its factor exp(x) beyond 20 (DLMF 10.25.2 and 10.40.1). All terms of the power
// series are positive; those of the asymptotic one shrink to exp(-2 x).
constexpr double kAsymptotic = 20;

double power_series(int order, double x) {
  const double square = x * x / 4;
  double term = order == 0 ? 1 : x / 2;
  double sum = term;
  for (int k = 1; k < 200 && term > 1e-17 * sum; ++k) {
    term *= square / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

double asymptotic_series(int order, double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    const double odd = 2.0 * k - 1;
    term *= -(4.0 * order - odd * odd) / (8 * k * x);
    sum += term;
  }
  return sum / std::sqrt(2 * kPi * x);
}

double scaled_i(int order, double x) {
  const double size = std::fabs(x);
  if (size == kInfinity) return order == 1 ? std::copysign(0.0, x) : 0;
  const double value =
      size <= kAsymptotic ? power_series(order, size) * std::exp(-size) : asymptotic_series(order, size);
  return order == 1 ? std::copysign(value, x) : value;
}

double plain_i(int order, double x) {
  const double size = std::fabs(x);
  if (size == kInfinity) return order == 1 ? x : size;
  double value = 0;
  if (size <= kAsymptotic) {
    value = power_series(order, size);
  } else {
    // In two steps, because exp(x) overflows before the product does.
    const double half = std::exp(size / 2);
    value = asymptotic_series(order, size) * half * half;
  }
  return order == 1 ? std::copysign(value, x) : value;
}

// K of order 0 or 1 times exp(x). For small x the series of DLMF 10.31.1 and 10.31.2; elsewhere the integral of
// exp(-x (cosh t - 1)) cosh(order t) over t > 0 (DLMF 10.32.9) by the trapezoidal rule, whose error falls
// exponentially with the inverse of the step because the integrand is analytic.
double scaled_k(int order, double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInfinity;
  if (x == kInfinity) return 0;
  if (x < 0.1) {
    const double logarithm = std::log(x / 2) + kEuler;
    const double square = x * x / 4;
    double term = 1;
    double harmonic = 0;
    double sum = 0;
    for (int k = 0; k < 8; ++k) {
      if (k > 0) {
        term *= square / (static_cast<double>(k) * (k + order));
        harmonic += 1.0 / k;
      }
      sum += order == 0 ? term * (harmonic - logarithm) : term * (x / 2) * (logarithm - harmonic - 0.5 / (k + 1));
    }
    return (order == 0 ? sum : 1 / x + sum) * std::exp(x);
  }
  const double step = std::fmin(0.2, 0.65 / std::sqrt(x));
  double sum = 0.5;
  for (int i = 1; i < 1000; ++i) {
    const double t = step * i;
    const double half = std::sinh(t / 2);
    const double exponent = 2 * x * half * half;
    if (exponent > 45) break;
    sum += std::exp(-exponent) * (order == 0 ? 1 : std::cosh(t));
  }
  return step * sum;
}

}  // namespace

double bessel_j0(double x) { return ::j0(x); }
double bessel_j1(double x) { return ::j1(x); }
double bessel_y0(double x) { return x < 0 ? kNan : ::y0(x); }
double bessel_y1(double x) { return x < 0 ? kNan : ::y1(x); }
double bessel_i0(double x) { return plain_i(0, x); }
double bessel_i1(double x) { return plain_i(1, x); }
double bessel_i0e(double x) { return scaled_i(0, x); }
double bessel_i1e(double x) { return scaled_i(1, x); }
double bessel_k0(double x) { return scaled_k(0, x) * std::exp(-x); }
double bessel_k1(double x) { return scaled_k(1, x) * std::exp(-x); }
double bessel_k0e(double x) { return scaled_k(0, x); }
double bessel_k1e(double x) { return scaled_k(1, x); }

}  // namespace capstan::special
