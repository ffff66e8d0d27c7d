// The distributions of draws, on 10^6 of them with fixed seeds: a test fails if a right generator would do so in less
// than one of 10,000 cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/special.h"
#include "capstan/tape.h"
#include "src/kernels/special/special_math.h"

namespace capstan {
namespace {

constexpr std::int64_t kDraws = 1'000'000;
constexpr double kLeast = 1e-4;

// Kolmogorov's and Smirnov's test. Only every 64th of the sorted draws is looked at; between two of them the distance
// changes by no more than 64 / n, which is added.
double kolmogorov_smirnov(const Tensor& draws, const std::function<double(double)>& distribution) {
  std::vector<double> x = draws.to_vector<double>();
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); i += 64) {
    distance = std::max(distance, std::abs(distribution(x[i]) - (static_cast<double>(i) + 0.5) / n));
  }
  distance += 64.5 / n;
  double p = 0;
  for (int k = 1; k < 100; ++k) p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * n * distance * distance);
  return p;
}

// Pearson's test of whole numbers; those that are expected fewer than ten times share a class.
double chi_square(const Tensor& draws, const std::function<double(std::int64_t)>& probability, std::int64_t first,
                  std::int64_t last) {
  const auto n = static_cast<double>(draws.size());
  std::vector<double> counts(static_cast<std::size_t>(last - first + 1));
  double outside = 0;
  for (double x : draws.to_vector<double>()) {
    const auto k = static_cast<std::int64_t>(x);
    EXPECT_EQ(static_cast<double>(k), x);
    if (k < first || k > last) {
      ++outside;
    } else {
      ++counts[static_cast<std::size_t>(k - first)];
    }
  }
  double statistic = 0;
  int classes = 0;
  double rest = 1;
  double rare = outside;
  for (std::int64_t k = first; k <= last; ++k) {
    const double expected = n * probability(k);
    const double count = counts[static_cast<std::size_t>(k - first)];
    if (expected < 10) {
      rare += count;
      continue;
    }
    rest -= probability(k);
    statistic += (count - expected) * (count - expected) / expected;
    ++classes;
  }
  if (n * rest > 1) {
    statistic += (rare - n * rest) * (rare - n * rest) / (n * rest);
    ++classes;
  } else {
    EXPECT_LT(rare, 30);
  }
  return special::igammac((classes - 1) / 2.0, statistic / 2);
}

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double poisson_probability(std::int64_t k, double mean) {
  const auto x = static_cast<double>(k);
  return std::exp(x * std::log(mean) - mean - special::lgamma(x + 1));
}
double binomial_probability(std::int64_t k, double n, double p) {
  const auto x = static_cast<double>(k);
  return std::exp(special::lgamma(n + 1) - special::lgamma(x + 1) - special::lgamma(n - x + 1) + x * std::log(p) +
                  (n - x) * std::log1p(-p));
}

TEST(Distribution, TheTestsFindWrongOnes) {
  const Tensor draws = random::normal({kDraws}, 0, 1, float64, 1);
  EXPECT_LT(kolmogorov_smirnov(draws, [](double x) { return normal_distribution(x * 1.01); }), kLeast);
  const Tensor counts = random::poisson({kDraws}, 3.5, float64, 1);
  EXPECT_LT(chi_square(
                counts, [](std::int64_t k) { return poisson_probability(k, 3.51); }, 0, 40),
            kLeast);
}

TEST(Distribution, OfUniformDraws) {
  const auto line = [](double x) { return (x + 3) / 8; };
  EXPECT_GT(kolmogorov_smirnov(random::uniform({kDraws}, -3, 5, float64, 11), line), kLeast);
  EXPECT_GT(kolmogorov_smirnov(random::uniform({kDraws}, -3, 5, float32, 12), line), kLeast);
  const auto even = [](std::int64_t) { return 1 / 700.0; };
  EXPECT_GT(chi_square(random::uniform({kDraws}, -300, 400, int32, 13), even, -300, 399), kLeast);
  EXPECT_GT(chi_square(random::uniform({kDraws}, -300, 400, int64, 14), even, -300, 399), kLeast);
}

