#include "capstan/ops/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "src/kernels/random/random.h"

namespace capstan {
namespace {

// The known answers of the authors' own implementation.
TEST(Philox, GivesTheKnownAnswers) {
  const PhiloxBlock zeros = philox(0, 0);
  EXPECT_EQ(zeros.words[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.words[1], 0xe169c58du);
  EXPECT_EQ(zeros.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.words[3], 0x9b00dbd8u);
}

TEST(Philox, FillsWordsAsBlockByBlock) {
  std::vector<std::uint32_t> words(4 * 37 + 3);
  philox_words(0x123456789abcdefu, std::int64_t{4} * 0xfffffff0, static_cast<std::int64_t>(words.size()), words.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i], philox(0x123456789abcdefu, 0xfffffff0 + i / 4).words[i % 4]) << i;
  }
}

TEST(Random, RepeatsWithTheSeedAndDiffersWithout) {
  EXPECT_TRUE(equal_tensors(random::normal({1001}, 0, 1, float32, 7), random::normal({1001}, 0, 1, float32, 7)));
  EXPECT_FALSE(equal_tensors(random::normal({1001}, 0, 1, float32, 7), random::normal({1001}, 0, 1, float32, 8)));
  EXPECT_FALSE(equal_tensors(random::uniform({10}), random::uniform({10})));
  set_seed(3);
  const Tensor first = random::uniform({10});
  set_seed(3);
  EXPECT_TRUE(equal_tensors(first, random::uniform({10})));
}

TEST(Random, HasTheMomentsOfItsDistribution) {
  const Tensor uniform = random::uniform({100'000}, -3, 5, float64, 1);
  EXPECT_GE(reduce_min(uniform).item<double>(), -3);
  EXPECT_LT(reduce_max(uniform).item<double>(), 5);
  EXPECT_NEAR(reduce_mean(uniform).item<double>(), 1, 0.03);
  const Tensor normal = random::normal({100'000}, 2, 0.5, float32, 1);
  EXPECT_NEAR(reduce_mean(normal).item<double>(), 2, 0.01);
  EXPECT_NEAR(reduce_std(normal).item<double>(), 0.5, 0.01);
  const Tensor truncated = random::truncated_normal({100'000}, 0, 1, float32, 1);
  EXPECT_LE(reduce_max(abs(truncated)).item<double>(), 2);
  EXPECT_NEAR(reduce_std(truncated).item<double>(), 0.8796, 0.01);
}

TEST(Random, PermutesEveryPlace) {
  std::vector<std::int64_t> order = random_permutation(1000, 5);
  EXPECT_NE(order, random_permutation(1000, 6));
  EXPECT_EQ(order, random_permutation(1000, 5));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<std::int64_t>(i));
}

TEST(Random, StatelessDrawsAreThoseOfTensorFlow) {
  const auto first_eight = [](std::array<std::int64_t, 2> seed, DType dtype) {
    return cast(random::stateless_uniform({8}, seed, 0, 1, dtype), float64).to_vector<double>();
  };
  const auto expect_near = [](const std::vector<double>& actual, const std::vector<double>& expected, double error) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], error) << i;
  };
  expect_near(first_eight({1, 2}, float32),
              {0.8440604, 0.19204533, 0.9962232, 0.1603874, 0.27199018, 0.649346, 0.10694444, 0.06516242}, 1e-7);
  expect_near(first_eight({123456789012, -5}, float32),
              {0.9453063, 0.7235601, 0.50051355, 0.3513193, 0.8740729, 0.50738764, 0.8802111, 0.1411618}, 1e-7);
  expect_near(first_eight({123456789012, -5}, float64),
              {0.562451090148762, 0.004109215645714315, 0.9925837488982596, 0.04168975565798916, 0.9668729436217609,
               0.9292649904044257, 0.910521100210544, 0.9384914494900225},
              1e-15);
  const Tensor moved = random::stateless_uniform({3}, {1, 2}, -2, 4);
  expect_near(moved.to_vector<double>(), {-2 + 6 * 0.8440604, -2 + 6 * 0.19204533, -2 + 6 * 0.9962232}, 1e-6);
}

TEST(Dropout, KeepsTheRateAndDropsTheSameElementsBackward) {
  GradientTape tape;
  const Tensor x = constant(std::vector<float>(100'000, 1.0f));
  tape.watch(x);
  const Tensor y = dropout(x, 0.25);
  EXPECT_NEAR(count_nonzero(y).item<double>() / 1e5, 0.75, 0.01);
  EXPECT_TRUE(equal_tensors(tape.gradient(y, x), y));
}

TEST(Dropout, RefusesRatesOutsideTheRange) { EXPECT_THROW(dropout(constant({1.0}), 1.0), ValueError); }

}  // namespace
}  // namespace capstan
