// Views and broadcasts; values, gradients and messages of every op are in every_op_test.cc.
#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/variable.h"

namespace capstan {
namespace {

TEST(Reshape, SharesItsStorageAndIsATensorOfItsOwn) {
  const Tensor x = range(6);
  const Tensor y = reshape(x, {2, 3});
  EXPECT_EQ(y.block()->data, x.block()->data);
  const Tensor same = reshape(x, {6});
  EXPECT_EQ(same.block()->data, x.block()->data);
  EXPECT_FALSE(same_tensor(same, x));
}

TEST(Reshape, HasGradientsEvenWhereTheShapeStays) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reshape(x, {2});
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Reshape, OfAVariableDoesNotSeeLaterWrites) {
  const Variable v({1.0, 2.0, 3.0, 4.0});
  const Tensor y = reshape(v, {2, 2});
  v.assign(zeros({4}));
  EXPECT_EQ(y(1, 1).item<float>(), 4.0f);
}

TEST(Squeeze, SharesItsStorage) {
  const Tensor x = zeros({1, 3, 1});
  EXPECT_EQ(squeeze(x).block()->data, x.block()->data);
  EXPECT_EQ(squeeze(x, 0).shape(), (Shape{3, 1}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{1, 3, 1, 1}));
}

// Sizes beyond one tile and one task, with remainders.
TEST(Transpose, MovesLargeMatricesOfEveryElementSize) {
  for (const DType dtype : {uint8, bfloat16, float32, float64}) {
    const std::int64_t rows = 301;
    const std::int64_t columns = 407;
    const Tensor x = cast(floormod(reshape(range(301 * 407), {rows, columns}), 251), dtype);
    const Tensor y = transpose(x);
    const std::vector<double> from = x.to_vector<double>();
    const std::vector<double> to = y.to_vector<double>();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        ASSERT_EQ(to[static_cast<std::size_t>(j * rows + i)], from[static_cast<std::size_t>(i * columns + j)])
            << name_of(dtype) << " " << i << " " << j;
      }
    }
  }
}

TEST(Transpose, MovesBatchesOfMatrices) {
  const Tensor x = reshape(range(5 * 70 * 90), {5, 70, 90});
  const std::vector<int> y = transpose(x, {0, 2, 1}).to_vector<int>();
  const std::vector<int> z = transpose(x, {2, 0, 1}).to_vector<int>();
  for (int b = 0; b < 5; ++b) {
    for (int i = 0; i < 70; ++i) {
      for (int j = 0; j < 90; ++j) {
        const int value = (b * 70 + i) * 90 + j;
        ASSERT_EQ(y[static_cast<std::size_t>((b * 90 + j) * 70 + i)], value);
        ASSERT_EQ(z[static_cast<std::size_t>((j * 5 + b) * 70 + i)], value);
      }
    }
  }
}

TEST(SumLike, IsTheTensorItselfWhereShapesAgree) {
  const Tensor x = zeros({2, 3});
  EXPECT_TRUE(same_tensor(sum_like(x, ones({2, 3})), x));
  EXPECT_TRUE(same_tensor(broadcast_like(x, ones({2, 3})), x));
}

TEST(SumLike, SumsLeadingAxesAndEverything) {
  const Tensor x = ones({300, 7}, float64);
  EXPECT_EQ(sum_like(x, zeros({7})).to_vector<double>(), std::vector<double>(7, 300.0));
  EXPECT_EQ(sum_like(x, zeros({})).item<double>(), 2100.0);
  EXPECT_THROW(sum_like(x, zeros({3})), ShapeError);
}

TEST(Shape, SizeAndRankHaveNoGradient) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(shape(x).to_vector<int>(), (std::vector<int>{2, 3}));
  EXPECT_EQ(size(x, int64).dtype(), int64);
  EXPECT_EQ(rank(x).item<int>(), 2);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cast(size(x), float32) * 2.0;
  EXPECT_FALSE(tape.gradient(y, x).has_value());
}

TEST(Gradients, OfZerosLikeAreMissingAndOfFillAreNot) {
  const Tensor x = constant(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  EXPECT_FALSE(tape.gradient(zeros_like(x), x).has_value());
  EXPECT_FALSE(tape.gradient(ones_like(x), x).has_value());
  EXPECT_EQ(tape.gradient(fill({2, 3}, x), x).item<float>(), 6.0f);
  EXPECT_EQ(tape.gradient(linspace(x, 5.0, 3), x).item<float>(), 1.5f);
}

TEST(Creation, TakesNumbersAndTensors) {
  EXPECT_EQ(range(3).dtype(), int32);
  EXPECT_EQ(range(0.0, 1.0, 0.25).dtype(), float32);
  EXPECT_EQ(range(constant(2, int64), 5, 2).to_vector<int>(), (std::vector<int>{2, 4}));
  EXPECT_EQ(linspace(0, 10, 5).to_vector<float>(), (std::vector<float>{0, 2.5, 5, 7.5, 10}));
  const Tensor between = linspace(constant(0), constant(10), 5);  // as quotients of integers
  EXPECT_EQ(between.dtype(), float64);
  EXPECT_EQ(between.to_vector<double>(), (std::vector<double>{0, 2.5, 5, 7.5, 10}));
  EXPECT_EQ(eye(2, 3).to_vector<float>(), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_THROW(eye(2, -1), ShapeError);
  EXPECT_EQ(fill({2}, 7).dtype(), int32);
  EXPECT_THROW(zeros({-1}), ShapeError);
}

}  // namespace
}  // namespace capstan