TEST(Distribution, OfNormalDraws) {
  EXPECT_GT(kolmogorov_smirnov(random::normal({kDraws}, 0, 1, float64, 21), normal_distribution), kLeast);
  EXPECT_GT(kolmogorov_smirnov(random::normal({kDraws}, 0, 1, float32, 22), normal_distribution), kLeast);
  const auto truncated = [](double x) {
    const double outside = normal_distribution(-2);
    return (normal_distribution(x) - outside) / (1 - 2 * outside);
  };
  EXPECT_GT(kolmogorov_smirnov(random::truncated_normal({kDraws}, 0, 1, float64, 23), truncated), kLeast);
}

TEST(Distribution, OfGammaDraws) {
  for (const double alpha : {0.05, 0.7, 1.0, 4.5, 300.0}) {
    const Tensor draws = random::gamma({kDraws}, constant(alpha, float64), 1.0, 31);
    EXPECT_GT(kolmogorov_smirnov(draws, [&](double x) { return special::igamma(alpha, x); }), kLeast) << alpha;
  }
  const Tensor scaled = random::gamma({kDraws}, constant(2.0, float64), constant(4.0, float64), 32);
  EXPECT_GT(kolmogorov_smirnov(scaled, [](double x) { return special::igamma(2, 4 * x); }), kLeast);
}

TEST(Distribution, OfBetaDraws) {
  for (const auto& [a, b] : {std::pair(0.1, 0.2), std::pair(2.0, 5.0)}) {
    const Tensor draws = random::beta({kDraws}, constant(a, float64), constant(b, float64), 41);
    EXPECT_GT(kolmogorov_smirnov(draws, [a = a, b = b](double x) { return special::betainc(a, b, x); }), kLeast) << a;
  }
}

TEST(Distribution, OfExponentialAndLaplaceDraws) {
  const Tensor exponential = random::exponential({kDraws}, constant(2.0, float64), 51);
  EXPECT_GT(kolmogorov_smirnov(exponential, [](double x) { return -std::expm1(-2 * x); }), kLeast);
  const Tensor laplace = random::laplace({kDraws}, constant(1.0, float64), 0.5, 52);
  const auto distribution = [](double x) {
    const double tail = 0.5 * std::exp(-2 * std::abs(x - 1));
    return x < 1 ? tail : 1 - tail;
  };
  EXPECT_GT(kolmogorov_smirnov(laplace, distribution), kLeast);
}

TEST(Distribution, OfPoissonDraws) {
  // Below and above the change of method.
  for (const double mean : {0.4, 3.5, 9.99, 10.0, 80.0, 5000.0}) {
    const Tensor draws = random::poisson({kDraws}, constant(mean, float64), int64, 61);
    const auto width = static_cast<std::int64_t>(8 * std::sqrt(mean) + 12);
    const std::int64_t center = static_cast<std::int64_t>(mean);
    EXPECT_GT(chi_square(
                  draws, [&](std::int64_t k) { return poisson_probability(k, mean); },
                  std::max<std::int64_t>(0, center - width), center + width),
              kLeast)
        << mean;
  }
}

TEST(Distribution, OfBinomialDraws) {
  for (const auto& [n, p] : {std::pair(20.0, 0.3), std::pair(40.0, 0.25), std::pair(1000.0, 0.4),
                             std::pair(1000.0, 0.996), std::pair(100000.0, 0.5)}) {
    const Tensor draws = random::binomial({kDraws}, constant(n, float64), constant(p, float64), int32, 71);
    const auto width = static_cast<std::int64_t>(8 * std::sqrt(n * p * (1 - p)) + 12);
    const auto center = static_cast<std::int64_t>(n * p);
    EXPECT_GT(chi_square(
                  draws, [n = n, p = p](std::int64_t k) { return binomial_probability(k, n, p); },
                  std::max<std::int64_t>(0, center - width), std::min(static_cast<std::int64_t>(n), center + width)),
              kLeast)
        << n << ", " << p;
  }
}

