#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Argument;
using testing::Tensors;
using testing::text_of;
using testing::trace;

// Names of the nodes of each loop, in order, one loop after the other; of others alone.
std::vector<std::string> loops_of(const Graph& graph) {
  std::vector<std::string> loops;
  std::int32_t last = Graph::kNone;
  for (const Graph::Node& node : graph.nodes) {
    if (node.group != Graph::kNone && node.group == last) {
      loops.back() += " " + std::string(node.op->name);
    } else {
      loops.push_back((node.group == Graph::kNone ? "" : "loop: ") + std::string(node.op->name));
    }
    last = node.group;
  }
  return loops;
}

using Loops = std::vector<std::string>;

Loops grouped(const std::vector<Argument>& arguments, const testing::Body& body) {
  Graph graph = trace(arguments, body);
  compile(graph);
  // Each group is one piece, and each value is made before it is read.
  std::set<std::int32_t> ended;
  std::set<Graph::Value> made(graph.arguments.begin(), graph.arguments.end());
  for (const Graph::Captured& captured : graph.captured) made.insert(captured.value);
  std::int32_t last = Graph::kNone;
  for (const Graph::Node& node : graph.nodes) {
    if (node.group != last) ended.insert(last);
    last = node.group;
    if (last != Graph::kNone) {
      EXPECT_EQ(ended.count(last), 0u) << text_of(graph);
    }
    for (const Graph::Value input : node.inputs) {
      const bool constant = graph.values[static_cast<std::size_t>(input)].constant.has_value();
      EXPECT_TRUE(constant || made.count(input) != 0) << text_of(graph);
    }
    made.insert(node.outputs.begin(), node.outputs.end());
  }
  return loops_of(graph);
}

const std::vector<Argument> kTwo = {{{4, 6}}, {{4, 6}}};

TEST(FormGroups, GraphTextBeforeAndAfter) {
  Graph graph = trace(kTwo, [](const Tensors& in) -> Tensors {
    const Tensor a = tanh(in[0]) * in[1];
    const Tensor m = matmul(a, in[1], {.transpose_b = true});
    return {reduce_sum(exp(m) + 2.0), sqrt(a)};
  });
  form_groups(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[4, 6]
%1 = argument float32[4, 6]
%2 = tanh(%0) float32[4, 6] in loop 0
%3 = multiply(%2, %1) float32[4, 6] in loop 0
%9 = sqrt(%3) float32[4, 6] in loop 0
%4 = matmul(%3, %1, transpose_a=false, transpose_b=true, adjoint_a=false, adjoint_b=false) float32[4, 4]
%5 = exp(%4) float32[4, 4] in loop 1
%7 = add(%5, 2:float32) float32[4, 4] in loop 1
%8 = reduce_sum(%7, axis=none, keepdims=false) float32[] in loop 1
return %8, %9
)");
}

TEST(FormGroups, ANodeThatWaitsForTheGroupElsewhereStaysOutside) {
  // b reads a by way of a sum over columns, which is no loop.
  EXPECT_EQ(grouped(kTwo,
                    [](const Tensors& in) -> Tensors {
                      const Tensor a = exp(in[0]);
                      return {a * reduce_max(a, 1, {.keepdims = true})};
                    }),
            (Loops{"loop: exp", "reduce_max", "loop: multiply"}));
  // The same by way of two loops of another size.
  EXPECT_EQ(grouped(kTwo,
                    [](const Tensors& in) -> Tensors {
                      const Tensor a = exp(in[0]);
                      const Tensor far = sqrt(square(matmul(a, in[1], {.transpose_b = true})));
                      return {a * reduce_max(far)};
                    }),
            (Loops{"loop: exp", "matmul", "loop: square sqrt", "reduce_max", "loop: multiply"}));
}

TEST(FormGroups, WhatReadsASumWaitsForTheLoopToEnd) {
  EXPECT_EQ(grouped(kTwo,
                    [](const Tensors& in) -> Tensors {
                      const Tensor a = exp(in[0]);
                      return {a - reduce_mean(a)};
                    }),
            (Loops{"loop: exp reduce_mean", "loop: subtract"}));
  EXPECT_EQ(grouped(kTwo,
                    [](const Tensors& in) -> Tensors {
                      const Tensor a = exp(in[0]);
                      return {a * tanh(reduce_sum(a, 0))};
                    }),
            (Loops{"loop: exp reduce_sum", "loop: tanh", "loop: multiply"}));
}

