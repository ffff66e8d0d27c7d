// Shifts at and beyond the width of a number, and of negative ones.
#include "capstan/ops/bitwise.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "capstan/ops/math.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

using Ints = std::vector<int>;

TEST(Bitwise, LimitsShiftsToTheWidth) {
  const Tensor x = constant({1, -8, -8});
  EXPECT_EQ(left_shift(x, constant({40, 1, -3})).to_vector<int>(), (Ints{std::numeric_limits<int>::min(), -16, -8}));
  EXPECT_EQ(right_shift(x, constant({40, 1, 40})).to_vector<int>(), (Ints{0, -4, -1}));
  EXPECT_EQ(right_shift(cast(constant({200}), uint8), cast(constant({3}), uint8)).to_vector<int>(), (Ints{25}));
}

TEST(Bitwise, CountsTheBitsOfNegativeNumbers) {
  EXPECT_EQ(population_count(constant({-1, 0, 5})).to_vector<int>(), (Ints{32, 0, 2}));
  EXPECT_EQ(population_count(cast(constant({-1}), int64)).to_vector<int>(), (Ints{64}));
  EXPECT_EQ(invert(constant({0, 5})).to_vector<int>(), (Ints{-1, -6}));
}

TEST(Nextafter, PassesTheGradientToTheFirst) {
  const Tensor x = constant({1.0, 2.0});
  const Tensor to = constant({5.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  tape.watch(to);
  const Tensor y = nextafter(x, to);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1.0f + std::numeric_limits<float>::epsilon(), 2.0f}));
  const std::vector<Tensor> g = tape.gradient(y, std::vector<Tensor>{x, to});
  EXPECT_EQ(g[0].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(g[1].to_vector<float>(), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace capstan