TEST(Distribution, OfCategoricalDraws) {
  const std::vector<double> logits = {0, 1, 2, -1e30, -3};
  double sum = 0;
  for (double x : logits) sum += std::exp(x);
  const Tensor draws = random::categorical(reshape(constant(logits), {1, 5}), kDraws, int64, 81);
  EXPECT_EQ(draws.shape(), Shape({1, kDraws}));
  EXPECT_GT(chi_square(
                draws, [&](std::int64_t k) { return std::exp(logits[static_cast<std::size_t>(k)]) / sum; }, 0, 4),
            kLeast);
  EXPECT_FALSE(reduce_any(equal(draws, 3)).item<bool>());
}

TEST(Distribution, OfOrders) {
  // Where the first of six rows lands.
  std::vector<double> places;
  for (std::uint64_t seed = 0; seed < 60'000; ++seed) {
    const std::vector<std::int64_t> order = random_permutation(6, seed);
    places.push_back(static_cast<double>(std::find(order.begin(), order.end(), 0) - order.begin()));
  }
  EXPECT_GT(chi_square(
                constant(places), [](std::int64_t) { return 1 / 6.0; }, 0, 5),
            kLeast);
}

TEST(Draw, DependsOnTheKeyAndThePositionOnly) {
  const auto begins_alike = [](const Tensor& few, const Tensor& many) {
    return equal_tensors(few, slice(many, {0}, {few.dim(0)}));
  };
  EXPECT_TRUE(begins_alike(random::gamma({10}, 0.5, 1.0, 7), random::gamma({9999}, 0.5, 1.0, 7)));
  EXPECT_TRUE(begins_alike(random::poisson({10}, 30.0, int64, 7), random::poisson({9999}, 30.0, int64, 7)));
  EXPECT_TRUE(begins_alike(random::binomial({10}, 90, 0.5, int32, 7), random::binomial({9999}, 90, 0.5, int32, 7)));
  EXPECT_FALSE(equal_tensors(random::gamma({10}, 0.5, 1.0, 7), random::gamma({10}, 0.5, 1.0, 8)));
  EXPECT_FALSE(equal_tensors(random::gamma({10}, 0.5), random::gamma({10}, 0.5)));
  EXPECT_FALSE(equal_tensors(random::beta({10}, 1.0, 1.0), random::beta({10}, 1.0, 1.0)));
}

TEST(Draw, PutsItsShapeBeforeThatOfTheParameters) {
  EXPECT_EQ(random::gamma({5, 2}, constant({1.0f, 2.0f, 3.0f}), 1.0, 1).shape(), Shape({5, 2, 3}));
  EXPECT_EQ(random::poisson({}, constant({1.0f, 2.0f, 3.0f}), int32, 1).shape(), Shape({3}));
  EXPECT_EQ(random::laplace({4}, constant({{0.0f}, {1.0f}}), constant({1.0f, 2.0f, 3.0f}), 1).shape(),
            Shape({4, 2, 3}));
  EXPECT_EQ(random::binomial({4, 3}, constant({1.0f, 2.0f, 3.0f}), 0.5, int32, 1).shape(), Shape({4, 3}));
}

TEST(Draw, TakesHugeAndTinyParameters) {
  const Tensor counts = random::poisson({100}, 1e30, float64, 1);
  EXPECT_NEAR(reduce_max(counts).item<double>() / 1e30, 1, 1e-7);
  EXPECT_EQ(reduce_max(random::poisson({100}, 1e30, int32, 1)).item<std::int32_t>(), 2147483647);
  EXPECT_GT(reduce_min(random::gamma({1000}, 1e-4, 1.0, 1)).item<float>(), 0.0f);
  EXPECT_NEAR(random::gamma({}, constant(1e12, float64), 1.0, 1).item<double>() / 1e12, 1, 1e-5);
  EXPECT_TRUE(std::isnan(random::gamma({}, -1.0, 1.0, 1).item<float>()));
}

