// Resize, Upsample and AffineGrid of ONNX. The numbers of most rules are checked by the node tests (docs/onnx.md).
#include <gtest/gtest.h>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "tests/onnx/single_node.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using onnx::attribute;
using testing::message_of;
using testing::SingleNode;

std::vector<double> numbers(const Tensor& x) { return cast(x, float64).to_vector<double>(); }
void expect_numbers(const Tensor& x, const std::vector<double>& wanted) {
  const std::vector<double> is = numbers(x);
  ASSERT_EQ(is.size(), wanted.size());
  for (std::size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], wanted[i], 1e-6) << i;
}

const Tensor kRow = constant({{{{1.0f, 3.0f, 5.0f, 9.0f}}}});  // [1, 1, 1, 4]

Tensor resized(std::vector<onnx::Attribute> attributes, const Tensor& x, const Tensor& scales, const Tensor& sizes = {},
               const Tensor& roi = {}) {
  return SingleNode{.op = "Resize", .attributes = std::move(attributes)}({x, roi, scales, sizes})[0];
}
Tensor sizes_of(std::vector<std::int64_t> sizes) { return constant(sizes, {static_cast<std::int64_t>(sizes.size())}); }

TEST(Resize, TakesSizesOrScales) {
  const Tensor nearest = resized({attribute("mode", "nearest"), attribute("nearest_mode", "floor"),
                                  attribute("coordinate_transformation_mode", "asymmetric")},
                                 kRow, constant({1.0f, 1.0f, 1.0f, 2.0f}));
  expect_numbers(nearest, {1, 1, 3, 3, 5, 5, 9, 9});
  expect_numbers(resized({attribute("mode", "linear")}, kRow, {}, sizes_of({1, 1, 1, 2})), {2, 7});
  expect_numbers(resized({attribute("mode", "linear"), attribute("coordinate_transformation_mode", "align_corners")},
                         kRow, {}, sizes_of({1, 1, 1, 2})),
                 {1, 9});
  // One axis, and a part of it; what lies outside has a number of its own.
  const Tensor part = resized(
      {attribute("mode", "linear"), attribute("axes", std::vector<std::int64_t>{3}),
       attribute("coordinate_transformation_mode", "tf_crop_and_resize"), attribute("extrapolation_value", 7.0)},
      kRow, {}, sizes_of({3}), constant({0.0f, 2.0f}));
  expect_numbers(part, {1, 9, 7});
}

TEST(Resize, IsTheLibrarysOwnWhereTheRuleIs) {
  const Tensor x = reshape(cast(range(24), float32), {1, 2, 3, 4});
  const Tensor last = transpose(x, {0, 2, 3, 1});
  const Tensor own = transpose(image::resize(last, {5, 2}), {0, 3, 1, 2});
  expect_numbers(resized({attribute("mode", "linear")}, x, {}, sizes_of({1, 2, 5, 2})), numbers(own));
}

TEST(Resize, OlderOperatorsAreKnown) {
  const SingleNode upsample{.op = "Upsample", .attributes = {attribute("mode", "nearest")}, .opset = 9};
  expect_numbers(upsample({kRow, constant({1.0f, 1.0f, 2.0f, 1.0f})})[0], {1, 3, 5, 9, 1, 3, 5, 9});
  const SingleNode ten{.op = "Resize", .attributes = {attribute("mode", "nearest")}, .opset = 10};
  expect_numbers(ten({kRow, constant({1.0f, 1.0f, 1.0f, 0.5f})})[0], {1, 5});
}

TEST(Resize, ErrorsNameWhatIsWrong) {
  const auto message = [](std::vector<onnx::Attribute> attributes, const Tensor& scales, const Tensor& sizes = {}) {
    return message_of<Error>([&] { resized(std::move(attributes), kRow, scales, sizes); });
  };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(message({}, constant({1.0f, 2.0f})), "there are 2 scales for 4 axes");
  says(message({}, constant({1.0f, 1.0f, 1.0f, -2.0f})), "a scale of -2 makes no image");
  says(message({}, {}, sizes_of({1, 1, 1})), "there are 3 sizes for 4 axes");
  says(message({}, {}, sizes_of({1, 1, 1, -3})), "an axis cannot be resized to -3");
  says(message({}, {}, sizes_of({1, 1, 1, 4000000000})), "an axis of 4000000000 pixels is too long");
  says(message({attribute("mode", "linear"), attribute("coordinate_transformation_mode", "align_corners")}, {},
               sizes_of({1, 1, 1, 60000000})),
       "an axis of 4 pixels is too long to be resized to 60000000");
  says(message({attribute("mode", "spline")}, {}, sizes_of({1, 1, 1, 3})), "mode spline is not supported");
  says(message({attribute("axes", std::vector<std::int64_t>{3, 3})}, {}, sizes_of({3, 3})), "axis 3 is resized twice");
}

TEST(AffineGrid, HasThePointsOfTheMap) {
  const Tensor theta = constant({{{1.0f, 0.0f, 0.5f}, {0.0f, 2.0f, 0.0f}}});
  const SingleNode node{.op = "AffineGrid", .attributes = {attribute("align_corners", 1)}, .opset = 20};
  const Tensor grid = node({theta, sizes_of({1, 1, 2, 2})})[0];
  EXPECT_EQ(grid.shape(), Shape({1, 2, 2, 2}));
  expect_numbers(grid, {-0.5, -2, 1.5, -2, -0.5, 2, 1.5, 2});
  EXPECT_NE(message_of<Error>([&] {
              node({theta, sizes_of({1, 1, 2})});
            }).find("do not fit a size of 3 lengths"),
            std::string::npos);
  EXPECT_NE(message_of<Error>([&] {
              node({theta, sizes_of({1, 1, 2, -1})});
            }).find("a grid with an axis of -1 points"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
