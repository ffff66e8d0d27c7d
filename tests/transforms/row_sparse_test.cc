// Row-sparse gradients and functions: in traces, through calls and as results. And Jacobians, which are dense.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/apply.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

using testing::same_bits;
using List = std::vector<Tensor>;

// Both row-sparse with equal indices and values, in every bit.
void expect_same_rows(const Tensor& got, const Tensor& want) {
  ASSERT_TRUE(want.is_row_sparse());
  ASSERT_TRUE(got.is_row_sparse());
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_TRUE(same_bits(got.indices(), want.indices()));
  EXPECT_TRUE(same_bits(got.values(), want.values()));
}

const Tensor kTable = reshape(cast(range(1, 13), float64), {4, 3});

TEST(RowSparseFunction, GradientsOfACallAreThoseOfPlainCode) {
  const Variable captured(kTable);
  auto f = [&](const Tensor& argument, const Tensor& ids) {
    return sin(embedding_lookup(captured, ids)) * embedding_lookup(argument, ids + 1) +
           embedding_lookup(captured, ids + 1);
  };
  auto traced = function(f);
  for (const Tensor& ids : {constant({2, 0, 2}), constant({1, 1, 1}), zeros({0}, int32)}) {
    const auto all = [&](auto& call) {
      GradientTape tape({.persistent = true});
      const Tensor argument = kTable * 0.5;
      tape.watch(argument);
      const Tensor y = call(argument, ids);
      return std::pair(tape.gradient(y, argument), tape.gradient(y, captured));
    };
    const auto got = all(traced);
    const auto want = all(f);
    expect_same_rows(got.first, want.first);
    expect_same_rows(got.second, want.second);
  }
}

TEST(RowSparseFunction, WhatIsAlsoUsedWholeHasADenseGradient) {
  const Variable table(kTable);
  auto f = [&](const Tensor& ids) { return reduce_sum(gather(table, ids)) + reduce_sum(square(table)); };
  auto traced = function(f);
  const auto gradient = [&](auto& call) {
    GradientTape tape;
    const Tensor y = call(constant({3, 3}));
    return tape.gradient(y, table);
  };
  EXPECT_FALSE(gradient(traced).is_row_sparse());
  EXPECT_TRUE(same_bits(gradient(traced), gradient(f)));
}

TEST(RowSparseFunction, OuterTapesSeeThroughTheRows) {
  const Variable table(kTable);
  auto traced = function([&](const Tensor& ids) { return reduce_sum(pow(gather(table, ids), 3)); });
  GradientTape outer;
  GradientTape inner;
  const Tensor y = traced(constant({1, 1}));
  const Tensor g = inner.gradient(y, table);
  EXPECT_TRUE(g.is_row_sparse());
  const Tensor second = outer.gradient(reduce_sum(g.to_dense()), table);
  EXPECT_EQ(second.to_dense().to_vector<double>(),
            (std::vector<double>{0, 0, 0, 2 * 6 * 4, 2 * 6 * 5, 2 * 6 * 6, 0, 0, 0, 0, 0, 0}));
}

TEST(RowSparseFunction, ReturnsRows) {
  const Variable table(kTable);
  auto f = [&](const Tensor& ids, const Tensor& x) {
    GradientTape tape;
    const Tensor y = reduce_sum(square(gather(table, ids)) * x);
    const Tensor g = tape.gradient(y, table);
    return List{y, g, x + 1, -g};
  };
  auto traced = function(f);
  const Tensor x = constant(0.5, float64);
  for (const Tensor& ids : {constant({2, 0, 2}), constant({1, 1, 3})}) {
    const List got = traced(ids, x);
    const List want = f(ids, x);
    ASSERT_EQ(got.size(), 4u);
    EXPECT_TRUE(same_bits(got[0], want[0]));
    expect_same_rows(got[1], want[1]);
    EXPECT_TRUE(same_bits(got[2], want[2]));
    expect_same_rows(got[3], want[3]);
  }
  EXPECT_EQ(tracing_count(traced), 1);
  EXPECT_EQ(traced.get_concrete(constant({2, 0, 2}), x).signature(),
            "function(int32[3], float64[]) -> (float64[], float64[4, 3], float64[], float64[4, 3])");
  // Rows that a tape knows, and a call in another trace.
  const auto twice = [&](auto& call) {
    GradientTape tape;
    tape.watch(x);
    const Tensor rows = call(constant({2, 0, 2}), x)[1];
    return tape.gradient(reduce_sum(rows.to_dense() * kTable), x);
  };
  EXPECT_TRUE(same_bits(twice(traced), twice(f)));
  auto around = function([&](const Tensor& ids) { return traced(ids, x)[3]; });
  expect_same_rows(around(constant({2, 0, 2})), f(constant({2, 0, 2}), x)[3]);
}

