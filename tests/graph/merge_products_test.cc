#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/thread_pool.h"
#include "src/graph/program.h"
#include "src/ops/math/products.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Body;
using testing::filled;
using testing::Tensors;
using testing::trace_like;

std::string merged(const Tensors& arguments, const Body& body) {
  Graph graph = trace_like(arguments, body);
  form_groups(graph);
  merge_products(graph);
  return testing::text_of(graph);
}

std::size_t count(const Tensors& arguments, const Body& body) {
  Graph graph = trace_like(arguments, body);
  merge_products(graph);
  std::size_t found = 0;
  for (const Graph::Node& node : graph.nodes) found += node.op == &kProducts ? 1 : 0;
  return found;
}

void expect_same(const Tensors& arguments, const Body& body) {
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    testing::expect_same_runs(arguments, body);
  }
  set_thread_count(0);
}

TEST(MergeProducts, OfOneLeftOperandThatAreLarge) {
  const Tensors in = {filled({64, 128}, 1), filled({128, 130}, 2), filled({128, 140}, 3), filled({128, 150}, 4)};
  const Body body = [](const Tensors& x) -> Tensors {
    return {matmul(x[0], x[1]), matmul(x[0], x[2]), matmul(x[0], x[3])};
  };
  EXPECT_EQ(merged(in, body), R"(
%0 = argument float32[64, 128]
%1 = argument float32[128, 130]
%2 = argument float32[128, 140]
%3 = argument float32[128, 150]
%4, %5, %6 = products(%0, %1, %2, %3, transpose_a=false, transpose_b=false, same_right=false) float32[64, 130] float32[64, 140] float32[64, 150]
return %4, %5, %6
)");
  expect_same(in, body);
  // What is short runs at once as it is; what is long has nothing to gain.
  const Tensors small = {filled({8, 8}, 1), filled({8, 9}, 2), filled({8, 10}, 3), filled({8, 11}, 4)};
  EXPECT_EQ(count(small, body), 0u);
  const Tensors large = {filled({512, 512}, 1), filled({512, 512}, 2), filled({512, 512}, 3), filled({512, 512}, 4)};
  EXPECT_EQ(count(large, body), 0u);
}

TEST(MergeProducts, OfOneRightOperandThatIsPacked) {
  for (const DType dtype : {float32, float64}) {
    // One panel and several, several blocks along the inner axis, more columns than a block has, of several heights.
    for (const Shape& right : {Shape{9, 30}, Shape{100, 40}, Shape{300, 700}, Shape{1500, 60}}) {
      SCOPED_TRACE(right.to_string());
      const Tensors in = {filled({4, right[1]}, 1, dtype), filled({7, right[1]}, 2, dtype),
                          filled({2, right[1]}, 3, dtype), filled(right, 4, dtype)};
      const Body body = [](const Tensors& x) -> Tensors {
        Tensors y;
        for (std::size_t i = 0; i < 3; ++i) y.push_back(matmul(x[i], x[3], {.transpose_b = true}));
        return y;
      };
      EXPECT_EQ(count(in, body), 1u);
      expect_same(in, body);
    }
  }
}

TEST(MergeProducts, OfTransposedOperands) {
  // Of a left operand that is stored transposed: nothing to gain.
  const Tensors in = {filled({300, 400}, 1), filled({300, 30}, 2), filled({300, 40}, 3)};
  EXPECT_EQ(count(in,
                  [](const Tensors& x) -> Tensors {
                    return {matmul(x[0], x[1], {.transpose_a = true}), matmul(x[0], x[2], {.transpose_a = true})};
                  }),
            0u);
  // Both operands transposed, the right one in common.
  const Tensors wide = {filled({300, 8}, 1), filled({300, 9}, 2), filled({200, 300}, 3)};
  const Body both = [](const Tensors& x) -> Tensors {
    return {matmul(x[0], x[2], {.transpose_a = true, .transpose_b = true}),
            matmul(x[1], x[2], {.transpose_a = true, .transpose_b = true})};
  };
  EXPECT_EQ(count(wide, both), 1u);
  expect_same(wide, both);
}

TEST(MergeProducts, StandBetweenWhatTheyReadAndWhatReadsThem) {
  const Tensors in = {filled({64, 128}, 1), filled({128, 128}, 2), filled({128, 128}, 3)};
  // The second operand is made behind the first product, and that is read at the end.
  const Body later = [](const Tensors& x) -> Tensors {
    const Tensor first = matmul(x[0], x[1]);
    const Tensor second = matmul(x[0], transpose(tanh(x[2])));
    return {second, reduce_max(first, 0)};
  };
  EXPECT_EQ(count(in, later), 1u);
  expect_same(in, later);
  // One waits for the other.
  const Body waits = [](const Tensors& x) -> Tensors {
    const Tensor first = matmul(x[0], x[1]);
    return {matmul(x[0], reshape(concat({first, first}, 0), {128, 128}))};
  };
  EXPECT_EQ(count(in, waits), 0u);
  // As one, two pairs would wait for each other.
  const Tensors square = {filled({128, 128}, 1), filled({128, 128}, 2), filled({128, 128}, 3)};
  const Body crossed = [](const Tensors& x) -> Tensors {
    const Tensor a = matmul(x[0], x[1]);
    const Tensor b = matmul(x[2], x[1] + 1.0);
    return {matmul(x[0], transpose(b)), matmul(x[2], transpose(a))};
  };
  EXPECT_LE(count(square, crossed), 1u);
  expect_same(square, crossed);
}

TEST(MergeProducts, ALoopStaysBehindItsLargeProduct) {
  const Tensors in = {filled({64, 128}, 1), filled({128, 128}, 2), filled({128, 128}, 3)};
  const Body body = [](const Tensors& x) -> Tensors { return {relu(matmul(x[0], x[1])), tanh(matmul(x[0], x[2]))}; };
  EXPECT_EQ(merged(in, body).find("products"), std::string::npos);
  expect_same(in, body);
}

TEST(MergeProducts, InTheGradientOfTwoTowers) {
  const Variable w(filled({200, 100}, 1)), v(filled({100, 50}, 2));
  const Tensors in = {filled({8, 200}, 3), filled({8, 200}, 4)};
  const Body body = [&](const Tensors& x) -> Tensors {
    GradientTape tape;
    const auto tower = [&](const Tensor& y) { return matmul(relu(matmul(y, w)), v); };
    const Tensor loss = reduce_sum(tower(x[0]) * tower(x[1]));
    const std::vector<Tensor> gradients = tape.gradient(loss, {w, v});
    return {loss, gradients[0], gradients[1]};
  };
  const Program program(trace_like(in, body));
  std::size_t found = 0;
  for (const Graph::Node& node : program.graph().nodes) found += node.op == &kProducts ? 1 : 0;
  EXPECT_GE(found, 1u);
  expect_same(in, body);
}

TEST(MergeProducts, NothingAndRowsAndColumns) {
  for (const Shape& left : {Shape{0, 5}, Shape{3, 0}, Shape{1, 5}, Shape{3, 5}}) {
    for (const std::int64_t columns : {0, 1, 6}) {
      const Tensors in = {filled(left, 1), filled(left, 2), filled({columns, left[1]}, 3)};
      expect_same(in, [](const Tensors& x) -> Tensors {
        return {matmul(x[0], x[2], {.transpose_b = true}), matmul(x[1], x[2], {.transpose_b = true})};
      });
    }
  }
}

}  // namespace
}  // namespace capstan
