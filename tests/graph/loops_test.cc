#include "src/graph/loops.h"

#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using Access = FusedLoop::Access;
using testing::Tensors;
using testing::trace;

void expect_placement(const Shape& in, const Shape& out, Access access, std::int64_t columns) {
  const std::optional<Placement> placement = placement_of(in, out);
  ASSERT_TRUE(placement.has_value()) << in.to_string() << " in " << out.to_string();
  EXPECT_EQ(placement->access, access) << in.to_string() << " in " << out.to_string();
  EXPECT_EQ(placement->columns, columns) << in.to_string() << " in " << out.to_string();
}

TEST(Loops, PlacesOperandsInRowsAndColumns) {
  expect_placement({4, 6}, {4, 6}, Access::kFull, 0);
  expect_placement({6}, {1, 6}, Access::kFull, 0);
  expect_placement({}, {4, 6}, Access::kScalar, 0);
  expect_placement({1, 1}, {4, 6}, Access::kScalar, 0);
  expect_placement({6}, {4, 6}, Access::kRow, 6);
  expect_placement({1, 6}, {4, 6}, Access::kRow, 6);
  expect_placement({3, 4}, {2, 3, 4}, Access::kRow, 12);
  expect_placement({4}, {2, 3, 4}, Access::kRow, 4);
  expect_placement({4, 1}, {4, 6}, Access::kColumn, 6);
  expect_placement({2, 1, 1}, {2, 3, 4}, Access::kColumn, 12);
  expect_placement({2, 3, 1}, {2, 3, 4}, Access::kColumn, 4);
  expect_placement({4, 1}, {4, 4, 1}, Access::kRow, 4);
  EXPECT_FALSE(placement_of({3, 1}, {2, 3, 4}).has_value());
  EXPECT_FALSE(placement_of({2, 1, 4}, {2, 3, 4}).has_value());
}

TEST(Loops, KnowsSumsOfEverythingAndOfRows) {
  const auto sum = [](const Shape& shape, const auto& f) {
    const Graph graph = trace({{shape}}, [&](const Tensors& in) -> Tensors { return {f(in[0])}; });
    return sum_of(graph, graph.nodes[0]);
  };
  const auto all = sum({4, 6}, [](const Tensor& x) { return reduce_mean(x); });
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->columns, 0);
  EXPECT_EQ(all->divisor, 24);
  const auto rows = sum({2, 3, 4}, [](const Tensor& x) { return reduce_sum(x, {0, 1}, {.keepdims = true}); });
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->columns, 4);
  EXPECT_EQ(rows->divisor, 1);
  const auto like = sum({4, 6}, [](const Tensor& x) { return sum_like(x, constant({1.0, 2.0, 3.0, 4.0, 5.0, 6.0})); });
  ASSERT_TRUE(like.has_value());
  EXPECT_EQ(like->columns, 6);
  EXPECT_FALSE(sum({4, 6}, [](const Tensor& x) { return reduce_sum(x, 1); }).has_value());
  EXPECT_FALSE(sum({2, 3, 4}, [](const Tensor& x) { return reduce_sum(x, 1); }).has_value());
  EXPECT_FALSE(sum({0, 4}, [](const Tensor& x) { return reduce_sum(x, 0); }).has_value());
  EXPECT_FALSE(sum({4, 0}, [](const Tensor& x) { return reduce_sum(x, 0); }).has_value());
  EXPECT_FALSE(sum({4, 6}, [](const Tensor& x) { return reduce_max(x); }).has_value());
}

TEST(Loops, KnowsTheLoopOfANode) {
  const Graph graph = trace({{{4}}}, [](const Tensors& in) -> Tensors {
    const Tensor wide = broadcast_to(in[0], {3, 4});
    const Tensor sum = in[0] + wide;
    return {matmul(sum, sum, {.transpose_b = true})};
  });
  ASSERT_EQ(graph.nodes.size(), 3u);
  const auto copy = loop_of(graph.nodes[0]);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->op->name, "copy");
  EXPECT_EQ(copy->positions, 1u);
  const auto sum = loop_of(graph.nodes[1]);
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->op->name, "add");
  EXPECT_EQ(sum->positions, 3u);
  EXPECT_FALSE(loop_of(graph.nodes[2]).has_value());
}

}  // namespace
}  // namespace capstan