TEST(FormGroups, SumsJoinWhatTheySum) {
  const auto joins = [](const Shape& shape, const auto& sum) {
    return grouped({{shape}}, [&](const Tensors& in) -> Tensors { return {sum(exp(in[0]))}; }).size() == 1;
  };
  const auto all = [](const Tensor& x) { return reduce_sum(x); };
  const auto over_rows = [](const Tensor& x) { return reduce_mean(x, 0); };
  const auto over_columns = [](const Tensor& x) { return reduce_sum(x, 1); };
  EXPECT_TRUE(joins({4, 6}, all));
  EXPECT_TRUE(joins({4, 6}, over_rows));
  EXPECT_FALSE(joins({4, 6}, over_columns));
  EXPECT_FALSE(joins({4, 6}, [](const Tensor& x) { return reduce_max(x); }));
  // Blocks of rows have to fit into a cache.
  EXPECT_TRUE(joins({4, 256}, over_rows));
  EXPECT_FALSE(joins({4, 257}, over_rows));
  // A sum alone has a kernel.
  EXPECT_EQ(grouped(kTwo, [](const Tensors& in) -> Tensors { return {reduce_sum(in[0])}; }), (Loops{"reduce_sum"}));
}

TEST(FormGroups, OtherShapesAndDTypesAreOtherLoops) {
  EXPECT_EQ(grouped({{{4}}, {{5}}}, [](const Tensors& in) -> Tensors { return {exp(in[0]), exp(in[1])}; }).size(), 2u);
  // As many elements and a common operand suffice, whatever the shape.
  EXPECT_EQ(grouped({{{4, 6}}},
                    [](const Tensors& in) -> Tensors {
                      return {exp(in[0]), reshape(sqrt(reshape(in[0], {24})), {6, 4})};
                    }),
            (Loops{"loop: exp", "reshape", "loop: sqrt", "reshape"}));
  EXPECT_EQ(grouped({{{4}}}, [](const Tensors& in) -> Tensors { return {sqrt(cast(exp(in[0]), float64))}; }),
            (Loops{"loop: exp", "cast", "loop: sqrt"}));
  EXPECT_EQ(grouped({{{4}, int32}}, [](const Tensors& in) -> Tensors { return {in[0] + in[0] * 2}; }),
            (Loops{"multiply", "add"}));
  EXPECT_EQ(grouped({{{4}, bfloat16}}, [](const Tensors& in) -> Tensors { return {exp(exp(in[0]))}; }),
            (Loops{"exp", "exp"}));
  EXPECT_EQ(grouped({{{0, 3}}}, [](const Tensors& in) -> Tensors { return {exp(exp(in[0]))}; }), (Loops{"exp", "exp"}));
}

TEST(FormGroups, TruthValuesAreMembers) {
  EXPECT_EQ(grouped(kTwo,
                    [](const Tensors& in) -> Tensors {
                      const Tensor larger = greater(in[0], in[1]);
                      return {where(larger, in[0], exp(in[1])), larger};
                    }),
            (Loops{"loop: greater exp where"}));
  // Of truth values alone there is no dtype for the loop.
  EXPECT_EQ(
      grouped({{{4}, bool_}}, [](const Tensors& in) -> Tensors { return {logical_not(logical_and(in[0], in[0]))}; }),
      (Loops{"logical_not"}));
}

