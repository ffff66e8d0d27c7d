// The incomplete gamma and beta functions, and their derivatives for a parameter.
//
// For the gamma function there are three regions: a power series where x is below a + 1, a continued fraction above
// (DLMF 8.7.1 and 8.9.2), and for very large a, where both take about sqrt(a) steps, Temme's expansion in the error
// function (DLMF 8.12). The derivative for a is that of each of these, carried along in dual numbers; it is not a
// difference, whose digits would cancel. The beta function takes the continued fraction of DLMF 8.17.22.
#include <cmath>
#include <initializer_list>
#include <limits>

#include "src/kernels/special/special_math.h"

namespace capstan::special {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-300;

// A number and its derivative for a.
struct Dual {
  double value = 0;
  double slope = 0;
};
Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
Dual operator*(Dual x, Dual y) { return {x.value * y.value, x.slope * y.value + x.value * y.slope}; }
Dual operator/(Dual x, Dual y) {
  const double value = x.value / y.value;
  return {value, (x.slope - value * y.slope) / y.value};
}

// From here on Temme's expansion has the better digits, and the others take too many steps.
constexpr double kLargeA = 1e6;
constexpr int kMostSteps = 20000;

// x^a exp(-x) / gamma(a + 1).
double power_over_gamma(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - lgamma(a + 1));
  return std::exp(a * log1p_minus((x - a) / a) - stirling_correction(a)) / std::sqrt(2 * kPi * a);
}

// P(a, x) / power_over_gamma, by the power series; its slope leaves the factor out of the derivative.
Dual lower_series(double a, double x) {
  Dual term{1, 0};
  Dual sum = term;
  for (int n = 1; n < kMostSteps; ++n) {
    const double ratio = x / (a + n);
    term = term * Dual{ratio, -ratio / (a + n)};
    sum = sum + term;
    if (term.value <= 1e-17 * sum.value && -term.slope <= 1e-17 * -sum.slope) break;
  }
  return sum;
}

// Q(a, x) / (a power_over_gamma), by the continued fraction.
Dual upper_fraction(double a, double x) {
  Dual b{x + 1 - a, -1};
  Dual c{1 / kTiny, 0};
  Dual d = Dual{1, 0} / b;
  Dual h = d;
  for (int i = 1; i < kMostSteps; ++i) {
    const double step = i;
    const Dual factor{-step * (step - a), step};
    b.value += 2;
    d = factor * d + b;
    if (std::fabs(d.value) < kTiny) d.value = kTiny;
    c = b + factor / c;
    if (std::fabs(c.value) < kTiny) c.value = kTiny;
    d = Dual{1, 0} / d;
    const Dual change = c * d;
    h = h * change;
    if (std::fabs(change.value - 1) < 1e-16 && std::fabs(change.slope) < 1e-16 * std::fabs(h.slope / h.value)) break;
  }
  return h;
}

// Temme's expansion.
struct Uniform {
  double eta;         // with eta^2 / 2 = lambda - 1 - log(lambda), lambda = x / a
  double ratio;       // (lambda - 1) / eta
  double first;       // the coefficient of the leading correction, a polynomial in eta
  double slope;       // its derivative for eta
  double density;     // exp(-a eta^2 / 2) / sqrt(2 pi a)
  double correction;  // of Q
};

Uniform uniform(double a, double x) {
  const double mu = (x - a) / a;
  Uniform u;
  u.eta = std::copysign(std::sqrt(std::fmax(0.0, -2 * log1p_minus(mu))), mu);
  u.ratio = std::fabs(u.eta) < 1e-5 ? 1 + u.eta / 3 : mu / u.eta;
  constexpr double c[] = {-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -139.0 / 777600, 1.0 / 25515};
  u.first = 0;
  u.slope = 0;
  if (std::fabs(u.eta) < 0.2) {
    for (int k = 6; k >= 0; --k) {
      u.slope = u.slope * u.eta + u.first;
      u.first = u.first * u.eta + c[k];
    }
  } else {
    u.first = 1 / mu - 1 / u.eta;
    u.slope = 1 / (u.eta * u.eta) - u.eta * (1 + mu) / (mu * mu * mu);
  }
  u.density = std::exp(-a * u.eta * u.eta / 2) / std::sqrt(2 * kPi * a);
  u.correction = u.density * (u.first - 1 / (540 * a));
  return u;
}

// Q for small a and x, where 1 - P would cancel: the series of gamma(a) - gamma(a, x) without its first term.
double upper_near_zero(double a, double x) {
  const double logarithm = a * std::log(x) - lgamma(a + 1);
  double term = 1;
  double sum = 0;
  for (int n = 1; n < 100; ++n) {
    term *= -x / n;
    sum += term * a / (a + n);
    if (std::fabs(term) < 1e-18) break;
  }
  return -std::expm1(logarithm) - std::exp(logarithm) * sum;
}

