// Gamma: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), with the power of a uniform
// number for alpha < 1. Poisson and binomial: counting up the distribution function where few steps do, else Hoermann's
// transformed rejection (1993), PTRS and BTRS.
//
// Hoermann's acceptance tests compare logarithms of probabilities, whose large parts cancel. They are written here as
// deviances (Loader, "Fast and accurate computation of binomial probabilities", 2000), so that the tests hold for any
// mean.
#include "src/kernels/random/draws.h"

#include <cmath>
#include <limits>

#include "src/kernels/random/random.h"
#include "src/kernels/random/random_draws.h"
#include "src/kernels/special/special_math.h"

namespace capstan {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// No draw rejects more than about half of its attempts, so nobody sees this limit.
constexpr std::uint32_t kAttempts = 10000;

// Two uniform numbers of an attempt; the first is not 0.
struct Uniforms {
  double u;
  double v;
};
Uniforms uniforms(std::uint64_t key, std::uint64_t position, std::uint32_t attempt) {
  const PhiloxBlock block = philox(key, position, attempt);
  return {1 - fraction53(block.words), fraction53(block.words + 2)};
}

// log(n!) - (n + 1/2) log(n) + n - log(2 pi) / 2.
double factorial_correction(double n) {
  if (n >= 10) return special::stirling_correction(n);
  if (n == 0) return 0;
  return special::lgamma(n + 1) - (n + 0.5) * std::log(n) + n - 0.91893853320467274178;
}

// k log(k / mean) + mean - k.
double deviance(double k, double mean) { return k == 0 ? mean : -k * special::log1p_minus((mean - k) / k); }

double log_root(double k) { return k == 0 ? 0 : 0.5 * std::log(6.28318530717958647693 * k); }

// The logarithm of a Poisson probability.
double log_poisson(double k, double lam) { return -factorial_correction(k) - deviance(k, lam) - log_root(k); }

// The logarithm of a binomial probability, but for what does not depend on k.
double log_binomial(double k, double n, double p) {
  return -factorial_correction(k) - factorial_correction(n - k) - deviance(k, n * p) - deviance(n - k, n * (1 - p)) -
         log_root(k) - log_root(n - k);
}

}  // namespace

double draw_log_gamma(std::uint64_t key, std::uint64_t position, double alpha) {
  if (!(alpha > 0)) return kNan;
  if (std::isinf(alpha)) return alpha;
  // Attempt 0 is for the power; each of the others takes a block of normal numbers and one of uniform ones.
  double power = 0;
  double concentration = alpha;
  if (alpha < 1) {
    power = std::log(uniforms(key, position, 0).u) / alpha;
    concentration += 1;
  }
  const double d = concentration - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint32_t attempt = 1; attempt < kAttempts; attempt += 2) {
    double pair[2];
    normal_pair(philox(key, position, attempt).words, pair);
    const PhiloxBlock block = philox(key, position, attempt + 1);
    for (int i = 0; i < 2; ++i) {
      const double x = pair[i];
      const double root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      const double u = 1 - fraction53(block.words + 2 * i);
      const double square = x * x;
      if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) {
        return std::log(d) + std::log(v) + power;
      }
    }
  }
  return std::log(d) + power;
}

double draw_poisson(std::uint64_t key, std::uint64_t position, double lam) {
  if (lam < 10) {
    const double v = uniforms(key, position, 0).v;
    double p = std::exp(-lam);
    double sum = p;
    double k = 0;
    while (v >= sum && k < 200) {
      k += 1;
      p *= lam / k;
      sum += p;
    }
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(lam);
  const double a = -0.059 + 0.02483 * b;
  const double scale = 1.1239 + 1.1328 / (b - 3.4);
  const double inner = 0.9277 - 3.6224 / (b - 2);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Uniforms random = uniforms(key, position, attempt);
    const double v = random.u;
    const double u = random.v - 0.5;
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + lam + 0.43);
    if (us >= 0.07 && v <= inner) return k;
    if (!(k >= 0) || std::isinf(k) || (us < 0.013 && v > us)) continue;
    if (std::log(v * scale / (a / (us * us) + b)) <= log_poisson(k, lam)) return k;
  }
  return std::floor(lam);
}

double draw_binomial(std::uint64_t key, std::uint64_t position, double count, double p) {
  if (p > 0.5) return count - draw_binomial(key, position, count, 1 - p);
  if (count == 0 || p == 0) return 0;
  const double q = 1 - p;
  if (count * p < 10) {
    const double v = uniforms(key, position, 0).v;
    double probability = std::exp(count * std::log1p(-p));
    double sum = probability;
    double k = 0;
    while (v >= sum && k < count && k < 400) {
      probability *= (count - k) / (k + 1) * (p / q);
      k += 1;
      sum += probability;
    }
    return k;
  }
  const double deviation = std::sqrt(count * p * q);
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double center = count * p + 0.5;
  const double inner = 0.92 - 4.2 / b;
  const double scale = (2.83 + 5.1 / b) * deviation;
  const double mode = log_binomial(std::floor((count + 1) * p), count, p);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Uniforms random = uniforms(key, position, attempt);
    const double v = random.u;
    const double u = random.v - 0.5;
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + center);
    if (us >= 0.07 && v <= inner) return k;
    if (!(k >= 0 && k <= count)) continue;
    if (std::log(v * scale / (a / (us * us) + b)) <= log_binomial(k, count, p) - mode) return k;
  }
  return std::floor(count * p);
}

}  // namespace capstan
