// Inverses of the error function, and integrals of exponentials and logarithms.
#include <cmath>
#include <complex>
#include <limits>

#include "src/kernels/special/special_math.h"

namespace capstan::special {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfRootPi = 0.88622692545275801365;

// The y > 0 with erf(y) = x, 0 <= x <= 0.5, by Halley's iteration from the first terms of the series.
double inverse_near_zero(double x) {
  const double square = x * x * kPi;
  double y = kHalfRootPi * x * (1 + square * (1.0 / 12 + square * (7.0 / 480 + square * (127.0 / 40320))));
  for (int i = 0; i < 3; ++i) {
    const double step = (std::erf(y) - x) * kHalfRootPi * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return y;
}

// The y > 0 with erfc(y) = q, 0 < q <= 0.5. The start solves the leading term of the asymptotic series; Halley's
// iteration on log(erfc) converges from there for any q.
double inverse_of_tail(double q) {
  const double size = -std::log(q);
  double y = std::sqrt(size);
  for (int i = 0; i < 3; ++i) y = std::sqrt(std::fmax(0.1, size - std::log(2 * kHalfRootPi * y)));
  for (int i = 0; i < 5; ++i) {
    // erfc(y) / erfc'(y), whose two exponentials would leave the range one by one.
    const double half = std::exp(y * y / 2);
    const double tail = std::erfc(y);
    if (tail == 0) break;
    const double slope = tail * half * half * kHalfRootPi;
    const double step = (q / tail - 1) * slope;
    y -= step / (1 + y * step);
    if (std::fabs(step) < 1e-9 * y) break;
  }
  return y;
}

}  // namespace

double erfinv(double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  if (std::fabs(x) == 1) return x * kInfinity;
  const double size = std::fabs(x);
  return std::copysign(size <= 0.5 ? inverse_near_zero(size) : inverse_of_tail(1 - size), x);
}

double erfcinv(double x) {
  if (!(x >= 0 && x <= 2)) return kNan;
  if (x == 0) return kInfinity;
  if (x == 2) return -kInfinity;
  if (x < 0.5) return inverse_of_tail(x);
  if (x > 1.5) return -inverse_of_tail(2 - x);
  return erfinv(1 - x);
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  constexpr double kRoot2 = 1.41421356237309504880;
  // Both 2 p and 2 p - 1 are exact where they are used.
  if (p < 0.25) return -kRoot2 * erfcinv(2 * p);
  if (p > 0.75) return kRoot2 * erfcinv(2 * (1 - p));
  return kRoot2 * erfinv(2 * p - 1);
}

double dawsn(double x) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  if (size < 0.2) {
    // The series of DLMF 7.6.2.
    double term = x;
    double sum = x;
    for (int k = 1; k < 12; ++k) {
      term *= -2 * x * x / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (size > 1e8) return 0.5 / x;
  // Rybicki's sum of exp(-(x - n h)^2) / n over odd n, whose error is exp(-(pi / 2 h)^2).
  constexpr double h = 0.2;
  const double middle = 2 * std::round(size / (2 * h));
  const double rest = size - middle * h;
  double sum = 0;
  for (int k = -33; k <= 33; k += 2) {
    const double distance = rest - k * h;
    sum += std::exp(-distance * distance) / (middle + k);
  }
  return std::copysign(sum / std::sqrt(kPi), x);
}

namespace {

// C(x) + i S(x) for x >= 0: the power series of DLMF 7.6.4 and 7.6.6, and beyond it the continued fraction of
// erfc((1 - i) sqrt(pi) x / 2) (DLMF 7.9.2 and 7.5.8).
std::complex<double> fresnel(double x) {
  if (x < 1.6) {
    const double angle = kPi / 2 * x * x;
    double term = x;
    std::complex<double> sum(x, 0);
    for (int k = 1; k < 60 && std::fabs(term) > 1e-18 * x; ++k) {
      term *= angle / k;
      const double part = term / (2 * k + 1);
      switch (k % 4) {
        case 0:
          sum += std::complex<double>(part, 0);
          break;
        case 1:
          sum += std::complex<double>(0, part);
          break;
        case 2:
          sum -= std::complex<double>(part, 0);
          break;
        default:
          sum -= std::complex<double>(0, part);
      }
    }
    return sum;
  }
  if (x > 1e9) return {0.5, 0.5};
  // Lentz' evaluation of 1 / (z^2 + 1 - 1 2 / (z^2 + 5 - 3 4 / (z^2 + 9 - ...))), with 2 z^2 = -i pi x^2.
  using Complex = std::complex<double>;
  Complex b(1, -kPi * x * x);
  Complex c = 1e300;
  Complex d = 1.0 / b;
  Complex h = d;
  for (int k = 1; k < 400; ++k) {
    const double a = -(2.0 * k - 1) * (2.0 * k);
    b += 4;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const Complex change = c * d;
    h *= change;
    if (std::fabs(change.real() - 1) + std::fabs(change.imag()) < 1e-16) break;
  }
  // The angle modulo a turn, from the fraction of x^2 / 4.
  const double square = x * x;
  const double lost = std::fma(x, x, -square);
  const double turn = kPi / 2 * (std::fmod(square, 4) + lost);
  const Complex wave(std::cos(turn), std::sin(turn));
  return Complex(0.5, 0.5) * (1.0 - wave * Complex(x, -x) * h);
}

}  // namespace

double fresnel_cos(double x) { return std::isnan(x) ? x : std::copysign(fresnel(std::fabs(x)).real(), x); }
double fresnel_sin(double x) { return std::isnan(x) ? x : std::copysign(fresnel(std::fabs(x)).imag(), x); }

double expint(double x) {
  if (std::isnan(x)) return x;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  if (x < -1) {
    // -E1(-x) by its continued fraction (DLMF 6.9.1).
    const double z = -x;
    if (z > 750) return -0.0;
    double b = z + 1;
    double c = 1e300;
    double d = 1 / b;
    double h = d;
    for (int k = 1; k < 500; ++k) {
      const double a = -static_cast<double>(k) * k;
      b += 2;
      d = 1 / (a * d + b);
      c = b + a / c;
      h *= c * d;
      if (std::fabs(c * d - 1) < 1e-16) break;
    }
    return -h * std::exp(-z);
  }
  if (x < 40) {
    // DLMF 6.6.1; near the root at 0.3725 the error is absolute.
    double term = 1;
    double sum = 0;
    for (int k = 1; k < 200; ++k) {
      term *= x / k;
      sum += term / k;
      if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
    }
    return kEuler + std::log(std::fabs(x)) + sum;
  }
  // The asymptotic series of DLMF 6.12.2, whose terms shrink to exp(-x).
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    term *= k / x;
    sum += term;
  }
  const double half = std::exp(x / 2);
  return half * (half / x) * sum;
}

namespace {

// Li2(z) for -1 <= z <= 0.5 by the series in u = -log(1 - z) with Bernoulli numbers (DLMF 25.12, Cohen, Lewin, Zagier).
double dilogarithm(double z) {
  const double u = -std::log1p(-z);
  constexpr double coefficients[] = {1.0 / 36,
                                     -1.0 / 3600,
                                     1.0 / 211680,
                                     -1.0 / 10886400,
                                     1.0 / 526901760,
                                     -4.0647616451442255e-11,
                                     8.9216910204564526e-13,
                                     -1.9939295860721076e-14,
                                     4.5189800296199182e-16,
                                     -1.0356517612181247e-17};
  const double square = u * u;
  double sum = 0;
  for (int k = 9; k >= 0; --k) sum = (sum + coefficients[k]) * square;
  return u * (1 - u / 4 + sum);
}

}  // namespace

double spence(double x) {
  if (!(x >= 0)) return kNan;
  if (x == kInfinity) return -kInfinity;
  constexpr double kSquare = kPi * kPi / 6;
  // spence(x) = Li2(1 - x), moved to where the series converges fast.
  if (x > 2) {
    const double logarithm = std::log(x);
    return -0.5 * logarithm * logarithm - spence(1 / x);
  }
  if (x < 0.5) return x == 0 ? kSquare : kSquare - std::log(x) * std::log1p(-x) - dilogarithm(x);
  return dilogarithm(1 - x);
}

}  // namespace capstan::special
