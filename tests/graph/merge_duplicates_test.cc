#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;
using testing::text_of;
using testing::trace;

std::size_t count_of(const Graph& graph, std::string_view name) {
  std::size_t count = 0;
  for (const Graph::Node& node : graph.nodes) count += node.op->name == name ? 1 : 0;
  return count;
}

TEST(MergeDuplicates, EqualOpsOfEqualOperandsBecomeOne) {
  Graph graph = trace({{{2}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensor a = tanh(in[0]);
    const Tensor b = tanh(in[0]);
    const Tensor first = exp(a);
    return {first + exp(b), b};
  });
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2]
%1 = tanh(%0) float32[2]
%2 = tanh(%0) float32[2]
%3 = exp(%1) float32[2]
%4 = exp(%2) float32[2]
%5 = add(%3, %4) float32[2]
return %5, %2
)");
  merge_duplicates(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2]
%1 = tanh(%0) float32[2]
%3 = exp(%1) float32[2]
%5 = add(%3, %3) float32[2]
return %5, %1
)");
}

TEST(MergeDuplicates, TheOrderOfOperandsAndAttributesCount) {
  Graph graph = trace({{{2, 2}, float32}, {{2, 2}, float32}}, [](const Tensors& in) -> Tensors {
    return {in[0] - in[1], in[1] - in[0], reduce_sum(in[0], 0), reduce_sum(in[0], 1), reduce_sum(in[0], 0)};
  });
  merge_duplicates(graph);
  EXPECT_EQ(count_of(graph, "subtract"), 2u);
  EXPECT_EQ(count_of(graph, "reduce_sum"), 2u);
  EXPECT_EQ(graph.results[2], graph.results[4]);
}

TEST(MergeDuplicates, EqualNumbersBecomeOne) {
  Graph graph = trace({{{2}, float32}}, [](const Tensors& in) -> Tensors {
    return {in[0] * 2.0, in[0] * constant(2.0), in[0] * constant({2.0}), in[0] + 0.0, in[0] + -0.0};
  });
  merge_duplicates(graph);
  EXPECT_EQ(graph.results[0], graph.results[1]);
  // Another shape, and another zero.
  EXPECT_NE(graph.results[0], graph.results[2]);
  EXPECT_NE(graph.results[3], graph.results[4]);
}

TEST(MergeDuplicates, EffectsStayTwo) {
  int calls = 0;
  Graph graph = trace({{{3}, float32}}, [&](const Tensors& in) -> Tensors {
    const auto next = [&calls] { return static_cast<double>(++calls); };
    return {random::uniform({3}), random::uniform({3}), in[0] * host_value(next), in[0] * host_value(next)};
  });
  const std::size_t nodes = graph.nodes.size();
  merge_duplicates(graph);
  EXPECT_EQ(graph.nodes.size(), nodes);
}

TEST(MergeDuplicates, AllOutputsOfATwinAreReplaced) {
  Graph graph = trace({{{2, 3}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensors a = unstack(in[0]);
    const Tensors b = unstack(in[0]);
    return {a[0] + b[1], a[0] + a[1]};
  });
  merge_duplicates(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%1, %2 = unstack(%0, axis=0, num=none) float32[3] float32[3]
%5 = add(%1, %2) float32[3]
return %5, %5
)");
}

TEST(MergeDuplicates, WrittenVariablesGetTheTwin) {
  const Variable v({1.0, 2.0});
  const Variable w({1.0, 2.0});
  Graph graph = trace({{{2}, float32}}, [&](const Tensors& in) -> Tensors {
    v.assign(in[0] * 3.0);
    w.assign(in[0] * 3.0);
    return {};
  });
  merge_duplicates(graph);
  EXPECT_EQ(graph.captured[0].written, graph.captured[1].written);
  testing::run(Program(graph), {constant({1.0, 2.0})});
  EXPECT_EQ(w.value().to_vector<double>(), (std::vector<double>{3, 6}));
  // Two variables, two buffers: writing one later leaves the other alone.
  v.assign_add(constant({1.0, 1.0}));
  EXPECT_EQ(w.value().to_vector<double>(), (std::vector<double>{3, 6}));
}

}  // namespace
}  // namespace capstan
