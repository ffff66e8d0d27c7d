#include <gtest/gtest.h>

#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

TEST(MaxPool2D, SendsTheGradientToTheFirstOfTies) {
  GradientTape tape;
  const Tensor x = ones({1, 2, 2, 1});
  tape.watch(x);
  const Tensor gradient = tape.gradient(max_pool2d(x, {2, 2}, {2, 2}, "VALID"), x);
  EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{1, 0, 0, 0}));
}

TEST(MaxPool2D, GathersWhatItScatters) {
  const Tensor x = random::normal({2, 6, 6, 3}, 0, 1, float64, 1);
  EXPECT_TRUE(equal_tensors(max_pool2d_gather(x, x, {2, 2}, {2, 2}, "VALID"), max_pool2d(x, {2, 2}, {2, 2}, "VALID")));
  const Tensor g = random::normal({2, 3, 3, 3}, 0, 1, float64, 2);
  const Tensor there = max_pool2d_scatter(x, g, {2, 2}, {2, 2}, "VALID");
  EXPECT_TRUE(equal_tensors(max_pool2d_gather(x, there, {2, 2}, {2, 2}, "VALID"), g));
}

TEST(AvgPool2D, DoesNotCountPadding) {
  const Tensor y = avg_pool2d(ones({1, 3, 3, 1}), {2, 2}, {2, 2}, "SAME");
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace capstan