TEST(FormGroups, RowsAndColumnsAreOperandsOfALoop) {
  const std::vector<Argument> arguments = {{{4, 6}}, {{6}}, {{4, 1}}, {{}}};
  EXPECT_EQ(grouped(arguments, [](const Tensors& in) -> Tensors { return {exp(in[0] * in[1] + in[2]) - in[3]}; }),
            (Loops{"loop: multiply add exp subtract"}));
  // Rows of different lengths are not.
  EXPECT_EQ(
      grouped({{{2, 3, 4}}, {{4}}, {{3, 4}}}, [](const Tensors& in) -> Tensors { return {(in[0] + in[1]) * in[2]}; }),
      (Loops{"loop: add", "loop: multiply"}));
  // Nor is an axis in the middle, which two lengths do not describe.
  EXPECT_EQ(grouped({{{2, 3, 4}}, {{3, 1}}}, [](const Tensors& in) -> Tensors { return {exp(in[0] + in[1])}; }),
            (Loops{"add", "loop: exp"}));
}

TEST(FormGroups, AnOperandIsReadInOneWayInALoop) {
  // A column of [4, 4] is a row of [4, 4, 1]: as many rows and columns, but other elements.
  const testing::Body body = [](const Tensors& in) -> Tensors {
    const Tensor by_column = in[0] + in[1];
    return {by_column, reshape(in[0], {4, 4, 1}) + in[1]};
  };
  EXPECT_EQ(grouped({{{4, 4}}, {{4, 1}}}, body), (Loops{"loop: add", "reshape", "loop: add"}));
  testing::expect_same_runs({reshape(range(16.0), {4, 4}), reshape(range(4.0), {4, 1})}, body);
}

TEST(FormGroups, EffectsKeepTheirOrderAndStandAlone) {
  std::vector<std::string> said;
  const auto say = [&](const std::string& what) {
    return host_value([&said, what] {
      said.push_back(what);
      return 1.0;
    });
  };
  Graph graph = trace(kTwo, [&](const Tensors& in) -> Tensors {
    const Tensor late = exp(in[0]) * say("first");
    static_cast<void>(say("second"));
    const Tensor early = sqrt(in[1]) * say("third");
    return {early, late};
  });
  const Program program(graph);
  testing::run(program, {ones({4, 6}), ones({4, 6})});
  EXPECT_EQ(said, (std::vector<std::string>{"first", "second", "third"}));
  for (const Graph::Node& node : program.graph().nodes) {
    if (node.has_effect()) {
      EXPECT_EQ(node.group, Graph::kNone);
    }
  }
}

TEST(FormGroups, ALoopThatIsNeededEarlyDoesNotBringALateEffectForward) {
  std::vector<std::string> said;
  const auto say = [&](const std::string& what) {
    return host_value([&said, what] {
      said.push_back(what);
      return 1.0;
    });
  };
  Graph graph = trace(kTwo, [&](const Tensors& in) -> Tensors {
    const Tensor a = in[0] * 2.0;
    const Tensor early = transpose(a);  // waits for the loop, which waits for what is said last
    static_cast<void>(say("first"));
    return {early, a + say("second")};
  });
  const Program program(graph);
  testing::run(program, {ones({4, 6}), ones({4, 6})});
  EXPECT_EQ(said, (std::vector<std::string>{"first", "second"}));
}

TEST(FormGroups, LongChainsAreCut) {
  const Loops loops = grouped({{{8}}}, [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 1000; ++i) x = x * 0.5 + in[0];
    return {x};
  });
  EXPECT_GE(loops.size(), 5u);
  EXPECT_LE(loops.size(), 8u);
}

TEST(FormGroups, ManyOperandsAndSumsAreCut) {
  std::vector<Argument> arguments(60, Argument{{16}});
  testing::Body body = [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (std::size_t i = 1; i < in.size(); ++i) x = tanh(x) + in[i];
    return {x};
  };
  EXPECT_GE(grouped(arguments, body).size(), 2u);
  Tensors many;
  for (int i = 0; i < 60; ++i) many.push_back(random::uniform({16}, -1, 1, float32, static_cast<std::uint64_t>(i)));
  testing::expect_same_runs(many, body);

  body = [](const Tensors& in) -> Tensors {
    Tensors sums;
    Tensor x = in[0];
    for (int i = 0; i < 80; ++i) {
      x = sqrt(x) * 1.5;
      sums.push_back(reduce_sum(x));
    }
    return sums;
  };
  EXPECT_GE(grouped({{{16}}}, body).size(), 2u);
  testing::expect_same_runs({many[0]}, body);
}

}  // namespace
}  // namespace capstan
