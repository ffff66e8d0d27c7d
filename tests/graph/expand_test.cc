// Ops that are taken apart, by the text of graphs and by bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;

TEST(Expand, BatchNormalizationIsItsMomentsAndALoop) {
  Graph graph = testing::trace({{{6, 3}}, {{3}}, {{3}}},
                               [](const Tensors& a) { return Tensors{batch_norm_training(a[0], a[1], a[2], 0.5).y}; });
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[6, 3]
%1 = argument float32[3]
%2 = argument float32[3]
%3, %4, %5 = batch_norm_training(%0, %1, %2, epsilon=0.5) float32[6, 3] float32[3] float32[3]
return %3
)");
  expand(graph);
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[6, 3]
%1 = argument float32[3]
%2 = argument float32[3]
%4, %5, %6 = batch_norm_moments(%0, %1, epsilon=0.5) float32[3] float32[3] float32[3]
%7 = subtract(%0, %4) float32[6, 3]
%8 = multiply(%7, %6) float32[6, 3]
%3 = add(%8, %2) float32[6, 3]
return %3
)");
}

TEST(Expand, OnesAreANumberThatIsRepeated) {
  Graph graph = testing::trace({{{4}}}, [](const Tensors& a) { return Tensors{ones_like(a[0])}; });
  expand(graph);
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[4]
%1 = broadcast_like(1:float32, %0) float32[4]
return %1
)");
}

TEST(Expand, LeavesLowPrecisionWhole) {
  Graph graph = testing::trace({{{6, 3}, bfloat16}, {{3}, bfloat16}, {{3}, bfloat16}},
                               [](const Tensors& a) { return Tensors{batch_norm_training(a[0], a[1], a[2], 0.5).y}; });
  const std::string before = testing::text_of(graph);
  expand(graph);
  EXPECT_EQ(testing::text_of(graph), before);
}

// Narrow and wide, few rows and more than a block of them, with the gradient and a relu behind it.
TEST(Expand, KeepsEveryBit) {
  for (const Shape& shape : {Shape{6, 3}, Shape{5, 4, 16}, Shape{700, 24}, Shape{40, 300}, Shape{0, 3}}) {
    for (const DType dtype : {float32, float64}) {
      const Shape channels{shape[-1]};
      const Tensors arguments = {random::normal(shape, 1, 2, dtype, 1), random::uniform(channels, 0.5, 2, dtype, 2),
                                 random::normal(channels, 0, 1, dtype, 3), random::normal(shape, 0, 1, dtype, 4)};
      testing::expect_same_runs(arguments, [](const Tensors& a) {
        GradientTape tape;
        const Tensors sources(a.begin(), a.begin() + 3);
        tape.watch(sources);
        const Tensor y = relu(batch_norm_training(relu(a[0]), a[1], a[2], 1e-3).y) * a[3];
        Tensors results = tape.gradient(y, sources);
        results.push_back(y);
        return results;
      });
    }
  }
}

// The second run reads nothing of the first, and shares no loop with it.
TEST(Expand, ARecomputedFunctionAndItsGradient) {
  const Variable w(testing::filled({2, 2}, 1));
  const auto block = recompute_grad([&](const Tensor& h) { return tanh(matmul(h, w) * h); });
  Graph graph = testing::trace({{{2, 2}}}, [&](const Tensors& a) -> Tensors {
    GradientTape tape;
    tape.watch(a[0]);
    const Tensor y = block(sin(a[0]));
    return {y, tape.gradient(y, a[0])};
  });
  compile(graph);
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[2, 2]
%2 = read Variable float32[2, 2]
%1 = sin(%0) float32[2, 2]
%8 = matmul(%1, %2, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[2, 2]
%9 = multiply(%8, %1) float32[2, 2] in loop 0
%3 = tanh(%9) float32[2, 2] in loop 0
%11 = matmul(%1, %2, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[2, 2] in rerun 1
%12 = multiply(%11, %1) float32[2, 2] in loop 1 in rerun 1
%13 = tanh(%12) float32[2, 2] in loop 1 in rerun 1
%14 = derivative(constant:float32, %13, of="tanh", input=0) float32[2, 2] in loop 1 in rerun 1
%15 = derivative(%14, %1, of="multiply", input=0) float32[2, 2] in loop 1 in rerun 1
%16 = derivative(%14, %11, of="multiply", input=1) float32[2, 2] in loop 1 in rerun 1
%17 = matmul(%15, %2, transpose_a=false, transpose_b=true, adjoint_a=false, adjoint_b=false) float32[2, 2] in rerun 1
%5 = add(%16, %17) float32[2, 2] in loop 2 in rerun 1
%6 = derivative(%5, %0, of="sin", input=0) float32[2, 2]
return %3, %6
)");
}

TEST(Expand, WhatARecomputedFunctionDrawsIsKept) {
  const auto block = recompute_grad([](const Tensor& h) { return h * random::normal({2}) * h; });
  Graph graph = testing::trace({{{2}}}, [&](const Tensors& a) -> Tensors {
    GradientTape tape;
    tape.watch(a[0]);
    return {tape.gradient(block(a[0]), a[0])};
  });
  compile(graph);
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[2]
%6 = random_normal(, shape=[2], mean=0.0, stddev=1.0, dtype="float32", seed=none) float32[2]
%9 = multiply(%0, %6) float32[2] in loop 0 in rerun 1
%11 = derivative(constant:float32, %0, of="multiply", input=0) float32[2] in loop 0 in rerun 1
%12 = derivative(constant:float32, %9, of="multiply", input=1) float32[2] in loop 0 in rerun 1
%13 = derivative(%11, %6, of="multiply", input=0) float32[2] in loop 0 in rerun 1
%4 = add(%12, %13) float32[2] in loop 0 in rerun 1
return %4
)");
}

// A log that leaves the graph needs its node, and so does one of draws in a loop.
TEST(Expand, LeavesWhatLooksAtValues) {
  const auto block = recompute_grad([](const Tensor& h) {
    return while_loop([](const Tensor& x) { return reduce_sum(x) < 9.0; },
                      [](const Tensor& x) { return x * random::uniform({2}, 2, 3); }, h);
  });
  Graph graph = testing::trace({{{2}}}, [&](const Tensors& a) -> Tensors {
    GradientTape tape;
    tape.watch(a[0]);
    return {tape.gradient(block(a[0]), a[0])};
  });
  compile(graph);
  std::vector<std::string_view> names;
  for (const Graph::Node& node : graph.nodes) names.push_back(node.op->name);
  EXPECT_NE(std::find(names.begin(), names.end(), "recompute_grad"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "gradient"), names.end());
}

}  // namespace
}  // namespace capstan
