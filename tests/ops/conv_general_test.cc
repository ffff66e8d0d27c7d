// Convolutions with groups, dilations and other numbers of axes, at sizes that fill vectors and blocks, against plain
// ones with filters written out.
#include <gtest/gtest.h>

#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/runtime.h"
#include "capstan/tape.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return a.size() == 0 ? 0 : reduce_max(abs(a - b)).item<double>();
}

// The filter of a plain convolution that does the same: zeros between the elements and outside the groups.
Tensor written_out(const Tensor& filters, std::int64_t groups, std::int64_t dilation) {
  const Shape f = filters.shape();
  const std::int64_t height = (f[0] - 1) * dilation + 1;
  const std::int64_t width = (f[1] - 1) * dilation + 1;
  const std::int64_t channels = f[2] * groups;
  std::vector<double> dense(static_cast<std::size_t>(height * width * channels * f[3]), 0.0);
  const std::vector<double> values = filters.to_vector<double>();
  std::size_t at = 0;
  for (std::int64_t i = 0; i < f[0]; ++i)
    for (std::int64_t j = 0; j < f[1]; ++j)
      for (std::int64_t c = 0; c < f[2]; ++c)
        for (std::int64_t k = 0; k < f[3]; ++k) {
          const std::int64_t channel = k / (f[3] / groups) * f[2] + c;
          const std::int64_t pixel = i * dilation * width + j * dilation;
          dense[static_cast<std::size_t>((pixel * channels + channel) * f[3] + k)] = values[at++];
        }
  return constant(std::span<const double>(dense), {height, width, channels, f[3]});
}

struct GeneralCase {
  Shape x;
  Shape filters;
  std::int64_t stride;
  std::int64_t dilation;
};

TEST(Conv2D, WithGroupsAndDilationsIsAPlainOneWithZerosInTheFilter) {
  const std::vector<GeneralCase> cases = {
      {{2, 11, 13, 8}, {3, 3, 8, 6}, 1, 2},     // dilation
      {{1, 9, 14, 24}, {3, 2, 24, 40}, 2, 3},   // stride and dilation
      {{3, 7, 8, 12}, {3, 3, 4, 9}, 1, 1},      // three groups
      {{2, 30, 31, 64}, {3, 3, 16, 32}, 1, 2},  // several tiles
      {{1, 5, 5, 96}, {3, 3, 48, 4}, 1, 1},     // tasks that divide the channels
      {{2, 9, 17, 37}, {3, 3, 1, 37}, 1, 1},    // depthwise, with and without whole vectors
      {{2, 9, 17, 32}, {3, 3, 1, 32}, 2, 1},
      {{1, 12, 12, 35}, {5, 3, 1, 35}, 1, 2},
      {{2, 10, 9, 7}, {3, 3, 1, 21}, 1, 1},  // three filters per channel
      {{2, 10, 9, 18}, {2, 3, 1, 36}, 2, 2},
      {{8, 40, 40, 16}, {3, 3, 1, 16}, 1, 1},  // several parts of the filter gradient
  };
  for (const GeneralCase& c : cases) {
    SCOPED_TRACE(c.x.to_string() + c.filters.to_string());
    const Tensor x = random::normal(c.x, 0, 1, float64, 1);
    const Tensor w = random::normal(c.filters, 0, 1, float64, 2);
    const std::int64_t groups = c.x[3] / c.filters[2];
    const Tensor dense = written_out(w, groups, c.dilation);
    for (const char* padding : {"SAME", "VALID"}) {
      const Tensor y = conv2d(x, w, {c.stride, c.stride}, padding, {c.dilation, c.dilation});
      EXPECT_LT(largest_difference(y, conv2d(x, dense, {c.stride, c.stride}, padding)), 1e-11);
      const Tensor g = random::normal(y.shape(), 0, 1, float64, 3);
      const Tensor of_x = conv2d_backprop_input(c.x, w, g, {c.stride, c.stride}, padding, {c.dilation, c.dilation});
      EXPECT_LT(largest_difference(of_x, conv2d_backprop_input(c.x, dense, g, {c.stride, c.stride}, padding)), 1e-11);
      // The filter gradient is the adjoint of the forward pass.
      const Tensor of_w =
          conv2d_backprop_filter(x, c.filters, g, {c.stride, c.stride}, padding, {c.dilation, c.dilation});
      const Tensor u = random::normal(c.filters, 0, 1, float64, 4);
      const Tensor through = conv2d(x, u, {c.stride, c.stride}, padding, {c.dilation, c.dilation});
      EXPECT_NEAR(reduce_sum(of_w * u).item<double>(), reduce_sum(through * g).item<double>(), 1e-9);
    }
  }
}

