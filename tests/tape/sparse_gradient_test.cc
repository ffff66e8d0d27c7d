// Row-sparse gradients: which ops make them, which keep them, how they add up.
#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

// The gradient of x when gather(f(x), ids) is the target, weighted by 1, 2, 3, ...
Tensor gradient_through(const Function& f, const Tensor& x, const Tensor& ids) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(f(x), ids);
  const Tensor weights = reshape(range(1, static_cast<int>(y.size()) + 1), y.shape());
  return tape.gradient(y, x, {.output_gradients = {cast(weights, y.dtype())}});
}

// The same by one-hot products, which are dense.
std::vector<double> dense_gradient_through(const Function& f, const Tensor& x, const Tensor& ids) {
  GradientTape tape;
  tape.watch(x);
  const Tensor table = f(x);
  const Tensor y = matmul(one_hot(ids, table.dim(0), 1, 0, -1, table.dtype()), table);
  const Tensor weights = reshape(range(1, static_cast<int>(y.size()) + 1), y.shape());
  return tape.gradient(y, x, {.output_gradients = {cast(weights, y.dtype())}}).to_vector<double>();
}

void expect_kept(const Function& f, const Tensor& x, const Tensor& ids, bool kept) {
  const Tensor g = gradient_through(f, x, ids);
  EXPECT_EQ(g.is_row_sparse(), kept);
  EXPECT_EQ(g.shape(), x.shape());
  expect_values(g, dense_gradient_through(f, x, ids));
}

const Tensor kIds = constant({2, 0, 2});

TEST(RowSparse, StaysThroughLinearOps) {
  const Tensor x = constant({{1, 2}, {3, 4}, {5, 6}}, float32);
  expect_kept([](const Tensor& a) { return a; }, x, kIds, true);
  expect_kept([](const Tensor& a) { return identity(a); }, x, kIds, true);
  expect_kept([](const Tensor& a) { return -a; }, x, kIds, true);
  expect_kept([](const Tensor& a) { return a + 1; }, x, kIds, true);
  expect_kept([](const Tensor& a) { return a - 1; }, x, kIds, true);
  expect_kept([](const Tensor& a) { return cast(a, float64); }, x, kIds, true);
  expect_kept([](const Tensor& a) { return identity(-identity(a + 2)); }, x, kIds, true);
}

TEST(RowSparse, BecomesDenseElsewhere) {
  const Tensor x = constant({{1, 2}, {3, 4}, {5, 6}}, float32);
  expect_kept([](const Tensor& a) { return a * 2; }, x, kIds, false);
  expect_kept([](const Tensor& a) { return transpose(transpose(a)); }, x, kIds, false);
  expect_kept([](const Tensor& a) { return tile(a, {2, 1}); }, x, kIds, false);
  expect_kept([](const Tensor& a) { return reshape(a, {6, 1}); }, x, kIds, false);
  expect_kept([](const Tensor& a) { return a(slice(0, 3)); }, x, kIds, false);
  expect_kept([](const Tensor& a) { return exp(a / 10); }, x, kIds, false);
}

TEST(RowSparse, BroadcastOperandsAreDense) {
  const Tensor x = constant({{1, 2}, {3, 4}, {5, 6}}, float32), row = constant({{10, 20}}, float32);
  GradientTape tape;
  tape.watch(std::vector{x, row});
  const Tensor y = gather(x + row, kIds);
  const auto g = tape.gradient(y, {x, row});
  expect_values(g[0], {1, 1, 0, 0, 2, 2});
  EXPECT_FALSE(g[1].is_row_sparse());
  expect_values(g[1], {3, 3});
}

TEST(RowSparse, ConcatAlongRowsGivesEachPartItsRows) {
  const Tensor a = constant({{1, 2}, {3, 4}}, float32), b = constant({{5, 6}}, float32),
               c = constant({{7, 8}, {9, 10}}, float32);
  for (const DType dtype : {int32, int64}) {
    GradientTape tape;
    tape.watch(std::vector{a, b, c});
    const Tensor y = gather(concat({a, b, c}, 0), cast(constant({4, 0, 4, 1, 3}), dtype)) *
                     constant({{1}, {2}, {3}, {4}, {5}}, float32);
    const auto g = tape.gradient(y, {a, b, c});
    for (const Tensor& part : g) EXPECT_TRUE(part.is_row_sparse());
    EXPECT_EQ(g[0].indices().dtype(), dtype);
    EXPECT_EQ(g[0].indices().to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1}));
    expect_values(g[0], {2, 2, 4, 4});
    EXPECT_EQ(g[1].indices().size(), 0);
    expect_values(g[1], {0, 0});
    EXPECT_EQ(g[2].indices().to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1, 0}));
    expect_values(g[2], {5, 5, 4, 4});
  }
}

