// The lists of passes.
#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;
using testing::text_of;
using testing::trace;

Graph example() {
  return trace({{{2, 3}}}, [](const Tensors& in) -> Tensors {
    static_cast<void>(exp(in[0]));
    const Tensor x = tanh(in[0]) * 1.0;
    const Tensor count = cast(size(in[0]), float32);
    return {reduce_sum(x - tanh(in[0]) / count)};
  });
}

TEST(Tidy, WhatATraceKeepsStillServesEveryShape) {
  Graph graph = example();
  tidy(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%2 = tanh(%0) float32[2, 3]
%4 = multiply(%2, 1:float32) float32[2, 3]
%5 = size(%0, out_type="int32") int32[]
%6 = cast(%5, dtype="float32") float32[]
%8 = divide(%2, %6) float32[2, 3]
%9 = subtract(%4, %8) float32[2, 3]
%10 = reduce_sum(%9, axis=none, keepdims=false) float32[]
return %10
)");
}

TEST(Compile, WhatAProgramRuns) {
  Graph graph = example();
  compile(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%2 = tanh(%0) float32[2, 3] in loop 0
%8 = divide(%2, 6:float32) float32[2, 3] in loop 0
%9 = subtract(%2, %8) float32[2, 3] in loop 0
%10 = reduce_sum(%9, axis=none, keepdims=false) float32[] in loop 0
return %10
)");
}

TEST(Compile, OnceMoreChangesNothing) {
  Graph graph = example();
  compile(graph);
  const std::string text = text_of(graph);
  compile(graph);
  EXPECT_EQ(text_of(graph), text);
}

TEST(Compile, FusesNothingIfToldSo) {
  Graph graph = example();
  fuse_loops(false);
  compile(graph);
  fuse_loops(true);
  for (const Graph::Node& node : graph.nodes) EXPECT_EQ(node.group, Graph::kNone);
}

}  // namespace
}  // namespace capstan