TEST(Conv2D, WithGroupsAndDilationsHasTheSameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const std::int64_t in : {1, 8, 32}) {
    const Tensor x = random::normal({4, 20, 21, 32}, 0, 1, float32, 1);
    const Tensor w = random::normal({3, 3, in, 32}, 0, 1, float32, 2);
    const auto compute = [&](int threads) {
      set_num_threads(threads);
      GradientTape tape;
      tape.watch(x);
      tape.watch(w);
      const Tensor y = conv2d(x, w, {1, 1}, "SAME", {2, 2});
      const std::vector<Tensor> gradients = tape.gradient(y * y, std::vector<Tensor>{x, w});
      return std::vector<Tensor>{y, gradients[0], gradients[1]};
    };
    const std::vector<Tensor> one = compute(1);
    const std::vector<Tensor> four = compute(4);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(testing::same_bits(one[i], four[i])) << i;
  }
  set_num_threads(before);
}

// The part of depth `at`, of images or filters.
Tensor plane(const Tensor& x, std::int64_t axis, std::int64_t at) {
  Shape begin;
  Shape size = x.shape();
  for (int i = 0; i < x.rank(); ++i) begin.push_back(i == axis ? at : 0);
  size.set(static_cast<int>(axis), 1);
  return squeeze(slice(x, begin, size), Axes(static_cast<int>(axis)));
}

TEST(Conv3D, IsASumOfPlanes) {
  const Tensor x = random::normal({2, 5, 8, 9, 20}, 0, 1, float64, 1);
  const Tensor w = random::normal({3, 3, 2, 20, 18}, 0, 1, float64, 2);
  const Tensor y = conv3d(x, w, {1, 2, 1});
  for (std::int64_t depth = 0; depth < 3; ++depth) {
    Tensor sum = conv2d(plane(x, 1, depth), plane(w, 0, 0), {2, 1});
    for (std::int64_t k = 1; k < 3; ++k) sum = sum + conv2d(plane(x, 1, depth + k), plane(w, 0, k), {2, 1});
    EXPECT_LT(largest_difference(plane(y, 1, depth), sum), 1e-11);
  }
  const Tensor g = random::normal(y.shape(), 0, 1, float64, 3);
  const double forward = reduce_sum(y * g).item<double>();
  EXPECT_NEAR(reduce_sum(x * conv3d_backprop_input(x.shape(), w, g, {1, 2, 1}, "VALID")).item<double>(), forward, 1e-8);
  EXPECT_NEAR(reduce_sum(w * conv3d_backprop_filter(x, w.shape(), g, {1, 2, 1}, "VALID")).item<double>(), forward,
              1e-8);
}

TEST(Conv2D, RefusesWindowsThatNoMemoryHolds) {
  const Tensor x = ones({1, 4, 4, 1});
  const Tensor w = ones({3, 3, 1, 1});
  const std::int64_t large = INT64_MAX;
  // Far beyond the image: nothing to compute.
  EXPECT_EQ(conv2d(x, w, {1, 1}, "VALID", {large, large}).shape(), (Shape{1, 0, 0, 1}));
  EXPECT_EQ(conv2d(x, w, {large, large}, "SAME", {large, 1}).shape(), (Shape{1, 1, 1, 1}));
  // An extreme length without elements.
  EXPECT_THROW(conv2d(zeros({1, 4, 4, 1}), zeros({4'000'000'000, 1, 1, 0}), {1, 1}, "SAME", {large, 1}), ShapeError);
  EXPECT_THROW(conv2d_transpose(x, w, {1, 4'000'000'000, 4'000'000'000, 1'000'000'000}), ShapeError);
  EXPECT_THROW(conv1d(ones({1, 4, 1}), ones({2, 1, 1}), 1, Padding({1, 0, 0, 0})), ValueError);
  EXPECT_THROW(conv3d(ones({1, 2, 2, 2, 1}), ones({1, 1, 1, 1, 1}), {1, 1, 1}, Padding({1, 0, 0, 0})), ValueError);
}

}  // namespace
}  // namespace capstan
