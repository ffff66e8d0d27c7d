// Joining and cutting; values, gradients and messages of every op are in every_op_test.cc.
#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/registry.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

TEST(Concat, JoinsLargeTensorsAlongInnerAxes) {
  const Tensor a = reshape(range(600 * 300), {600, 300});
  const Tensor b = negative(reshape(range(600 * 7), {600, 7}));
  const Ints joined = concat({a, b}, 1).to_vector<int>();
  for (int i = 0; i < 600; ++i) {
    for (int j = 0; j < 307; ++j) {
      ASSERT_EQ(joined[static_cast<std::size_t>(i * 307 + j)], j < 300 ? i * 300 + j : -(i * 7 + j - 300));
    }
  }
}

TEST(Concat, RefusesTensorsThatDifferElsewhere) {
  EXPECT_THROW(concat({zeros({2, 2}), zeros({2, 3})}, 0), ShapeError);
  EXPECT_THROW(concat({zeros({2}), zeros({2}, int32)}, 0), DTypeError);
  EXPECT_THROW(concat(std::vector<Tensor>(), 0), ValueError);
}

TEST(Stack, TakesManyTensorsAndNumbers) {
  std::vector<Tensor> many;
  for (int i = 0; i < 20; ++i) many.push_back(constant(i));
  EXPECT_EQ(reduce_sum(stack(many)).item<int>(), 190);
  EXPECT_EQ(stack({constant(1.5), 2}).to_vector<float>(), (Floats{1.5, 2}));
}

TEST(Unstack, AndSplitShareStorageAlongTheFirstAxis) {
  const Tensor x = range(6);
  const std::vector<Tensor> parts = split(x, {2, -1});
  EXPECT_EQ(parts[1].raw_data(), x.data<std::int32_t>() + 2);
  EXPECT_EQ(unstack(reshape(x, {3, 2}))[2].raw_data(), x.data<std::int32_t>() + 4);
  EXPECT_EQ(split(reshape(x, {2, 3}), 3, 1)[1].to_vector<int>(), (Ints{1, 4}));
}

TEST(Unstack, GivesZerosToPartsThatAreNotUsed) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = unstack(x, 1)[0];
  EXPECT_EQ(tape.gradient(y * y, x).to_vector<float>(), (Floats{2, 0, 6, 0}));
}

TEST(Pad, MirrorsWithAndWithoutTheEdge) {
  const Tensor x = constant({1, 2, 3});
  EXPECT_EQ(pad(x, {{2, 1}}, PadMode::kReflect).to_vector<int>(), (Ints{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(pad(x, {{2, 1}}, PadMode::kSymmetric).to_vector<int>(), (Ints{2, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad(x, {{1, 0}}, PadMode::kConstant, 9).to_vector<int>(), (Ints{9, 1, 2, 3}));
}

TEST(Pad, AddsWhatIsMirroredInItsGradient) {
  const Tensor x = constant({1.0, 2.0, 3.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = pad(x, {{2, 1}}, PadMode::kReflect);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (Floats{1, 3, 2}));
}

TEST(Tile, AndRepeatDiffer) {
  const Tensor x = constant({1, 2});
  EXPECT_EQ(tile(x, {2}).to_vector<int>(), (Ints{1, 2, 1, 2}));
  EXPECT_EQ(repeat(x, 2).to_vector<int>(), (Ints{1, 1, 2, 2}));
  const std::vector<std::int64_t> times = {0, 3};
  EXPECT_EQ(repeat(x, times, 0).to_vector<int>(), (Ints{2, 2, 2}));
}

TEST(Reverse, AndRollMoveElementsAround) {
  const Tensor x = reshape(range(6), {2, 3});
  EXPECT_EQ(reverse(x, {0, 1}).to_vector<int>(), (Ints{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(roll(x, 1, -1).to_vector<int>(), (Ints{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(roll(x, INT64_MIN, 0).to_vector<int>(), x.to_vector<int>());
}

TEST(Meshgrid, SwapsTheFirstTwoAxesUnlessTold) {
  const std::vector<Tensor> xy = meshgrid({constant({1, 2}), constant({3, 4, 5})});
  EXPECT_EQ(xy[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(xy[1].to_vector<int>(), (Ints{3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(meshgrid({constant({1, 2}), constant({3, 4, 5})}, "ij")[0].shape(), (Shape{2, 3}));
}

TEST(ByName, TakesAttributesAsTheyAreWritten) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  const std::vector<AttributeValue> rows = {std::vector<AttributeValue>{1, 0}, std::vector<AttributeValue>{0, 0}};
  EXPECT_EQ(call("pad", {{x}}, {{"paddings", rows}})[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(call("split", {{x}}, {{"sizes", 2}}).size(), 2u);
  const std::vector<AttributeValue> index = {"...", 1};
  EXPECT_EQ(call("getitem", {{x}}, {{"index", index}})[0].to_vector<float>(), (Floats{2, 4}));
}

}  // namespace
}  // namespace capstan
