// What is known of a graph before it runs: captures and what follows from them.
#include <cmath>

#include "src/graph/known.h"

#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "src/graph/cut.h"
#include "src/graph/tracer.h"
#include "tests/support/traced.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

struct Traced {
  Graph graph;
  Tensors captures;
};

// p * sin(x) * (2 + 1), with x and two constants that are made in the trace.
Traced trace_of(const Tensor& x, const Tensor& other) {
  GraphTracer tracer("body", GraphTracer::OfFunction{true});
  const Tensor p = tracer.add_argument(float64, {});
  Tensors results;
  {
    const Tensor three = constant(2.0, float64) + constant(1.0, float64);
    const Tensor unused = cos(x);
    results = {p * sin(x) * three, other * other};
  }
  Traced traced{tracer.finish(results), {}};
  results.clear();
  traced.captures = tracer.captures();
  return traced;
}

TEST(Known, CapturesAreArgumentsWithTheOpsOnThem) {
  const Tensor x = constant(0.5, float64), other = constant(3.0, float64);
  const Traced traced = trace_of(x, other);
  ASSERT_EQ(traced.captures.size(), 2u);
  EXPECT_EQ(traced.captures[0].block(), x.block());
  EXPECT_EQ(traced.captures[1].block(), other.block());
  EXPECT_EQ(traced.graph.arguments.size(), 3u);
  EXPECT_EQ(text_of(traced.graph), R"(
%0 = argument float64[]
%4 = argument float64[]
%9 = argument float64[]
%6 = sin(%4) float64[]
%7 = multiply(%0, %6) float64[]
%8 = multiply(%7, 3:float64) float64[]
%10 = multiply(%9, %9) float64[]
return %8, %10
)");
}

TEST(Known, ProgramsHaveConstants) {
  const Tensor x = constant(0.5, float64), other = constant(3.0, float64);
  Graph graph = trace_of(x, other).graph;
  bind_known(graph);
  EXPECT_EQ(graph.arguments.size(), 1u);
  EXPECT_EQ(graph.nodes.size(), 2u);
  const Tensors results = run(graph, {constant(2.0, float64)});
  expect_values(results[0], {6 * std::sin(0.5)});
  expect_values(results[1], {9});
}

TEST(Known, OpenCapturesStayArguments) {
  const Tensor x = constant(0.5, float64), other = constant(3.0, float64);
  Graph graph = trace_of(x, other).graph;
  bind_known(graph, {true, false});
  EXPECT_EQ(graph.arguments.size(), 2u);
  EXPECT_EQ(graph.nodes.size(), 3u);
  for (const Graph::Node& node : graph.nodes) EXPECT_FALSE(node.is_known);
  const Tensors results = run(graph, {constant(2.0, float64), constant(1.0, float64)});
  expect_values(results[0], {6 * std::sin(1.0)});
  expect_values(results[1], {9});
}

TEST(Known, ARunComputesWhatSomebodyKnows) {
  const Tensor x = constant(0.5, float64), other = constant(3.0, float64);
  const Traced traced = trace_of(x, other);
  const Tensors inputs = {constant(2.0, float64), x, other};
  EXPECT_EQ(nodes_to_skip(traced.graph, inputs), (std::vector<bool>{true, false, false, true}));
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(nodes_to_skip(traced.graph, inputs), (std::vector<bool>{false, false, false, true}));
  const Tensors results = run_graph(traced.graph, inputs);
  expect_values(tape.gradient(results, x), {6 * std::cos(0.5)});
}

TEST(Known, LargeIntermediateResultsAreNotKept) {
  const Tensor x = ones({1000}, float64);
  GraphTracer tracer("body", GraphTracer::OfFunction{true});
  const Tensor p = tracer.add_argument(float64, {});
  const Graph graph = tracer.finish({p * reduce_sum(sqrt(exp(x)))});
  std::int64_t kept = 0;
  for (const Graph::ValueInfo& value : graph.values) kept += value.known.has_value() ? value.known.size() : 0;
  EXPECT_EQ(kept, 1001);  // x and the sum
  Graph bound = graph;
  bind_known(bound);
  tidy(bound);
  EXPECT_EQ(bound.nodes.size(), 1u);
}

TEST(Cut, NamesTheOpThatAllWaysPassThrough) {
  const Graph graph = trace({{{2}}, {{2}}}, [](const Tensors& in) {
    return Tensors{floor(in[0] * 2.0) + in[1], in[1] * 2.0, floor(in[0]) + in[0]};
  });
  EXPECT_EQ(flow_between(graph, 0, 0).cut->name, "floor");
  EXPECT_TRUE(flow_between(graph, 1, 0).exists);
  EXPECT_EQ(flow_between(graph, 1, 0).cut, nullptr);
  EXPECT_FALSE(flow_between(graph, 0, 1).exists);
  EXPECT_EQ(flow_between(graph, 0, 2).cut, nullptr);
}

}  // namespace
}  // namespace capstan::testing
