// Gathers and scatters; values, gradients and messages of every op are in every_op_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/variable.h"

namespace capstan {
namespace {

using Floats = std::vector<float>;

TEST(Gather, HasARowSparseGradientAlongTheFirstAxis) {
  const Variable table(reshape(cast(range(12), float32), {4, 3}));
  GradientTape tape;
  const Tensor rows = embedding_lookup(table, constant({{3, 1}, {1, 1}}));
  const Tensor g = tape.gradient(reduce_sum(rows), table);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.shape(), (Shape{4, 3}));
  EXPECT_EQ(g.indices().to_vector<int>(), (std::vector<int>{3, 1, 1, 1}));
  EXPECT_EQ(g.values().shape(), (Shape{4, 3}));
  EXPECT_EQ(g.to_dense().to_vector<float>(), (Floats{0, 0, 0, 3, 3, 3, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ((g * 2.0)(1, 0).item<float>(), 6.0f);  // every op sees the dense tensor
}

TEST(Gather, HasADenseGradientAlongOtherAxes) {
  const Tensor x = constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor g = tape.gradient(gather(x, constant({2, 2, 0}), 1), x);
  EXPECT_FALSE(g.is_row_sparse());
  EXPECT_EQ(g.to_vector<float>(), (Floats{1, 0, 2, 1, 0, 2}));
}

TEST(Gather, HasSecondDerivativesThroughItsRows) {
  const Tensor x = constant({1.0, 2.0, 3.0});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor rows = gather(x, constant({2, 0, 2}));
  const Tensor g = inner.gradient(reduce_sum(rows * rows * rows), x);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.to_dense().to_vector<float>(), (Floats{3, 0, 54}));
  EXPECT_EQ(outer.gradient(reduce_sum(g), x).to_dense().to_vector<float>(), (Floats{6, 0, 36}));
}

TEST(Gather, TakesAPlainNumber) {
  const Tensor x = constant({1.5, 2.5});
  EXPECT_EQ(gather(x, 1).item<float>(), 2.5f);
}

TEST(Gather, NamesTheIndexAndTheBound) {
  const Tensor x = zeros({3, 2});
  try {
    gather(x, constant({0, 7}));
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_EQ(std::string(error.what()), "gather: index 7 is out of range for axis 0 of length 3");
  }
  EXPECT_THROW(gather(x, constant({-1})), IndexError);
  EXPECT_THROW(gather(x, constant({0.0})), DTypeError);
}

TEST(Scatter, AddsWhatIsRepeatedForEveryTask) {
  // Enough rows for several tasks.
  const std::int64_t rows = 5000;
  const Tensor indices = reshape(floormod(range(static_cast<long>(rows)), 7), {rows, 1});
  const Tensor sum = scatter_nd(indices, ones({rows, 64}, float64), {7, 64});
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(sum(i, 0).item<double>(), i < 5000 % 7 ? 715 : 714);
    EXPECT_EQ(sum(i, 63).item<double>(), i < 5000 % 7 ? 715 : 714);
  }
}

TEST(Scatter, LetsTheLastUpdateWin) {
  const Tensor x = zeros({3});
  const Tensor y = tensor_scatter_nd_update(x, constant({{1}, {1}}), constant({5.0, 6.0}));
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 6, 0}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0, 0}));
}

TEST(Scatter, SharesTheGradientOfTies) {
  const Tensor x = constant({1.0, 5.0});
  const Tensor u = constant({5.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(u);
  const Tensor y = tensor_scatter_nd_max(x, constant({{1}}), u);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (Floats{1, 0.5}));
  EXPECT_EQ(tape.gradient(y, u).to_dense().to_vector<float>(), (Floats{0.5}));
}

TEST(Scatter, WrapsIntegersAround) {
  const Tensor y = tensor_scatter_nd_add(constant({250}, uint8), constant({{0}}), constant({10}, uint8));
  EXPECT_EQ(y.item<int>(), 4);
}

TEST(OneHot, LeavesIndicesOutOfRangeOff) {
  EXPECT_EQ(one_hot(constant({1, -1, 2}), 2).to_vector<float>(), (Floats{0, 1, 0, 0, 0, 0}));
}

TEST(BooleanMask, PicksWhatIsTrue) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = boolean_mask(x, greater(x, 1.5));
  EXPECT_EQ(y.to_vector<float>(), (Floats{2, 3, 4}));
  EXPECT_EQ(tape.gradient(y, x).to_dense().to_vector<float>(), (Floats{0, 1, 1, 1}));
}

TEST(WhereIndices, AndSequenceMaskAreEachOthersInverse) {
  const Tensor mask = sequence_mask(constant({1, 3}));
  EXPECT_EQ(mask.shape(), (Shape{2, 3}));
  EXPECT_EQ(where_indices(mask).to_vector<int>(), (std::vector<int>{0, 0, 1, 0, 1, 1, 1, 2}));
}

}  // namespace
}  // namespace capstan
