// Indexing as NumPy does it; values, gradients and messages of every op are in every_op_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "src/ops/index_list.h"

namespace capstan {
namespace {

TEST(Index, SelectsRowsSlicesAndNewAxes) {
  const Tensor x = reshape(range(12), {3, 4});
  EXPECT_EQ(x(-1).to_vector<int>(), (std::vector<int>{8, 9, 10, 11}));
  EXPECT_EQ(x[1](2).item<int>(), 6);
  EXPECT_EQ(x(slice(), 1).to_vector<int>(), (std::vector<int>{1, 5, 9}));
  EXPECT_EQ(x(slice(1, Slice::kEdge), slice(3, 0, -2)).to_vector<int>(), (std::vector<int>{7, 5, 11, 9}));
  EXPECT_EQ(x(ellipsis, newaxis, 0).shape(), (Shape{3, 1}));
}

TEST(Index, SharesStorageWhereElementsLieSideBySide) {
  const Tensor x = reshape(range(24), {2, 3, 4});
  EXPECT_EQ(x(1).raw_data(), x.data<std::int32_t>() + 12);
  EXPECT_EQ(x(1, slice(1, 3)).raw_data(), x.data<std::int32_t>() + 16);
  EXPECT_EQ(x(0, 1, slice(2, 4)).raw_data(), x.data<std::int32_t>() + 6);
  EXPECT_EQ(x(slice(1, 2)).raw_data(), x.data<std::int32_t>() + 12);
  EXPECT_FALSE(same_tensor(x(ellipsis), x));
  const auto* begin = static_cast<const std::byte*>(x.raw_data());
  const auto* copied = static_cast<const std::byte*>(x(slice(), 1).raw_data());
  EXPECT_TRUE(copied < begin || copied >= begin + 96);
}

TEST(Index, NamesTheIndexTheAxisAndItsLength) {
  const Tensor x = zeros({3, 4});
  try {
    x(0, 4);
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_EQ(std::string(error.what()), "getitem: index 4 is out of range for axis 1 of length 4\n  x: float32[3, 4]");
  }
  EXPECT_THROW(x(0, 0, 0), IndexError);
  EXPECT_THROW(x(slice(0, 3, 0)), ValueError);
  EXPECT_THROW(x(ellipsis, ellipsis), ValueError);
}

TEST(Index, ReadsExtremeStepsAndBounds) {
  const Tensor x = range(5);
  EXPECT_EQ(x(slice(0, 5, INT64_MAX)).to_vector<int>(), (std::vector<int>{0}));
  EXPECT_EQ(x(slice(Slice::kEdge, Slice::kEdge, INT64_MIN)).to_vector<int>(), (std::vector<int>{4}));
  EXPECT_EQ(x(slice(INT64_MIN + 1, INT64_MAX)).size(), 5);
}

TEST(Index, HasAGradientOfZerosAroundWhatWasSelected) {
  const Tensor x = constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x(slice(), slice(Slice::kEdge, Slice::kEdge, -2));
  const Tensor g = tape.gradient(reduce_sum(y * constant({1.0, 2.0})), x);
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{2, 0, 1, 2, 0, 1}));
}

TEST(Index, HasSecondDerivatives) {
  const Tensor x = constant({1.0, 2.0, 3.0});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = x(1) * x(1) * x(2);
  const Tensor g = inner.gradient(y, x);
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{0, 12, 4}));
  EXPECT_EQ(outer.gradient(g(1), x).to_vector<float>(), (std::vector<float>{0, 6, 4}));
}

// Lists short and long survive packing; the long ones are interned.
TEST(IndexList, KeepsItsItems) {
  std::vector<Index> items = {3, slice(-1, 5, -2), ellipsis, newaxis, slice(), slice(7)};
  for (int round = 0; round < 2; ++round) {
    const IndexList list = pack_index(items);
    EXPECT_EQ(list.more.has_value(), round == 1);
    const std::vector<Index> unpacked = unpack_index(list);
    ASSERT_EQ(unpacked.size(), items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(unpacked[i].kind, items[i].kind);
      if (items[i].kind == Index::Kind::kNumber || items[i].kind == Index::Kind::kSlice) {
        EXPECT_EQ(unpacked[i].slice.begin, items[i].slice.begin);
        EXPECT_EQ(unpacked[i].slice.end, items[i].slice.end);
        EXPECT_EQ(unpacked[i].slice.step, items[i].slice.step);
      }
    }
    items.emplace_back(slice(1, 2, 3));  // more numbers than fit
  }
}

TEST(Slice, TakesABox) {
  const Tensor x = reshape(range(12), {3, 4});
  EXPECT_EQ(slice(x, {1, 0}, {-1, 2}).to_vector<int>(), (std::vector<int>{4, 5, 8, 9}));
  EXPECT_THROW(slice(x, {0, 3}, {1, 2}), IndexError);
}

TEST(StridedSlice, ReadsItsMasks) {
  const Tensor x = reshape(range(12), {3, 4});
  const std::vector<std::int64_t> begin = {1, 2};
  const std::vector<std::int64_t> end = {2, 3};
  EXPECT_EQ(strided_slice(x, begin, end).to_vector<int>(), (std::vector<int>{6}));
  EXPECT_EQ(strided_slice(x, begin, end, {}, {.begin = 2, .shrink_axis = 1}).to_vector<int>(),
            (std::vector<int>{4, 5, 6}));
}

}  // namespace
}  // namespace capstan
