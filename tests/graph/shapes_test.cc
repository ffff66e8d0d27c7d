#include "src/graph/shapes.h"

#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;
using testing::text_of;
using testing::trace;

TEST(DetachShapes, AStandInTakesThePlaceOfWhatIsReadForItsShape) {
  Graph graph = trace({{{3}, float32}, {{2, 3}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensor like = exp(in[1]);
    return {broadcast_like(in[0], like), sum_like(in[1], in[0]), size(like)};
  });
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[3]
%1 = argument float32[2, 3]
%2 = exp(%1) float32[2, 3]
%3 = broadcast_like(%0, %2) float32[2, 3]
%4 = sum_like(%1, %0) float32[3]
%5 = size(%2, out_type="int32") int32[]
return %3, %4, %5
)");
  detach_shapes(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[3]
%1 = argument float32[2, 3]
%2 = exp(%1) float32[2, 3]
%3 = broadcast_like(%0, constant:float32) float32[2, 3]
%4 = sum_like(%1, constant:float32) float32[3]
%5 = size(constant:float32, out_type="int32") int32[]
return %3, %4, %5
)");
  // One for each dtype and shape.
  EXPECT_EQ(graph.nodes[1].inputs[1], graph.nodes[3].inputs[0]);
  remove_dead(graph);
  EXPECT_EQ(graph.nodes.size(), 3u);
}

TEST(FoldConstants, WhatFollowsFromShapesIsANumber) {
  Graph graph = trace({{{2, 3}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensor count = cast(size(in[0]), float32);
    const Tensor sum = reduce_sum(in[0]);
    return {sum / (count - 1.0), shape(in[0])};
  });
  detach_shapes(graph);
  fold_constants(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%3 = reduce_sum(%0, axis=none, keepdims=false) float32[]
%6 = divide(%3, 5:float32) float32[]
return %6, constant:int32
)");
  EXPECT_EQ(testing::run(Program(graph), {ones({2, 3})})[1].to_vector<double>(), (std::vector<double>{2, 3}));
}

TEST(FoldConstants, LargeResultsAndEffectsAreLeftToRuns) {
  int calls = 0;
  Graph graph = trace({}, [&](const Tensors&) -> Tensors {
    const Tensor row = broadcast_to(host_value([&] { return ++calls; }), {2});
    return {row, random::uniform({2})};
  });
  const std::size_t nodes = graph.nodes.size();
  fold_constants(graph);
  EXPECT_EQ(graph.nodes.size(), nodes);
  EXPECT_EQ(calls, 0);

  Graph large = trace({{{20}, float32}}, [](const Tensors& in) -> Tensors { return {zeros_like(in[0])}; });
  detach_shapes(large);
  const std::string before = text_of(large);
  fold_constants(large);
  EXPECT_EQ(text_of(large), before);
  EXPECT_EQ(testing::run(Program(large), {ones({20})})[0].to_vector<double>(), std::vector<double>(20, 0.0));
}

TEST(WithShapes, InfersEveryShapeAnew) {
  const Graph graph = trace({{{2, 3}, float32}}, [](const Tensors& in) -> Tensors {
    return {reshape(exp(in[0]), {-1}), reduce_mean(in[0], 1)};
  });
  const Shape longer[] = {{4, 5}};
  const Graph other = with_shapes(graph, longer);
  EXPECT_EQ(text_of(other), R"(
%0 = argument float32[4, 5]
%1 = exp(%0) float32[4, 5]
%2 = reshape(%1, shape=[-1]) float32[20]
%3 = reduce_mean(%0, axis=[1], keepdims=false) float32[4]
return %2, %3
)");
  const Shape scalar[] = {{}};
  EXPECT_THROW(with_shapes(graph, scalar), Error);
}

TEST(WithShapes, AVariableKeepsItsShape) {
  const Variable v({1.0, 2.0});
  const Graph graph = trace({{{2}, float32}}, [&](const Tensors& in) -> Tensors {
    v.assign(in[0]);
    return {};
  });
  const Shape longer[] = {{3}};
  try {
    with_shapes(graph, longer);
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "assign: a variable has shape [2], the value [3]");
  }
}

}  // namespace
}  // namespace capstan
