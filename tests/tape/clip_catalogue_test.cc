// The tests of TensorFlow's clip_ops_test that are worth porting: clipping and its gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ClipTest, ClipByValue) {
  const Tensor x = constant({-5.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  expect_values(clip_by_value(x, -4.4, 4.4), {-4.4, 2, 3, 4, 4.4, 4.4});
}

TEST(ClipTest, ClipByValueAllDTypes) {
  for (const DType dtype : {float32, float64, bfloat16, int32, int64}) {
    const Tensor x = cast(constant({1, 2, 3, 4}), dtype);
    expect_values(clip_by_value(x, cast(constant(2), dtype), cast(constant(3), dtype)), {2, 2, 3, 3});
  }
  expect_values(clip_by_value(cast(constant({1, 2, 3, 4}), uint8), cast(constant(2), uint8), cast(constant(3), uint8)),
                {2, 2, 3, 3});
}

TEST(ClipTest, ClipByValueNonFinite) {
  expect_values(clip_by_value(constant({kNan, kInf, -kInf}), -4.0, 4.0), {kNan, 4, -4});
}

TEST(ClipTest, ClipByValueBadShape) {
  EXPECT_THROW(clip_by_value(ones({2, 3}), zeros({1}), ones({4, 1, 1})), ShapeError);
  EXPECT_THROW(clip_by_value(ones({2}), zeros({3}), ones({3})), ShapeError);
}

void expect_clip_gradients(const Tensor& x, const Tensor& low, const Tensor& high, const std::vector<double>& gx,
                           const std::vector<double>& glow, const std::vector<double>& ghigh) {
  GradientTape tape;
  tape.watch(std::vector{x, low, high});
  const Tensor y = clip_by_value(x, low, high);
  const auto g = tape.gradient(y, {x, low, high});
  expect_values(g[0], gx);
  expect_values(g[1], glow);
  expect_values(g[2], ghigh);
}

TEST(ClipTest, ClipByValueGradient) {
  const auto c = [](std::initializer_list<Literal> list) { return constant(Literal(list), float32); };
  expect_clip_gradients(constant(0.0), constant(-1.0), constant(1.0), {1}, {0}, {0});
  expect_clip_gradients(constant(2.0), constant(-1.0), constant(1.0), {0}, {0}, {1});
  expect_clip_gradients(c({0, -2, 2, -2}), constant(-1.0), constant(1.0), {1, 0, 0, 0}, {2}, {1});
  expect_clip_gradients(c({-1, -2, 0, 2}), c({-2, -1, -3, 0}), constant(1.0), {1, 0, 1, 0}, {0, 1, 0, 0}, {1});
  expect_clip_gradients(c({-1, -2, 0, 2}), c({-2, -1, -3, 0}), c({1, 2, -1, 1}), {1, 0, 0, 0}, {0, 1, 0, 0},
                        {0, 0, 1, 1});
  expect_clip_gradients(c({{-2, 3}, {2, -1}}), c({-1, -2}), c({{1, 2}, {3, 4}}), {0, 0, 1, 1}, {1, 0}, {0, 1, 0, 0});
}

TEST(ClipTest, ClipByNormClipped) {
  const Tensor x = constant({{-3.0, 0.0, 0.0}, {4.0, 0.0, 0.0}});
  expect_values(clip_by_norm(x, 4.0), {-2.4, 0, 0, 3.2, 0, 0});
  expect_values(clip_by_norm(x, constant(4.0)), {-2.4, 0, 0, 3.2, 0, 0});
}

TEST(ClipTest, ClipByNormWithAxes) {
  const Tensor x = constant({{-3.0, 0.0, 0.0}, {4.0, 0.0, 3.0}});
  expect_values(clip_by_norm(x, 4.0, 0), {-2.4, 0, 0, 3.2, 0, 3});
  expect_values(clip_by_norm(x, 4.0, 1), {-3, 0, 0, 3.2, 0, 2.4});
}

TEST(ClipTest, ClipByNormNotClipped) {
  const Tensor x = constant({{-3.0, 0.0, 0.0}, {4.0, 0.0, 0.0}});
  expect_values(clip_by_norm(x, 6.0), {-3, 0, 0, 4, 0, 0});
}

TEST(ClipTest, ClipByNormZero) {
  const Tensor x = zeros({2, 3});
  expect_values(clip_by_norm(x, 6.0), {0, 0, 0, 0, 0, 0});
}

TEST(ClipTest, ClipByNormGradientWithZeros) {
  const Tensor x = zeros({3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = clip_by_norm(x, 1.0);
  expect_values(tape.gradient(y, x), {1, 1, 1});
}

TEST(ClipTest, ClipByNormOfTheGuide) {
  expect_values(clip_by_norm(constant({{1.0, 2.0, 3.0, 4.0, 5.0}}), 2.0),
                {0.26967996, 0.5393599, 0.80903983, 1.0787199, 1.3483998});
}

TEST(ClipTest, ClipByGlobalNormClipped) {
  const std::vector<Tensor> x = {constant({{-2.0, 0.0, 0.0}, {4.0, 0.0, 0.0}}), constant({1.0, -2.0})};
  const auto [clipped, norm] = clip_by_global_norm(x, 4.0);
  expect_values(norm, {5});
  expect_values(clipped[0], {-1.6, 0, 0, 3.2, 0, 0});
  expect_values(clipped[1], {0.8, -1.6});
}

TEST(ClipTest, ClipByGlobalNormWithMissing) {
  const std::vector<Tensor> x = {Tensor(), constant({{-2.0, 0.0, 0.0}, {4.0, 0.0, 0.0}}), Tensor(),
                                 constant({1.0, -2.0})};
  const auto [clipped, norm] = clip_by_global_norm(x, 4.0);
  ASSERT_EQ(clipped.size(), 4u);
  expect_values(norm, {5});
  expect_missing(clipped[0]);
  expect_values(clipped[1], {-1.6, 0, 0, 3.2, 0, 0});
  expect_missing(clipped[2]);
  expect_values(clipped[3], {0.8, -1.6});
}

TEST(ClipTest, ClipByGlobalNormNotClipped) {
  const std::vector<Tensor> x = {constant({{-2.0, 0.0, 0.0}, {4.0, 0.0, 0.0}}), constant({1.0, -2.0})};
  const auto [clipped, norm] = clip_by_global_norm(x, 6.0);
  expect_values(norm, {5});
  expect_values(clipped[0], {-2, 0, 0, 4, 0, 0});
  expect_values(clipped[1], {1, -2});
}

TEST(ClipTest, ClipByGlobalNormZero) {
  const auto [clipped, norm] = clip_by_global_norm({zeros({2, 3}), zeros({2})}, 6.0);
  expect_values(norm, {0});
  expect_values(clipped[0], {0, 0, 0, 0, 0, 0});
  expect_values(clipped[1], {0, 0});
}

TEST(ClipTest, ClipByGlobalNormNonFinite) {
  for (const double bad : {kInf, -kInf, kNan}) {
    const auto [clipped, norm] = clip_by_global_norm(std::vector{constant({-2.0, bad}), constant({1.0, -2.0})}, 6.0);
    expect_values(clipped[0], {kNan, kNan});
    expect_values(clipped[1], {kNan, kNan});
  }
}

}  // namespace
}  // namespace capstan::testing
