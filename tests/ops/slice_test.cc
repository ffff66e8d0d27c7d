// Indexing as NumPy does it; values, gradients and messages of every op are in every_op_test.cc.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "capstan/variable.h"
#include "src/ops/array/index_list.h"

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

TEST(WithSlice, ReplacesWhatAnIndexSelects) {
  const Tensor x = reshape(range(6.0), {2, 3});
  EXPECT_EQ(with_slice(x, {0}, constant({7.0, 8.0, 9.0})).to_vector<int>(), (std::vector<int>{7, 8, 9, 3, 4, 5}));
  EXPECT_EQ(with_slice(x, {slice(), -1}, 7).to_vector<int>(), (std::vector<int>{0, 1, 7, 3, 4, 7}));
  EXPECT_EQ(with_slice(x, {slice(), slice(2, 0, -1)}, constant({{1.0}, {2.0}})).to_vector<int>(),
            (std::vector<int>{0, 1, 1, 3, 2, 2}));
  EXPECT_EQ(with_slice(x, {}, 1.0).to_vector<int>(), std::vector<int>(6, 1));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 1, 2, 3, 4, 5})) << "x itself does not change";
}

TEST(WithSlice, HasTheGradientOfWhatIsLeftAndOfWhatIsPutIn) {
  const Tensor x = constant({1.0, 2.0, 3.0}), y = constant(5.0);
  const auto f = [](const Tensor& a, const Tensor& b) {
    const Tensor z = with_slice(a, {slice(1, 3)}, b * b);
    return reduce_sum(z * z);
  };
  const auto expect_gradients = [&](auto call) {
    GradientTape tape;
    tape.watch(x);
    tape.watch(y);
    const auto [dx, dy] = tape.gradient(call(x, y), std::tuple{x, y});
    EXPECT_EQ(dx.template to_vector<float>(), (std::vector<float>{2, 0, 0}));
    EXPECT_EQ(dy.template item<float>(), 2 * 4 * 125.0f);
  };
  expect_gradients(f);
  expect_gradients(function(f));
}

TEST(WithSlice, NamesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(with_slice(x, {2}, 1.0), IndexError);
  EXPECT_THROW(with_slice(x, {0, 0, 0}, 1.0), IndexError);
  EXPECT_THROW(with_slice(x, {0}, ones({2})), ShapeError);
  EXPECT_THROW(with_slice(x, {0}, ones({1, 3})), ShapeError) << "a row has one axis";
  EXPECT_THROW(with_slice(x, {0}, ones({3}, float64)), DTypeError);
  EXPECT_THROW(with_slice(x, {0}, Tensor()), Error);
}

TEST(AssignSlice, WritesIntoTheVariable) {
  Variable v(reshape(range(6.0), {2, 3}));
  v.assign_slice({0, slice(1, 3)}, constant({7.0, 8.0})).assign_slice({-1}, 9);
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{0, 7, 8, 9, 9, 9}));
  const void* const buffer = v.value().raw_data();
  v.assign_slice({1, 0}, 1.0);
  EXPECT_EQ(v.value().raw_data(), buffer) << "in place";
  const Tensor before = v.value();
  v.assign_slice({0}, 0);
  EXPECT_EQ(before.to_vector<int>(), (std::vector<int>{0, 7, 8, 1, 9, 9})) << "what was read keeps its value";
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{0, 0, 0, 1, 9, 9}));
  v.assign_slice({slice(), slice(0, 2)}, v(slice(), slice(1, 3)));
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{0, 0, 0, 9, 9, 9}));
  v.assign_slice({slice(Slice::kEdge, Slice::kEdge, -1)}, v);
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{9, 9, 9, 0, 0, 0}));
}

TEST(AssignSlice, WorksInFunctions) {
  Variable v(zeros({3}));
  auto write = function([&](const Tensor& x) {
    v.assign_slice({1}, x);
    return reduce_sum(v);
  });
  EXPECT_EQ(write(constant(2.0)).item<float>(), 2);
  EXPECT_EQ(write(constant(3.0)).item<float>(), 3);
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{0, 3, 0}));
}

TEST(AssignSlice, ChangesNothingWhenItFails) {
  Variable v({1.0, 2.0}, {.name = "weights"});
  EXPECT_THROW(v.assign_slice({2}, 1.0), IndexError);
  EXPECT_THROW(v.assign_slice({0}, ones({2})), ShapeError);
  EXPECT_THROW(v.assign_slice({0}, constant(1)), DTypeError);
  EXPECT_THROW(Variable().assign_slice({0}, 1.0), ValueError);
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{1, 2}));
  try {
    v.assign_slice({0}, ones({2}));
  } catch (const ShapeError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("assign_slice: ", 0), 0u) << error.what();
  }
}

TEST(Variable, ReadsAndScattersRowsAndCoordinates) {
  Variable v({1.0, 2.0, 3.0});
  v.scatter_nd_max(constant({{0}, {1}}), constant({5.0, 0.0}));
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{5, 2, 3}));
  v.scatter_nd_min(constant({{0}, {2}}), constant({4.0, 9.0}));
  EXPECT_EQ(v.to_vector<int>(), (std::vector<int>{4, 2, 3}));
  EXPECT_EQ(v.gather_nd(constant({{2}, {0}})).to_vector<int>(), (std::vector<int>{3, 4}));
  GradientTape tape;
  const Tensor rows = v.sparse_read(constant({2, 2}));
  EXPECT_EQ(rows.to_vector<int>(), (std::vector<int>{3, 3}));
  const Tensor gradient = tape.gradient(reduce_sum(rows), v);
  EXPECT_TRUE(gradient.is_row_sparse());
  EXPECT_EQ(gradient.to_dense().to_vector<int>(), (std::vector<int>{0, 0, 2}));
  EXPECT_THROW(v.sparse_read(constant({3})), IndexError);
}

}  // namespace
}  // namespace capstan
