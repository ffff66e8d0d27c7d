// Numbers of C++ on their way into tensors and back.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <limits>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/variable.h"

namespace capstan {
namespace {

constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63;

TEST(Operand, TakesEveryTypeOfNumber) {
  const Tensor x = constant({1.0, 2.0});
  const std::vector<int> three(3);
  EXPECT_EQ((x * three.size()).to_vector<float>(), (std::vector<float>{3, 6}));
  EXPECT_EQ((x + 2.0L).to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ((3ull - x).to_vector<float>(), (std::vector<float>{2, 1}));
  EXPECT_EQ((x * static_cast<short>(2)).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ((x * std::uint8_t{2}).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ((constant({1, 2}, int64) + std::uint64_t{1}).to_vector<int>(), (std::vector<int>{2, 3}));
  Variable v(1.0);
  v.assign_add(three.size());
  EXPECT_EQ(v.item<double>(), 4);
}

TEST(Operand, RefusesNumbersBeyondInt64) {
  const Tensor x = constant({1.0});
  EXPECT_THROW(x * kTooLarge, ValueError);
  EXPECT_THROW(constant(kTooLarge), ValueError);
  EXPECT_THROW(constant({std::uint64_t{1}, kTooLarge}), ValueError);
  EXPECT_THROW(constant(std::vector<std::uint64_t>{kTooLarge}), ValueError);
  try {
    (void)(x * kTooLarge);
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "the number 9223372036854775808 does not fit int64, whose largest is 9223372036854775807");
  }
}

TEST(Operand, IsInt64ByItselfIfInt32CannotHoldIt) {
  EXPECT_EQ(abs(3).dtype(), int32);
  EXPECT_EQ(abs(-3000000000).dtype(), int64);
  EXPECT_EQ(abs(-3000000000).item<std::int64_t>(), 3000000000);
  EXPECT_EQ(add(1, 3000000000).item<std::int64_t>(), 3000000001);
  EXPECT_EQ(add(1.5, 3000000000).dtype(), float32);
  EXPECT_EQ(range(3000000000, 3000000002).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{3000000000, 3000000001}));
  EXPECT_THROW(constant({1}) + 3000000000, ValueError) << "a number takes the dtype of the tensor it meets";
}

TEST(Constant, OfIntegersIsInt64IfInt32CannotHoldOne) {
  EXPECT_EQ(constant(3000000000L).dtype(), int64);
  EXPECT_EQ(constant(3000000000L).item<std::int64_t>(), 3000000000);
  EXPECT_EQ(constant({1L, 2L}).dtype(), int32) << "the value counts, not the type";
  EXPECT_EQ(constant({1, -3000000000}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -3000000000}));
  EXPECT_EQ(constant({1.5, 3000000000}).dtype(), float32);
  EXPECT_THROW(constant(3000000000, int32), ValueError);
}

TEST(Constant, CopiesNestedVectors) {
  const Tensor x = constant(std::vector<std::vector<double>>{{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.dtype(), float64);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  const Tensor deep =
      constant(std::vector<std::array<std::vector<float>, 2>>{{{{1}, {2}}}, {{{3}, {4}}}, {{{5}, {6}}}});
  EXPECT_EQ(deep.dtype(), float32);
  EXPECT_EQ(deep.shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(constant(std::array<std::array<int, 2>, 2>{{{1, 2}, {3, 4}}}).shape(), (Shape{2, 2}));
  EXPECT_EQ(constant(std::vector<std::vector<int>>{}).shape(), Shape{0});
  EXPECT_EQ(constant(std::vector<std::vector<int>>{{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_THROW(constant(std::vector<std::vector<int>>{{1, 2}, {3}}), ShapeError);
  EXPECT_THROW(constant(std::vector<std::vector<int>>{{}, {3}}), ShapeError);
  EXPECT_THROW(constant(std::vector<std::vector<int>>{{1}, {}}), ShapeError);
}

TEST(Constant, OfTypesThatNoDTypeHasIsTheSmallestThatHoldsThem) {
  EXPECT_EQ(constant(std::vector<std::int8_t>{-1, 2}).dtype(), int32);
  EXPECT_EQ(constant(std::vector<std::int16_t>{-1, 2}).to_vector<int>(), (std::vector<int>{-1, 2}));
  EXPECT_EQ(constant(std::vector<std::uint16_t>{65535}).to_vector<int>(), (std::vector<int>{65535}));
  EXPECT_EQ(constant(std::vector<std::uint32_t>{4294967295u}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{4294967295}));
  EXPECT_EQ(constant(std::vector<std::size_t>{7}).dtype(), int64);
  EXPECT_EQ(constant(std::vector<long long>{7}).dtype(), int64);
  EXPECT_EQ(constant(std::vector<std::uint8_t>{255}).dtype(), uint8);
  EXPECT_EQ(constant(std::vector<long double>{0.5L}).dtype(), float64);
  EXPECT_EQ(constant(std::vector<bool>{true, false}).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(constant(std::vector<std::vector<bool>>{{true}, {false}}).dtype(), bool_);
  EXPECT_EQ(constant(std::vector<std::int16_t>{1, 2, 3, 4}, {2, 2}).shape(), (Shape{2, 2}));
}

TEST(Tensor, IsReadAsEveryTypeOfNumber) {
  const Tensor x = constant({1, 200}, int64);
  EXPECT_EQ(x(1).item<std::size_t>(), 200u);
  EXPECT_EQ(x(1).item<unsigned>(), 200u);
  EXPECT_EQ(x(1).item<long long>(), 200);
  EXPECT_EQ(x(1).item<long double>(), 200.0L);
  EXPECT_EQ(x(1).item<short>(), 200);
  EXPECT_EQ(static_cast<float>(x(1).item<BFloat16>()), 200.0f);
  EXPECT_EQ(x.to_vector<std::int16_t>(), (std::vector<std::int16_t>{1, 200}));
  EXPECT_EQ(x.to_vector<std::size_t>(), (std::vector<std::size_t>{1, 200}));
  EXPECT_EQ(x.to_vector<long double>(), (std::vector<long double>{1, 200}));
  EXPECT_EQ(Variable(x).to_vector<unsigned>(), (std::vector<unsigned>{1, 200}));
}

TEST(Tensor, RefusesToBeReadAsAnIntegerThatCannotHoldIt) {
  EXPECT_THROW(constant(-1).item<std::size_t>(), ValueError);
  EXPECT_THROW(constant(-1).item<unsigned>(), ValueError);
  EXPECT_THROW(constant(200).item<std::int8_t>(), ValueError);
  EXPECT_THROW(constant({1, 40000}).to_vector<std::int16_t>(), ValueError);
  EXPECT_THROW(constant(std::complex<float>(1, 2)).item<std::size_t>(), DTypeError);
  try {
    constant({1, 40000}).to_vector<std::int16_t>();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "to_vector: the number 40000 does not fit the integer of 2 bytes that was asked for");
  }
}

TEST(Tensor, IsIndexedByUnsignedNumbers) {
  const std::vector<int> three(3);
  const Tensor x = constant({1, 2, 3});
  EXPECT_EQ(x(three.size() - 1).item<int>(), 3);
  EXPECT_EQ(x(0u).item<int>(), 1);
  EXPECT_THROW(x(three.size()), IndexError);
  EXPECT_THROW(x(kTooLarge), ValueError);
}

TEST(Shape, IsMadeFromListsOfIntegers) {
  const Tensor x = range(6);
  EXPECT_EQ(reshape(x, std::vector<std::int64_t>{2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(reshape(x, std::vector<int>{3, -1}).shape(), (Shape{3, 2}));
  EXPECT_EQ(zeros(std::vector<std::size_t>{2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(zeros(std::array<int, 1>{4}).shape(), Shape{4});
  EXPECT_EQ(zeros(std::vector<int>{}).shape(), Shape{});
  EXPECT_THROW(Shape(std::vector<int>(9, 1)), ShapeError);
  EXPECT_THROW(Shape(std::vector<std::uint64_t>{kTooLarge}), ValueError);
}

TEST(Axes, AreMadeFromListsOfIntegers) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(reduce_sum(x, std::vector<int>{0, 1}).item<float>(), 6);
  EXPECT_EQ(reduce_sum(x, std::vector<std::int64_t>{1}).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(reduce_sum(x, std::vector<int>{}).shape(), (Shape{2, 3}));
  EXPECT_EQ(reduce_sum(x, {1L}).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_THROW(reduce_sum(x, std::int64_t{1} << 40), IndexError);
  EXPECT_THROW(reduce_sum(x, std::numeric_limits<std::uint64_t>::max()), IndexError);
  EXPECT_THROW(Axes(std::vector<int>(9, 0)), ValueError);
}

}  // namespace
}  // namespace capstan
