// Order and counting where samples do not reach: NaN, signed zeros, long rows, equal elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"
#include "capstan/tape.h"
#include "tests/support/random.h"

namespace capstan {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Sort, PutsNanBehindInfinity) {
  const Tensor x = constant(Floats{2, kNan, -kInf, -kNan, kInf, -1});
  const Floats up = sort(x).to_vector<float>();
  EXPECT_EQ(Floats(up.begin(), up.begin() + 4), (Floats{-kInf, -1, 2, kInf}));
  EXPECT_TRUE(std::isnan(up[4]) && std::isnan(up[5]));
  const Floats down = sort(x, -1, "DESCENDING").to_vector<float>();
  EXPECT_TRUE(std::isnan(down[0]) && std::isnan(down[1]));
  EXPECT_EQ(Floats(down.begin() + 2, down.end()), (Floats{kInf, 2, -1, -kInf}));
  EXPECT_EQ(argsort(x).to_vector<int>(), (Ints{2, 5, 0, 4, 1, 3}));
  EXPECT_EQ(top_k(x, 3).indices.to_vector<int>(), (Ints{1, 3, 4}));
}

TEST(Sort, KeepsTheSignOfZeroAndTheOrderOfEqualElements) {
  const Tensor x = constant(Floats{0.0f, -0.0f, 1, 0.0f});
  EXPECT_EQ(argsort(x).to_vector<int>(), (Ints{0, 1, 3, 2}));
  EXPECT_EQ(argsort(x, -1, "DESCENDING").to_vector<int>(), (Ints{2, 0, 1, 3}));
  int negative = 0;
  for (float value : sort(x).to_vector<float>()) negative += std::signbit(value);
  EXPECT_EQ(negative, 1);
  const TopK largest = top_k(constant(Floats{-0.0f, 0.0f}), 2);
  EXPECT_TRUE(std::signbit(largest.values(0).item<float>()));
  EXPECT_EQ(largest.indices.to_vector<int>(), (Ints{0, 1}));
}

// Rows on both sides of the length from which keys are sorted by their bytes.
template <class T>
void expect_sorted(const std::vector<T>& values) {
  for (const bool descending : {false, true}) {
    std::vector<std::int32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      const auto i = static_cast<std::size_t>(a);
      const auto j = static_cast<std::size_t>(b);
      return descending ? values[i] > values[j] : values[i] < values[j];
    });
    std::vector<T> wanted;
    for (std::int32_t i : order) wanted.push_back(values[static_cast<std::size_t>(i)]);
    const char* direction = descending ? "DESCENDING" : "ASCENDING";
    const Tensor x = constant(values);
    EXPECT_EQ(sort(x, 0, direction).template to_vector<T>(), wanted);
    EXPECT_EQ(argsort(x, 0, direction).template to_vector<std::int32_t>(), order);
    if (!descending) continue;
    for (const std::size_t k : {values.size() / 20, values.size() / 2}) {
      const TopK largest = top_k(x, static_cast<std::int64_t>(k));
      EXPECT_EQ(largest.values.template to_vector<T>(),
                std::vector<T>(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(k)));
      EXPECT_EQ(largest.indices.template to_vector<std::int32_t>(),
                std::vector<std::int32_t>(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k)));
    }
  }
}

TEST(Sort, AgreesWithTheStandardLibraryAtEveryLengthAndType) {
  testing::Random random(7);
  for (const std::size_t n : {1u, 2u, 255u, 256u, 257u, 5000u}) {
    Floats floats(n);
    std::vector<double> doubles(n);
    std::vector<std::int32_t> ints(n);
    std::vector<std::int64_t> longs(n);
    std::vector<std::uint8_t> bytes(n);
    for (std::size_t i = 0; i < n; ++i) {
      floats[i] = static_cast<float>(random.uniform(-1e3, 1e3));
      doubles[i] = static_cast<double>(random.integer(-20, 20));  // with many ties
      ints[i] = static_cast<std::int32_t>(random.bits());
      longs[i] = static_cast<std::int64_t>(random.bits());
      bytes[i] = static_cast<std::uint8_t>(random.bits());
    }
    expect_sorted(floats);
    expect_sorted(doubles);
    expect_sorted(ints);
    expect_sorted(longs);
    expect_sorted(bytes);
  }
}

TEST(Unique, TakesNansAndZerosOfEitherSignForOneValue) {
  const Unique found = unique_with_counts(constant(Floats{kNan, 0.0f, 3, -0.0f, -kNan, 3}));
  EXPECT_EQ(found.idx.to_vector<int>(), (Ints{0, 1, 2, 1, 0, 2}));
  EXPECT_EQ(found.counts.to_vector<int>(), (Ints{2, 2, 2}));
  EXPECT_TRUE(std::isnan(found.y(0).item<float>()));
  EXPECT_FALSE(unique(constant({1, 1})).counts.has_value());
}

TEST(Searchsorted, PlacesNanBehindEverything) {
  const Tensor sorted = constant(Floats{1, 2, kNan});
  EXPECT_EQ(searchsorted(sorted, constant(Floats{kNan, kInf, -0.0f})).to_vector<int>(), (Ints{2, 2, 0}));
  EXPECT_EQ(searchsorted(sorted, constant(Floats{kNan}), "right").to_vector<int>(), (Ints{3}));
}

TEST(Bincount, AddsUpWeightsWithAGradient) {
  const Tensor weights = constant({0.5, 2.0, 4.0, 8.0});
  GradientTape tape;
  tape.watch(weights);
  const Tensor sums = bincount(constant({1, 1, 3, 0}), {.weights = weights, .maxlength = 3});
  EXPECT_EQ(sums.to_vector<float>(), (Floats{8, 2.5, 0}));
  const Tensor g = tape.gradient(reduce_sum(sums * sums), weights);
  EXPECT_EQ(g.to_vector<float>(), (Floats{5, 5, 0, 16}));
}

TEST(ConfusionMatrix, CountsWeights) {
  const Tensor matrix = confusion_matrix(constant({0, 1, 1}), constant({0, 0, 1}),
                                         {.num_classes = 2, .weights = constant({0.5, 1.5, 2.0})});
  EXPECT_EQ(matrix.to_vector<float>(), (Floats{0.5, 0, 1.5, 2}));
}

TEST(Percentile, OfOneHundredIsTheLargest) {
  const Tensor x = constant({3.0, 1.0, 2.0});
  EXPECT_EQ(percentile(x, 100).item<float>(), 3.0f);
  EXPECT_EQ(percentile(x, 50, {}, "linear").item<float>(), 2.0f);
  EXPECT_EQ(quantiles(x, 2).to_vector<float>(), (Floats{1, 2, 3}));
}

TEST(Percentile, HasAGradientForThePercentageBetweenTwoElements) {
  const Tensor x = constant({1.0, 2.0, 4.0});
  const Tensor q = constant(75.0, float64);
  GradientTape tape;
  tape.watch(q);
  const Tensor y = percentile(x, q, {}, "linear");
  EXPECT_EQ(y.item<float>(), 3.0f);
  EXPECT_NEAR(tape.gradient(y, q).item<double>(), 0.04, 1e-6);
}

}  // namespace
}  // namespace capstan