TEST(RowSparse, ConcatAlongColumnsCutsTheRows) {
  const Tensor a = constant({{1, 2}, {3, 4}}, float32), b = constant({{5}, {6}}, float32);
  GradientTape tape;
  tape.watch(std::vector{a, b});
  const Tensor y = gather(concat({a, b}, -1), constant({1, 1})) * constant({{1, 2, 3}, {4, 5, 6}}, float32);
  const auto g = tape.gradient(y, {a, b});
  EXPECT_TRUE(g[0].is_row_sparse());
  EXPECT_TRUE(g[1].is_row_sparse());
  expect_values(g[0], {0, 0, 5, 7});
  expect_values(g[1], {0, 9});
}

TEST(RowSparse, SecondOrderOfConcatAndNegation) {
  const Tensor a = constant({{1, 2}, {3, 4}}, float64), b = constant({{5, 6}}, float64);
  GradientTape outer;
  outer.watch(std::vector{a, b});
  GradientTape inner;
  inner.watch(std::vector{a, b});
  const Tensor y = reduce_sum(pow(gather(-concat({a, b}, 0), constant({2, 0, 0})), 3));
  const auto g = inner.gradient(y, {a, b});
  EXPECT_TRUE(g[0].is_row_sparse());
  const Tensor s = reduce_sum(g[0].to_dense()) + reduce_sum(g[1].to_dense());
  const auto second = outer.gradient(s, {a, b});
  // y = -2 (a00^3 + a01^3) - b0^3 - b1^3
  expect_values(g[0], {-6, -24, 0, 0}, 1e-12);
  expect_values(second[0], {-12, -24, 0, 0}, 1e-12);
  expect_values(second[1], {-30, -36}, 1e-12);
}

TEST(RowSparse, AGatherOfAGatherWrapsTheInnerOne) {
  const Tensor x = constant({{1, 2}, {3, 4}, {5, 6}}, float32);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(gather(x, constant({0, 2})), constant({1, 1}));
  const Tensor g = tape.gradient(y, x);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.indices().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2}));
  expect_values(g.values(), {0, 0, 2, 2});
}

TEST(RowSparse, RepeatsAreNotMerged) {
  const Tensor x = zeros({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather_nd(x, constant({{1}, {1}}));
  const Tensor g = tape.gradient(y, x);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.indices().to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(g.values().shape(), Shape({2, 2}));
}

TEST(RowSparse, OpsSeeTheDenseTensor) {
  const Tensor x = constant({{1, 2}, {3, 4}}, float32);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, constant({1, 1})) * 3;
  const Tensor g = tape.gradient(y, x);
  ASSERT_TRUE(g.is_row_sparse());
  expect_values(g * 2, {0, 0, 12, 12});
  expect_values(reduce_sum(g), {12});
  expect_values(g + ones({2, 2}), {1, 1, 7, 7});
  EXPECT_EQ(g.shape(), Shape({2, 2}));
  EXPECT_EQ(g.dtype(), float32);
  EXPECT_EQ(g.size(), 4);
  EXPECT_THROW(x.indices(), ValueError);
  EXPECT_THROW(x.values(), ValueError);
  EXPECT_TRUE(same_tensor(x.to_dense(), x));
}

TEST(RowSparse, ZeroModeOfAnUnusedTableIsDense) {
  const Variable table(ones({3, 2})), other(2.0);
  GradientTape tape;
  const Tensor y = other * 3;
  const Tensor g = tape.gradient(y, table, {.unconnected_gradients = UnconnectedGradients::kZero});
  EXPECT_FALSE(g.is_row_sparse());
  expect_values(g, {0, 0, 0, 0, 0, 0});
}

TEST(RowSparse, CanBeAWeight) {
  const Tensor x = constant({{1, 2}, {3, 4}, {5, 6}}, float32);
  Tensor rows;
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = gather(x, kIds);
    rows = tape.gradient(y, x);
  }
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  expect_values(tape.gradient(y, x, {.output_gradients = {rows}}), {2, 4, 0, 0, 20, 24});
  expect_values(tape.gradient({x, y}, x, {.output_gradients = {rows, rows}}), {3, 5, 0, 0, 22, 26});
}

TEST(RowSparse, SeveralStepsOfATable) {
  const Variable table(ones({4, 2}));
  for (int step = 0; step < 3; ++step) {
    GradientTape tape;
    const Tensor y = reduce_sum(embedding_lookup(table, constant({1, 1, 3})) * 2);
    const Tensor g = tape.gradient(y, table);
    ASSERT_TRUE(g.is_row_sparse());
    table.scatter_sub(g.indices(), 0.25 * g.values());
  }
  expect_values(table.value(), {1, 1, -2, -2, 1, 1, -0.5, -0.5});
}

}  // namespace
}  // namespace capstan::testing
