// How precise the float32 functions are, measured over all values.
//
// `ulp_check STEP` takes every STEP-th bit pattern of a float (1: all 2^32 of them) and, for pow, 2^32 / STEP / 8
// random pairs; it prints the largest error of each function in units in the last place and fails if one exceeds the
// bound that include/capstan/ops/math.h states. What is exact comes from the standard library's functions in float64,
// whose own error is a billionth of such a unit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <limits>
#include <vector>

#include "capstan/ops/math.h"
#include "src/core/thread_pool.h"
#include "src/kernels/random/random.h"

namespace {

using capstan::Tensor;

// The distance in units in the last place of the exact result; an infinity stands for the first number that does not
// fit.
double error_in_ulp(float value, double exact) {
  if (std::isnan(exact) || std::isnan(value)) {
    return std::isnan(exact) == std::isnan(value) ? 0 : std::numeric_limits<double>::infinity();
  }
  const double limit = std::ldexp(1.0, 128);
  const double a = std::clamp(static_cast<double>(value), -limit, limit);
  const double b = std::clamp(exact, -limit, limit);
  int exponent = 0;
  std::frexp(b, &exponent);
  return std::fabs(a - b) / std::ldexp(1.0, std::clamp(exponent, -125, 128) - 24);
}

struct Worst {
  double error = 0;
  float x = 0;
  float y = 0;
};

struct Function {
  const char* name;
  double bound;
  Tensor (*function)(const Tensor& x, const Tensor& y);
  double (*exact)(double x, double y);
};

constexpr Function kFunctions[] = {
    {"exp", 1.1, [](const Tensor& x, const Tensor&) { return capstan::exp(x); },
     [](double x, double) { return std::exp(x); }},
    {"log", 1, [](const Tensor& x, const Tensor&) { return capstan::log(x); },
     [](double x, double) { return std::log(x); }},
    {"tanh", 2, [](const Tensor& x, const Tensor&) { return capstan::tanh(x); },
     [](double x, double) { return std::tanh(x); }},
    {"erf", 1.1, [](const Tensor& x, const Tensor&) { return capstan::erf(x); },
     [](double x, double) { return std::erf(x); }},
    {"sin", 1, [](const Tensor& x, const Tensor&) { return capstan::sin(x); },
     [](double x, double) { return std::sin(x); }},
    {"pow", 1, [](const Tensor& x, const Tensor& y) { return capstan::pow(x, y); },
     [](double x, double y) { return std::pow(x, y); }},
};

constexpr std::int64_t kChunk = 1 << 20;

// The largest error over one chunk of arguments.
Worst check_chunk(const Function& function, const std::vector<float>& x, const std::vector<float>& y) {
  const Tensor result = function.function(capstan::constant(x), capstan::constant(y));
  const float* values = result.data<float>();
  constexpr std::int64_t kPart = 1 << 14;
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<Worst> parts(static_cast<std::size_t>((n + kPart - 1) / kPart));
  capstan::parallel_for(static_cast<std::int64_t>(parts.size()), [&](std::int64_t part) {
    Worst& worst = parts[static_cast<std::size_t>(part)];
    for (std::int64_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double error = error_in_ulp(values[i], function.exact(x[k], y[k]));
      if (!(error <= worst.error)) worst = {error, x[k], y[k]};
    }
  });
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Worst& a, const Worst& b) { return a.error < b.error; });
}

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 257;
  if (step == 0) {
    std::cerr << "usage: ulp_check STEP\n";
    return 2;
  }
  bool within = true;
  for (const Function& function : kFunctions) {
    const bool pairs = std::strcmp(function.name, "pow") == 0;
    const std::uint64_t count = ((std::uint64_t{1} << 32) + step - 1) / step / (pairs ? 8 : 1);
    Worst worst;
    std::vector<float> x;
    std::vector<float> y;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (pairs) {
        // Half of the pairs have bases and powers whose result is an ordinary number.
        const capstan::PhiloxBlock block = capstan::philox(1, i);
        const bool ordinary = i % 2 == 0;
        x.push_back(ordinary ? static_cast<float>(std::exp((block.words[0] * 0x1p-32 - 0.5) * 8))
                             : float_of(block.words[0]));
        y.push_back(ordinary ? static_cast<float>((block.words[1] * 0x1p-32 - 0.5) * 40) : float_of(block.words[1]));
      } else {
        x.push_back(float_of(static_cast<std::uint32_t>(i * step)));
        y.push_back(0);
      }
      if (static_cast<std::int64_t>(x.size()) < kChunk && i + 1 < count) continue;
      const Worst part = check_chunk(function, x, y);
      if (part.error > worst.error) worst = part;
      x.clear();
      y.clear();
    }
    within &= worst.error <= function.bound;
    std::cout << function.name << ": at most " << std::fixed << std::setprecision(3) << worst.error << " ulp, at "
              << std::defaultfloat << std::setprecision(9) << worst.x;
    if (pairs) std::cout << ", " << worst.y;
    std::cout << "; the bound is " << function.bound << "; " << count << " values\n" << std::flush;
  }
  return within ? 0 : 1;
}
