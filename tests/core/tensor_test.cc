#include "capstan/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

TEST(Constant, TakesTheDTypeOfWhatIsWritten) {
  EXPECT_EQ(constant(1.5).dtype(), float32);
  EXPECT_EQ(constant({1, 2}).dtype(), int32);
  EXPECT_EQ(constant({1, 2.5}).dtype(), float32);
  EXPECT_EQ(constant({true, false}).dtype(), bool_);
  EXPECT_EQ(constant({1, 2}, float64).dtype(), float64);
}

TEST(Constant, HasTheShapeOfItsLists) {
  EXPECT_EQ(constant(1).shape(), Shape{});
  EXPECT_EQ(constant({{1, 2, 3}, {4, 5, 6}}).shape(), (Shape{2, 3}));
  EXPECT_THROW(constant({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW(constant({{1, 2}, 3}), ShapeError);
}

TEST(Constant, RefusesNumbersThatDoNotFit) {
  EXPECT_THROW(constant({1.5}, int32), ValueError);
  EXPECT_THROW(constant(300, uint8), ValueError);
  EXPECT_THROW(constant(-1, uint8), ValueError);
  EXPECT_EQ(constant(1LL << 60, int64).item<std::int64_t>(), 1LL << 60);
}

TEST(Constant, CopiesAList) {
  std::vector<double> values = {1, 2, 3, 4};
  const Tensor x = constant(values, {2, 2});
  values[0] = 9;
  EXPECT_EQ(x.dtype(), float64);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_THROW(constant(values, {3}), ShapeError);
}

TEST(Tensor, ConvertsItsElements) {
  const Tensor x = constant({1.0, 2.5});
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_EQ(x(1).item<float>(), 2.5f);
  EXPECT_THROW(x.item<float>(), ShapeError);
}

TEST(Tensor, GivesItsElementsAsTheirOwnTypeOnly) {
  const Tensor x = constant({1.0, 2.0});
  EXPECT_EQ(x.data<float>()[1], 2.0f);
  EXPECT_THROW(x.data<double>(), DTypeError);
}

TEST(Tensor, SharesOnCopyAndIsEmptyAfterAMove) {
  Tensor x = constant({1.0});
  const Tensor y = x;
  EXPECT_TRUE(same_tensor(x, y));
  const Tensor z = std::move(x);
  EXPECT_FALSE(x.has_value());  // NOLINT: that is what is tested
  EXPECT_TRUE(same_tensor(y, z));
}

TEST(Tensor, SaysThatItIsEmpty) {
  const Tensor nothing;
  EXPECT_FALSE(nothing.has_value());
  EXPECT_THROW(nothing.shape(), ValueError);
  EXPECT_THROW(nothing.item<float>(), ValueError);
}

TEST(Tensor, KeepsItsBufferAliveThroughViews) {
  Tensor view;
  {
    const Tensor x = range(1000);
    view = reshape(x, {10, 100})(9);
  }
  EXPECT_EQ(view(99).item<int>(), 999);
}

TEST(Tensor, IsDenseUnlessAGradientOfRows) {
  const Tensor x = constant({1.0});
  EXPECT_FALSE(x.is_row_sparse());
  EXPECT_TRUE(same_tensor(x.to_dense(), x));
  EXPECT_THROW(x.indices(), ValueError);
  EXPECT_THROW(x.values(), ValueError);
}

TEST(Constant, ShowsAllDigitsOfANumberThatDoesNotFit) {
  EXPECT_EQ(testing::message_of<ValueError>([] { constant(3000000000L, int32); }),
            "constant: the number 3000000000 does not fit int32\n  help: write constant(3000000000, int64)");
  EXPECT_EQ(testing::message_of<ValueError>([] { constant(-1, uint8); }), "constant: the number -1 does not fit uint8");
}

TEST(DType, HasANameAndASize) {
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_THROW(dtype_from_name("float"), ValueError);
  EXPECT_EQ(size_of(bfloat16), 2u);
  EXPECT_EQ(size_of(bool_), 1u);
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(float(BFloat16(1.0f)), 1.0f);
  EXPECT_EQ(float(BFloat16(1.00390625f)), 1.0f);       // half way, to even
  EXPECT_EQ(float(BFloat16(1.01171875f)), 1.015625f);  // half way, to even
  EXPECT_TRUE(std::isnan(float(BFloat16(std::nanf("")))));
}

}  // namespace
}  // namespace capstan
