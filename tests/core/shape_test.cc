#include "capstan/shape.h"

#include <gtest/gtest.h>

#include "capstan/error.h"

namespace capstan {
namespace {

TEST(Shape, CountsAxesFromEitherEnd) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_THROW(shape[3], IndexError);
  EXPECT_THROW(shape[-4], IndexError);
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.size(), 1);
  EXPECT_EQ((Shape{2, 3}.size()), 6);
  EXPECT_EQ((Shape{2, 0, 3}.size()), 0);
}

TEST(Shape, RefusesSizesThatCannotBe) {
  EXPECT_THROW((Shape{2, -1}.size()), ShapeError);
  EXPECT_THROW((Shape{1LL << 40, 1LL << 40}.size()), ShapeError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
}

TEST(Shape, HasEqualityAndAText) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3} == Shape{2}));
  EXPECT_FALSE((Shape{2, 3} == Shape{3, 2}));
  EXPECT_EQ((Shape{2, 3}.to_string()), "[2, 3]");
  EXPECT_EQ(Shape{}.to_string(), "[]");
}

TEST(Shape, GrowsAxisByAxis) {
  Shape shape{2};
  shape.push_back(5);
  shape.set(-2, 7);
  EXPECT_EQ(shape, (Shape{7, 5}));
}

// size() is that of a tensor, not the number of lengths.
TEST(Shape, IsARangeOfItsLengths) {
  const auto as_list = [](std::span<const std::int64_t> lengths) {
    return std::vector<std::int64_t>(lengths.begin(), lengths.end());
  };
  const Shape shape{3, 4, 5};
  const std::vector<std::int64_t> lengths{3, 4, 5};
  EXPECT_EQ(as_list(shape), lengths);
  EXPECT_EQ(as_list(shape.dims()), lengths);
  EXPECT_EQ(as_list(Shape{3, 4, 5}), lengths);
  EXPECT_TRUE(as_list(Shape()).empty());
  EXPECT_TRUE(Shape(std::span<const std::int64_t>(shape)) == shape);
}

template <class S>
concept HasLengths = requires(S&& shape) {
  static_cast<S&&>(shape).dims();
};
static_assert(HasLengths<const Shape&> && !HasLengths<Shape>, "a temporary has none that could be kept");

TEST(Axes, MeanAllUnlessGiven) {
  EXPECT_TRUE(Axes().all());
  EXPECT_FALSE(Axes(0).all());
  const Axes axes{0, -1};
  EXPECT_EQ(axes.size(), 2);
  EXPECT_EQ(axes[1], -1);
  EXPECT_EQ(Axes(std::span<const int>()).size(), 0);
  EXPECT_FALSE(Axes(std::span<const int>()).all());
}

}  // namespace
}  // namespace capstan
