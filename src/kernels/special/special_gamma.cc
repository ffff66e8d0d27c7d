// The gamma function's logarithm, its derivatives, and the zeta function.
//
// Digamma and its derivatives follow the usual road: a recurrence moves the argument to where the asymptotic series
// converges to full precision, and negative arguments are reflected.
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include "src/kernels/special/special_math.h"

namespace capstan::special {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bernoulli numbers B2, B4, ..., B24.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                 5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

bool is_integer(double x) { return x == std::floor(x); }

// Hurwitz' zeta function for s > 1, x > 0, by the formula of Euler and Maclaurin.
double hurwitz_zeta(double s, double x) {
  double sum = 0;
  double a = x;
  while (a < 10) {
    sum += std::pow(a, -s);
    a += 1;
  }
  const double power = std::pow(a, -s);
  sum += power * a / (s - 1) + 0.5 * power;
  double factor = s / 2;
  double scale = power / a;
  for (std::size_t k = 0; k < std::size(kBernoulli); ++k) {
    const double order = 2.0 * static_cast<double>(k);
    const double term = kBernoulli[k] * factor * scale;
    sum += term;
    if (std::fabs(term) <= 1e-17 * std::fabs(sum)) break;
    factor *= (s + order + 1) * (s + order + 2);
    scale /= a * a;
    // The coefficient is B / (order + 2)!; the factorial is divided out step by step.
    factor /= (order + 3) * (order + 4);
  }
  return sum;
}

// The n-th derivative of pi / tan(pi x): a polynomial in c = 1 / tan(pi x), because c' = -pi (1 + c^2).
double cotangent_derivative(int n, double x) {
  constexpr int kMaxOrder = 40;
  if (n > kMaxOrder) return kNan;
  double coefficients[kMaxOrder + 3] = {};
  coefficients[1] = kPi;
  for (int order = 1; order <= n; ++order) {
    double next[kMaxOrder + 3] = {};
    for (int k = 1; k <= order; ++k) {
      const double slope = -kPi * k * coefficients[k];
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    for (int k = 0; k <= order + 1; ++k) coefficients[k] = next[k];
  }
  const double c = 1 / std::tan(kPi * (x - std::round(x)));
  double value = 0;
  for (int k = n + 1; k >= 0; --k) value = value * c + coefficients[k];
  return value;
}

}  // namespace

double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x == -kInfinity) return kNan;
  if (x <= 0) {
    if (is_integer(x)) return kNan;
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  double sum = 0;
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  const double inverse_square = 1 / (x * x);
  double series = 0;
  for (std::size_t k = 8; k-- > 0;) {
    series = (series + kBernoulli[k] / (2.0 * static_cast<double>(k + 1))) * inverse_square;
  }
  return sum + std::log(x) - 0.5 / x - series;
}

double polygamma(double n, double x) {
  if (std::isnan(n) || std::isnan(x) || n < 0 || !is_integer(n) || n > 170) return kNan;
  if (n == 0) return digamma(x);
  if (x == kInfinity) return 0;
  if (x == -kInfinity) return kNan;
  const int order = static_cast<int>(n);
  const double sign = order % 2 == 1 ? 1 : -1;
  if (x <= 0) {
    if (is_integer(x)) return order % 2 == 1 ? kInfinity : kNan;
    // psi_n(1 - x) (-1)^n - psi_n(x) is the n-th derivative of pi / tan(pi x).
    return -sign * polygamma(n, 1 - x) - cotangent_derivative(order, x);
  }
  return sign * std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
}

double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNan;
  if (s == 1) return kInfinity;
  if (q == kInfinity) return 0;
  if (q > 0) return hurwitz_zeta(s, q);
  if (is_integer(q)) return kInfinity;
  if (q == -kInfinity || !is_integer(s)) return kNan;
  // The terms of negative numbers are those of a sum that runs the other way and ends.
  const double count = std::ceil(-q);
  const double rest = q + count;
  const double sign = std::fmod(s, 2) == 0 ? 1 : -1;
  return sign * (hurwitz_zeta(s, 1 - rest) - hurwitz_zeta(s, 1 - rest + count)) + hurwitz_zeta(s, rest);
}

double stirling_correction(double x) {
  const double r = 1 / (x * x);
  double sum = 0;
  for (std::size_t k = 7; k-- > 0;) {
    const double order = 2.0 * static_cast<double>(k + 1);
    sum = sum * r + kBernoulli[k] / (order * (order - 1));
  }
  return sum / x;
}

double log1p_minus(double x) {
  if (!(std::fabs(x) < 0.5)) return std::log1p(x) - x;
  // 2 atanh(r) - x with r = x / (2 + x), where the leading terms cancel by themselves.
  const double r = x / (2 + x);
  const double square = r * r;
  double sum = 0;
  for (int k = 18; k >= 0; --k) sum = sum * square + 1.0 / (2 * k + 3);
  return r * (2 * square * sum - x);
}

}  // namespace capstan::special