bool outside(double a, double x) { return !(a > 0 && x >= 0); }

}  // namespace

double igamma(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == 0 || a == kInfinity) return 0;
  if (x == kInfinity) return 1;
  if (a > kLargeA) {
    const Uniform u = uniform(a, x);
    return 0.5 * std::erfc(-u.eta * std::sqrt(a / 2)) - u.correction;
  }
  if (x < a + 1) return power_over_gamma(a, x) * lower_series(a, x).value;
  return 1 - a * power_over_gamma(a, x) * upper_fraction(a, x).value;
}

double igammac(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == kInfinity) return 0;
  if (x == 0 || a == kInfinity) return 1;
  if (a > kLargeA) {
    const Uniform u = uniform(a, x);
    return 0.5 * std::erfc(u.eta * std::sqrt(a / 2)) + u.correction;
  }
  if (x >= a + 1) return a * power_over_gamma(a, x) * upper_fraction(a, x).value;
  if (a < 1 && x < 1.1) return upper_near_zero(a, x);
  return 1 - power_over_gamma(a, x) * lower_series(a, x).value;
}

// The derivative of Q, divided by power_over_gamma * a / x, which is the density: the derivative of a sample for a.
double random_gamma_grad(double a, double x) {
  if (outside(a, x) || a == kInfinity) return kNan;
  if (x == 0) return 0;
  if (x == kInfinity) return kInfinity;
  if (a > kLargeA) {
    const Uniform u = uniform(a, x);
    const double logarithm = std::log1p((x - a) / a);
    const double slope = u.ratio - u.eta / 2 + logarithm * u.first - u.first / (2 * a) - u.slope * u.ratio / a;
    return slope * (1 + 1 / (12 * a)) * x / a;
  }
  if (x < a + 1) {
    const Dual series = lower_series(a, x);
    return -((std::log(x) - digamma(a + 1)) * series.value + series.slope) * x / a;
  }
  const Dual fraction = upper_fraction(a, x);
  return ((std::log(x) - digamma(a)) * fraction.value + fraction.slope) * x;
}

double igamma_grad_a(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == 0 || x == kInfinity || a == kInfinity) return 0;
  const double density = a > kLargeA ? uniform(a, x).density / (1 + 1 / (12 * a)) : power_over_gamma(a, x);
  return density == 0 ? 0 : -random_gamma_grad(a, x) * density * a / x;
}

double log_beta(double a, double b) {
  const double small = std::fmin(a, b);
  const double large = std::fmax(a, b);
  if (!(small > 0)) return small == 0 ? kInfinity : kNan;
  if (large < 10) return lgamma(small) + lgamma(large) - lgamma(small + large);
  // lgamma(large) - lgamma(small + large) by Stirling's series, whose large parts are subtracted by hand.
  const double sum = small + large;
  const double corrections = stirling_correction(large) - stirling_correction(sum);
  if (small < 10) {
    return lgamma(small) + corrections - (large - 0.5) * std::log1p(small / large) - small * std::log(sum) + small;
  }
  return 0.5 * std::log(2 * kPi / large) + stirling_correction(small) + corrections +
         (small - 0.5) * std::log(small / sum) - large * std::log1p(small / large);
}

namespace {

// x^a (1 - x)^b / B(a, b).
double beta_power(double a, double b, double x) {
  if (std::fmin(a, b) < 10) return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta(a, b));
  // Around the mean, where the logarithms would cancel.
  const double sum = a + b;
  const double shift = x * b - (1 - x) * a;
  const double exponent = a * log1p_minus(shift / a) + b * log1p_minus(-shift / b);
  return std::sqrt(a / sum * b / (2 * kPi)) *
         std::exp(exponent + stirling_correction(sum) - stirling_correction(a) - stirling_correction(b));
}

// Lentz' evaluation of the continued fraction for x below the mean; about sqrt(max(a, b)) steps.
double beta_fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double h = d;
  constexpr int kMost = 200000;
  for (int m = 1; m < kMost; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double factor : {even, odd}) {
      d = 1 + factor * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + factor / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      change = c * d;
      h *= change;
    }
    if (std::fabs(change - 1) < 2e-16) return h;
  }
  return kNan;
}

}  // namespace

double betainc(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || std::isinf(a) || std::isinf(b)) return kNan;
  if (x == 0 || x == 1) return x;
  const double power = beta_power(a, b, x);
  if (x < (a + 1) / (a + b + 2)) return power == 0 ? 0 : power * beta_fraction(a, b, x) / a;
  return power == 0 ? 1 : 1 - power * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace capstan::special