// The gradient of the mean of draws is the mean of their gradients.
TEST(DrawGradient, OfGammaIsThatOfTheDistribution) {
  const Tensor alpha = constant({0.3, 2.0, 40.0});
  const Tensor beta = constant({1.0, 0.5, 4.0});
  GradientTape tape;
  tape.watch(std::vector<Tensor>{alpha, beta});
  const Tensor draws = random::gamma({200'000}, alpha, beta, 3);
  const Tensor means = reduce_mean(draws, 0);
  const std::vector<Tensor> gradients = tape.gradient(means, std::vector<Tensor>{alpha, beta});
  // The mean is alpha / beta.
  for (std::int64_t i = 0; i < 3; ++i) {
    const double a = alpha.to_vector<double>()[static_cast<std::size_t>(i)];
    const double b = beta.to_vector<double>()[static_cast<std::size_t>(i)];
    EXPECT_NEAR(gradients[0].to_vector<double>()[static_cast<std::size_t>(i)], 1 / b, 0.02 / b) << i;
    EXPECT_NEAR(gradients[1].to_vector<double>()[static_cast<std::size_t>(i)], -a / (b * b), 0.02 * a / (b * b)) << i;
  }
}

TEST(DrawGradient, OfBetaIsThatOfTheDistribution) {
  const Tensor a = constant(2.0, float64);
  const Tensor b = constant(3.0, float64);
  GradientTape tape;
  tape.watch(std::vector<Tensor>{a, b});
  const Tensor mean = reduce_mean(random::beta({200'000}, a, b, 3));
  const std::vector<Tensor> gradients = tape.gradient(mean, std::vector<Tensor>{a, b});
  EXPECT_NEAR(gradients[0].item<double>(), 3.0 / 25, 0.001);
  EXPECT_NEAR(gradients[1].item<double>(), -2.0 / 25, 0.001);
}

TEST(DrawGradient, OfMovedAndScaledDraws) {
  const Tensor mean = constant(2.0f);
  const Tensor deviation = constant(3.0f);
  GradientTape tape(GradientTapeOptions{.persistent = true});
  tape.watch(std::vector<Tensor>{mean, deviation});
  const Tensor normal = random::normal({100}, mean, deviation, float32, 5);
  const Tensor truncated = random::truncated_normal({100}, mean, deviation, float32, 5);
  EXPECT_LT(reduce_max(abs(normal - random::normal({100}, 2, 3, float32, 5))).item<float>(), 1e-5f);
  for (const Tensor& draw : {normal, truncated}) {
    EXPECT_EQ(tape.gradient(draw, mean).item<float>(), 100.0f);
    EXPECT_NEAR(tape.gradient(draw, deviation).item<float>(), reduce_sum((draw - 2.0) / 3.0).item<float>(), 1e-3);
  }
  EXPECT_FALSE(tape.gradient(random::poisson({3}, deviation), deviation).has_value());
  EXPECT_THROW(random::normal({2}, constant({1.0f, 2.0f, 3.0f}), 1.0), ShapeError);
  EXPECT_THROW(random::uniform({1}, constant({1.0f, 2.0f, 3.0f}), 1.0), ShapeError);
}

TEST(Shuffle, KeepsRowsTogether) {
  const Tensor x = reshape(range(Operand(2000)), {1000, 2});
  const Tensor shuffled = random::shuffle(x, 5);
  EXPECT_FALSE(equal_tensors(x, shuffled));
  const std::vector<double> values = shuffled.to_vector<double>();
  std::vector<double> firsts;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    EXPECT_EQ(values[i + 1], values[i] + 1);
    firsts.push_back(values[i]);
  }
  std::sort(firsts.begin(), firsts.end());
  for (std::size_t i = 0; i < firsts.size(); ++i) EXPECT_EQ(firsts[i], 2.0 * static_cast<double>(i));
}

// From the original's list of cases.
TEST(Draw, HasTheRangesOfTheOriginal) {
  const Tensor same = random::normal({4}, 10, 0, float64);
  EXPECT_TRUE(equal_tensors(same, constant({10.0, 10.0, 10.0, 10.0}, float64)));
  const Tensor narrow = random::truncated_normal({2000}, 5, 0.5, float32);
  EXPECT_GE(reduce_min(narrow).item<float>(), 4.0f);
  EXPECT_LE(reduce_max(narrow).item<float>(), 6.0f);
  EXPECT_TRUE(equal_tensors(random::categorical(constant({{0.0, -1e30}}), 6), zeros({1, 6}, int64)));
  EXPECT_EQ(random::categorical(constant({{0.0f, 1.0f}}), 0).shape(), Shape({1, 0}));
}

}  // namespace
}  // namespace capstan
