// The accuracy of the vector functions, over the whole range of arguments, and that every instruction
// set gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/vector_math_test.cc"
#include "src/core/simd.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/core/cpu.h"
#include "src/kernels/math/scalar_math.h"
#include "src/kernels/math/vector_math-inl.h"

// The tool would move these lines back and forth.
// clang-format off
#define TESTED_UNARY(M)                                                                                      \
  M(abs) M(sign) M(sqrt) M(rsqrt) M(exp) M(expm1) M(log) M(log1p) M(sin) M(cos) M(tan) M(asin) M(acos) M(atan)    \
  M(sinh) M(cosh) M(tanh) M(asinh) M(acosh) M(atanh) M(erf) M(erfc) M(sigmoid) M(softplus)                         \
  M(floor) M(ceil) M(round)
// clang-format on
#define TESTED_BINARY(M) M(pow) M(atan2) M(maximum) M(minimum) M(floormod) M(truncatemod) M(floordiv)

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sizes are multiples of the vector length.
#define TEST_LOOP(name)                                                  \
  template <class T>                                                     \
  void run_##name(const T* x, const T*, T* out, std::size_t n) {         \
    const hn::ScalableTag<T> d;                                          \
    for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {                  \
      hn::StoreU(vector_math::name(d, hn::LoadU(d, x + i)), d, out + i); \
    }                                                                    \
  }
TESTED_UNARY(TEST_LOOP)
#undef TEST_LOOP
#define TEST_LOOP(name)                                                                       \
  template <class T>                                                                          \
  void run_##name(const T* x, const T* y, T* out, std::size_t n) {                            \
    const hn::ScalableTag<T> d;                                                               \
    for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {                                       \
      hn::StoreU(vector_math::name(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i); \
    }                                                                                         \
  }
TESTED_BINARY(TEST_LOOP)
#undef TEST_LOOP

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

template <class T>
using Run = void (*)(const T* x, const T* y, T* out, std::size_t n);

