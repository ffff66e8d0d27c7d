#include "capstan/ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/cpu.h"
#include "src/kernels/reduce/reduce.h"

namespace capstan {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ReduceShape shape_of(std::initializer_list<std::pair<std::int64_t, bool>> axes) {
  ReduceShape shape;
  for (const auto& [length, reduced] : axes) shape.add(length, reduced);
  return shape;
}

TEST(Reduce, SumsManyFloatsAccurately) {
  const std::vector<float> x(10'000'000, 0.1f);
  const double exact = 1e7 * static_cast<double>(0.1f);
  EXPECT_NEAR(reduce_sum(constant(x)).item<double>(), exact, exact * 1e-6);
  EXPECT_NEAR(reduce_sum(constant(x, {1'000'000, 10}), 0)(3).item<double>(), exact / 10, exact / 10 * 1e-6);
}

TEST(Reduce, GivesTheSameBitsOnEveryInstructionSet) {
  std::vector<float> x(7 * 1500 * 37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (const ReduceShape& shape :
       {shape_of({{7 * 1500 * 37, true}}), shape_of({{7 * 1500, true}, {37, false}}),
        shape_of({{7, false}, {1500 * 37, true}}), shape_of({{7, true}, {1500, false}, {37, true}})}) {
    const auto kept = static_cast<std::size_t>(shape.kept_count());
    for (Reduction reduction : {Reduction::kSum, Reduction::kMaximum, Reduction::kEuclideanNorm}) {
      std::vector<float> portable(kept);
      reduce_with(kPortable, reduction, float32, shape, x.data(), portable.data());
      for (int set = kPortable + 1; set <= instruction_set(); ++set) {
        std::vector<float> result(kept);
        reduce_with(set, reduction, float32, shape, x.data(), result.data());
        EXPECT_EQ(std::memcmp(result.data(), portable.data(), kept * sizeof(float)), 0) << "instruction set " << set;
      }
    }
  }
}

TEST(Reduce, LetsNaNWinInExtremaAndNeverInTheirPositions) {
  for (std::size_t place = 0; place < 20; ++place) {
    std::vector<float> x(20, 1.0f);
    x[place] = kNaN;
    EXPECT_TRUE(std::isnan(reduce_max(constant(x)).item<float>())) << place;
    EXPECT_TRUE(std::isnan(reduce_min(constant(x)).item<float>())) << place;
    EXPECT_EQ(argmax(constant(x)).item<int>(), place == 0 ? 1 : 0);
  }
}

TEST(Reduce, SharesTheGradientAmongTies) {
  GradientTape tape;
  const Tensor x = constant({1.0, 3.0, 3.0, 2.0});
  tape.watch(x);
  EXPECT_EQ(tape.gradient(reduce_max(x), x).to_vector<float>(), (std::vector<float>{0, 0.5, 0.5, 0}));
}

TEST(Reduce, DifferentiatesProductsWithZeros) {
  GradientTape tape;
  const Tensor x = constant({2.0, 0.0, 3.0});
  tape.watch(x);
  EXPECT_EQ(tape.gradient(reduce_prod(x), x).to_vector<float>(), (std::vector<float>{0, 6, 0}));
}

TEST(Reduce, HasValuesForNothing) {
  const Tensor nothing = constant(std::vector<float>{}, {0, 2});
  EXPECT_EQ(reduce_sum(nothing, 0).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(reduce_max(nothing).item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(reduce_mean(nothing).item<float>()));
}

TEST(Scan, RunsRecurrencesInBothDirections) {
  const Tensor a = constant({9.0, 2.0, 3.0});
  const Tensor b = constant({1.0, 1.0, 1.0});
  EXPECT_EQ(linear_recurrence(a, b).to_vector<float>(), (std::vector<float>{1, 3, 10}));
  EXPECT_EQ(linear_recurrence(a, b, 0, {.reverse = true}).to_vector<float>(), (std::vector<float>{28, 3, 1}));
}

}  // namespace
}  // namespace capstan
