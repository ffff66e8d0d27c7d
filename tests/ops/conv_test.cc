#include <gtest/gtest.h>

#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"

namespace capstan {
namespace {

TEST(Conv2D, WithOnePixelIsAMatrixProduct) {
  const Tensor x = random::normal({2, 3, 3, 4}, 0, 1, float64, 1);
  const Tensor w = random::normal({1, 1, 4, 5}, 0, 1, float64, 2);
  const Tensor product = reshape(matmul(reshape(x, {18, 4}), reshape(w, {4, 5})), {2, 3, 3, 5});
  EXPECT_LT(reduce_max(abs(conv2d(x, w) - product)).item<double>(), 1e-12);
}

// <conv(x, w), g> = <x, conv_input(w, g)> = <w, conv_filter(x, g)>
TEST(Conv2D, HasItsAdjointsAsGradients) {
  const Tensor x = random::normal({2, 7, 6, 3}, 0, 1, float64, 1);
  const Tensor w = random::normal({3, 2, 3, 4}, 0, 1, float64, 2);
  for (const Padding& padding : {Padding("SAME"), Padding("valid"), Padding({1, 0, 2, 1})}) {
    const Tensor y = conv2d(x, w, {2, 1}, padding);
    const Tensor g = random::normal(y.shape(), 0, 1, float64, 3);
    const double forward = reduce_sum(y * g).item<double>();
    const Tensor of_x = conv2d_backprop_input(x.shape(), w, g, {2, 1}, padding);
    const Tensor of_w = conv2d_backprop_filter(x, w.shape(), g, {2, 1}, padding);
    EXPECT_NEAR(reduce_sum(x * of_x).item<double>(), forward, 1e-10);
    EXPECT_NEAR(reduce_sum(w * of_w).item<double>(), forward, 1e-10);
  }
}

// One that leaves the image with its first step; kernels must not set memory aside by it.
TEST(Conv2D, TakesStridesOfAnyLength) {
  const Tensor x = random::normal({2, 7, 6, 3}, 0, 1, float64, 1);
  const std::int64_t far = std::int64_t{1} << 40;
  for (const std::int64_t window : {1, 3}) {
    const Tensor w = random::normal({window, window, 3, 4}, 0, 1, float64, 2);
    for (const Padding& padding : {Padding("SAME"), Padding("valid"), Padding({1, 0, 2, 1})}) {
      const Tensor y = conv2d(x, w, {far, far}, padding);
      EXPECT_EQ(y.shape(), Shape({2, 1, 1, 4}));
      EXPECT_EQ(reduce_max(abs(y - conv2d(x, w, {20, 20}, padding))).item<double>(), 0);
      const Tensor g = random::normal(y.shape(), 0, 1, float64, 3);
      const double forward = reduce_sum(y * g).item<double>();
      const Tensor of_x = conv2d_backprop_input(x.shape(), w, g, {far, far}, padding);
      const Tensor of_w = conv2d_backprop_filter(x, w.shape(), g, {far, far}, padding);
      EXPECT_NEAR(reduce_sum(x * of_x).item<double>(), forward, 1e-10);
      EXPECT_NEAR(reduce_sum(w * of_w).item<double>(), forward, 1e-10);
    }
  }
}

TEST(Padding, RefusesUnknownNamesAndNegativeNumbers) {
  EXPECT_THROW(Padding("FULL"), ValueError);
  EXPECT_THROW(Padding({0, -1, 0, 0}), ValueError);
}

}  // namespace
}  // namespace capstan