TEST(RowSparseFunction, ReturnsDenseTensorsWhereLengthsAreOpen) {
  auto traced = function(
      [](const Tensor& table, const Tensor& ids) {
        GradientTape tape;
        tape.watch(table);
        return tape.gradient(reduce_sum(gather(table, ids)), table);
      },
      {.reduce_retracing = true});
  for (const std::int64_t rows : {4, 5, 6}) {
    const Tensor g = traced(ones({rows, 2}), constant({1, 1}));
    EXPECT_FALSE(g.is_row_sparse());
    EXPECT_EQ(g.shape(), (Shape{rows, 2}));
    EXPECT_EQ(reduce_sum(g).item<float>(), 4);
  }
}

// In a trace a part keeps as many rows as there are; those of other parts are zeros.
TEST(RowSparseFunction, ConcatSplitsRowsInATrace) {
  for (const int axis : {0, 1}) {
    auto f = [axis](const Tensor& a, const Tensor& b, const Tensor& ids) {
      GradientTape tape;
      tape.watch(List{a, b});
      const Tensor y = gather(concat({a, zeros({axis == 0 ? 0 : 2, axis == 0 ? 3 : 0}, float64), b}, axis), ids);
      const List g = tape.gradient(reduce_sum(exp(y)), List{a, b});
      EXPECT_TRUE(g[0].is_row_sparse());
      EXPECT_TRUE(g[1].is_row_sparse());
      return List{g[0].to_dense(), g[1].to_dense()};
    };
    auto traced = function(f);
    const Tensor a = kTable(slice(0, 2));
    const Tensor b = kTable(slice(2, 4)) * 0.1;
    const Tensor ids = axis == 0 ? constant({3, 0, 3, 1}) : constant({1, 0, 1});
    const List got = traced(a, b, ids);
    const List want = f(a, b, ids);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << axis << i;
  }
}

// A branch in a trace gets the dense tensor; in plain code it is just run.
TEST(RowSparseFunction, ControlFlowHasDenseGradientsInATrace) {
  const Variable table(kTable);
  auto f = [&](const Tensor& ids) {
    GradientTape tape;
    const Tensor y = cond(
        reduce_sum(ids) > 2, [&] { return reduce_sum(gather(table, ids)); },
        [&] { return reduce_sum(gather(table, ids) * 2.0); });
    return tape.gradient(y, table).to_dense();
  };
  auto traced = function(f);
  for (const Tensor& ids : {constant({0, 1}), constant({3, 3})}) EXPECT_TRUE(same_bits(traced(ids), f(ids)));
}

TEST(RowSparseJacobian, OfAnEmbeddingIsDense) {
  const Variable table(kTable);
  const Tensor ids = constant({2, 0, 2});
  const auto y_of = [&] { return tanh(reduce_sum(embedding_lookup(table, ids) * 0.1, 1)); };
  const auto jacobian_of = [&] {
    GradientTape tape;
    const Tensor y = y_of();
    return tape.jacobian(y, table);
  };
  const Tensor got = jacobian_of();
  EXPECT_FALSE(got.is_row_sparse());
  ASSERT_EQ(got.shape(), (Shape{3, 4, 3}));
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    const Tensor y = y_of()(i);
    EXPECT_EQ(testing::difference(got(i), tape.gradient(y, table).to_dense(), {.relative = 1e-15}), "") << i;
  }
  auto traced = function(jacobian_of);
  EXPECT_EQ(testing::difference(traced(), got, {.relative = 1e-15}), "");
}

}  // namespace
}  // namespace capstan