// By instruction set.
template <class T>
struct Runs {
  const char* name;
  Run<T> run[kInstructionSets];
};
template <class T>
const std::vector<Runs<T>>& all_runs() {
#define TEST_ROW(name) {#name, {&N_SCALAR::run_##name<T>, &N_AVX2::run_##name<T>, &N_AVX3::run_##name<T>}},
  static const std::vector<Runs<T>> runs = {TESTED_UNARY(TEST_ROW) TESTED_BINARY(TEST_ROW)};
#undef TEST_ROW
  return runs;
}
template <class T>
const Runs<T>& runs_of(const std::string& name) {
  for (const Runs<T>& runs : all_runs<T>()) {
    if (runs.name == name) return runs;
  }
  throw std::runtime_error("no function " + name);
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
T from_bits(Bits<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
Bits<T> to_bits(T value) {
  Bits<T> bits;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// Every kind of number: patterns of all exponents, numbers of moderate size, and the special ones.
constexpr std::size_t kCount = std::size_t{1} << 20;

template <class T>
std::vector<T> make_arguments(std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {T(0),
                       T(-0.0),
                       T(1),
                       T(-1),
                       T(0.5),
                       T(-0.5),
                       T(2.5),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::denorm_min(),
                       -Limits::denorm_min(),
                       Limits::min(),
                       Limits::max(),
                       Limits::lowest(),
                       std::nextafter(T(0.5), T(0)),
                       std::nextafter(T(1), T(0)),
                       std::nextafter(T(-1), T(0))};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> moderate(-12.0, 12.0);
  std::uniform_real_distribution<double> large(-800.0, 800.0);
  std::vector<T> values;
  values.reserve(kCount);
  for (const T value : special) values.push_back(value);
  while (values.size() < kCount) {
    switch (values.size() % 4) {
      case 0:
        values.push_back(static_cast<T>(large(random)));
        break;
      case 1:
        values.push_back(static_cast<T>(moderate(random)));
        break;
      default:
        values.push_back(from_bits<T>(static_cast<Bits<T>>(random())));
    }
  }
  return values;
}

template <class T>
bool is_supported(int set) {
  return set == kPortable ||
         (set == kAvx2 && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) ||
         (set == kAvx512 && __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0);
}

// The distance of two results in units in the last place of the exact one.
template <class T>
double error_in_ulp(T value, long double exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact) || std::isnan(value)) {
    return std::isnan(exact) == std::isnan(value) ? 0 : std::numeric_limits<double>::infinity();
  }
  // An infinite result stands for the first number that does not fit.
  const long double limit = std::ldexp(1.0L, Limits::max_exponent);
  const auto finite = [&](long double x) { return std::fmin(std::fmax(x, -limit), limit); };
  const long double a = finite(value);
  const long double b = finite(exact);
  int exponent = 0;
  std::frexp(b, &exponent);
  exponent = std::min(std::max(exponent, Limits::min_exponent), Limits::max_exponent);
  return static_cast<double>(std::fabs(a - b) / std::ldexp(1.0L, exponent - Limits::digits));
}

struct Bound {
  const char* name;
  long double (*exact)(long double x, long double y);
  double single;  // in ulp
  double wide;
};

long double sigmoid_exact(long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
long double softplus_exact(long double x) {
  return std::isnan(x) ? x : std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}

#define EXACT(expression) [](long double x, [[maybe_unused]] long double y) -> long double { return expression; }
const Bound kBounds[] = {
    {"sqrt", EXACT(std::sqrt(x)), 0.5001, 0.5001},
    {"rsqrt", EXACT(1 / std::sqrt(x)), 1.5, 1.5},
    {"exp", EXACT(std::exp(x)), 1.1, 1},
    {"expm1", EXACT(std::expm1(x)), 2, 2},
    {"log", EXACT(std::log(x)), 1, 1},
    {"log1p", EXACT(std::log1p(x)), 2, 2},
    {"sin", EXACT(std::sin(x)), 1, 1},
    {"cos", EXACT(std::cos(x)), 1, 1},
    {"tan", EXACT(std::tan(x)), 3, 3},
    {"tanh", EXACT(std::tanh(x)), 2, 2.5},
    {"sigmoid", EXACT(sigmoid_exact(x)), 2, 2},
    {"softplus", EXACT(softplus_exact(x)), 2, 2},
    {"erf", EXACT(std::erf(x)), 1.1, 2},
    {"erfc", EXACT(std::erfc(x)), 1, 4},
    {"asin", EXACT(std::asin(x)), 1, 2},
    {"acos", EXACT(std::acos(x)), 1, 2},
    {"atan", EXACT(std::atan(x)), 1, 2},
    {"sinh", EXACT(std::sinh(x)), 1, 2},
    {"cosh", EXACT(std::cosh(x)), 1, 2},
    {"asinh", EXACT(std::asinh(x)), 1, 2},
    {"acosh", EXACT(std::acosh(x)), 1, 2},
    {"atanh", EXACT(std::atanh(x)), 1, 2},
    {"pow", EXACT(std::pow(x, y)), 1, 2},
    {"floor", EXACT(std::floor(x)), 0, 0},
    {"ceil", EXACT(std::ceil(x)), 0, 0},
    {"round", EXACT(std::nearbyint(x)), 0, 0},
};
#undef EXACT

template <class T>
void check_accuracy(double Bound::*limit) {
  const std::vector<T> x = make_arguments<T>(1);
  std::vector<T> y = make_arguments<T>(2);
  std::reverse(y.begin(), y.end());  // so that the special numbers meet others
  std::vector<T> out(kCount);
  const int best = is_supported<T>(kAvx512) ? kAvx512 : is_supported<T>(kAvx2) ? kAvx2 : kPortable;
  for (const Bound& bound : kBounds) {
    runs_of<T>(bound.name).run[best](x.data(), y.data(), out.data(), kCount);
    double worst = 0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double error = error_in_ulp(out[i], bound.exact(x[i], y[i]));
      if (error > worst) worst = error, where = i;
    }
    testing::Test::RecordProperty(bound.name, std::to_string(worst));
    EXPECT_LE(worst, bound.*limit) << bound.name << "(" << x[where] << ", " << y[where] << ") = " << out[where];
  }
}

TEST(VectorMath, Float32IsAsPreciseAsStated) { check_accuracy<float>(&Bound::single); }
TEST(VectorMath, Float64IsAsPreciseAsStated) { check_accuracy<double>(&Bound::wide); }

template <class T>
void check_same_bits() {
  const std::vector<T> x = make_arguments<T>(3);
  std::vector<T> y = make_arguments<T>(4);
  std::reverse(y.begin(), y.end());
  std::vector<T> expected(kCount);
  std::vector<T> out(kCount);
  // Functions that are one call per lane are slow and cannot differ; a part of the numbers will do.
  constexpr std::size_t kPart = kCount / 4;
  for (const Runs<T>& runs : all_runs<T>()) {
    runs.run[kPortable](x.data(), y.data(), expected.data(), kPart);
    for (const int set : {int{kAvx2}, int{kAvx512}}) {
      if (!is_supported<T>(set)) continue;
      runs.run[set](x.data(), y.data(), out.data(), kPart);
      std::size_t different = 0;
      std::size_t where = 0;
      for (std::size_t i = 0; i < kPart; ++i) {
        const bool both_nan = std::isnan(out[i]) && std::isnan(expected[i]);
        if (!both_nan && to_bits(out[i]) != to_bits(expected[i])) ++different, where = i;
      }
      EXPECT_EQ(different, 0u) << runs.name << " on set " << set << ", for example " << x[where] << ", " << y[where]
                               << ": " << out[where] << " and " << expected[where];
    }
  }
}

TEST(VectorMath, EveryInstructionSetGivesTheSameBitsInFloat32) { check_same_bits<float>(); }
TEST(VectorMath, EveryInstructionSetGivesTheSameBitsInFloat64) { check_same_bits<double>(); }

template <class T>
T value_of(const char* name, T x, T y = 0) {
  T xs[64];
  T ys[64];
  T out[64];
  std::fill_n(xs, 64, x);
  std::fill_n(ys, 64, y);
  runs_of<T>(name).run[kPortable](xs, ys, out, 64);
  return out[0];
}

TEST(VectorMath, KeepsTheSignOfZero) {
  for (const char* name : {"abs", "sqrt", "expm1", "log1p", "sin", "tan", "tanh", "erf", "sinh", "asinh", "round"}) {
    const bool negative = std::string(name) != "abs";
    EXPECT_EQ(std::signbit(value_of<float>(name, -0.0f)), negative) << name;
    EXPECT_EQ(std::signbit(value_of<double>(name, -0.0)), negative) << name;
    EXPECT_FALSE(std::signbit(value_of<float>(name, 0.0f))) << name;
  }
}

TEST(VectorMath, ExtremaPassOnNanFromEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"maximum", "minimum"}) {
    EXPECT_TRUE(std::isnan(value_of<float>(name, nan, 1.0f))) << name;
    EXPECT_TRUE(std::isnan(value_of<float>(name, 1.0f, nan))) << name;
  }
  EXPECT_EQ(value_of<float>("maximum", 1.0f, 2.0f), 2.0f);
  EXPECT_EQ(value_of<float>("minimum", 1.0f, 2.0f), 1.0f);
}

TEST(VectorMath, RemaindersHaveTheSignOfTheDivisorOrOfTheDividend) {
  EXPECT_EQ(value_of<float>("floormod", -7.0f, 3.0f), 2.0f);
  EXPECT_EQ(value_of<float>("floormod", 7.0f, -3.0f), -2.0f);
  EXPECT_EQ(value_of<float>("truncatemod", -7.0f, 3.0f), -1.0f);
  EXPECT_EQ(value_of<double>("truncatemod", 7.0, -3.0), 1.0);
  EXPECT_EQ(value_of<double>("floordiv", -7.0, 2.0), -4.0);
}

}  // namespace
}  // namespace capstan
#endif  // HWY_ONCE
