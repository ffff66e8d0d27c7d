#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;
using testing::text_of;
using testing::trace;

TEST(RemoveDead, RemovesWhatNobodyNeeds) {
  Graph graph = trace({{{2}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensor dead = exp(sin(in[0]));
    static_cast<void>(dead * 2.0);
    return {cos(in[0])};
  });
  EXPECT_EQ(graph.nodes.size(), 4u);
  remove_dead(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2]
%5 = cos(%0) float32[2]
return %5
)");
}

TEST(RemoveDead, KeepsEffectsAndWhatTheyRead) {
  double seen = 0;
  Graph graph = trace({{{}, float32}}, [&](const Tensors& in) -> Tensors {
    debugging::assert_positive(in[0] + 1.0);
    static_cast<void>(in[0] * host_value([&] { return ++seen; }));
    return {};
  });
  remove_dead(graph);
  EXPECT_EQ(graph.nodes.front().op->name, "add");
  EXPECT_EQ(graph.nodes.back().op->name, "host_value");
  const Program program(graph);
  testing::run(program, {constant(1.0)});
  EXPECT_EQ(seen, 1);
  EXPECT_THROW(testing::run(program, {constant(-2.0)}), Error);
}

TEST(RemoveDead, KeepsWhatIsWrittenAndOpsWithOneOutputInUse) {
  const Variable v({0.0, 0.0, 0.0});
  Graph graph = trace({{{2, 3}, float32}}, [&](const Tensors& in) -> Tensors {
    v.assign(unstack(in[0])[1]);
    return {};
  });
  remove_dead(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%3 = read Variable float32[3]
%1, %2 = unstack(%0, axis=0, num=none) float32[3] float32[3]
write Variable %2
return 
)");
}

TEST(RemoveDead, OverwrittenWritesAreDead) {
  const Variable v({1.0, 2.0});
  Graph graph = trace({{{2}, float32}}, [&](const Tensors& in) -> Tensors {
    v.assign(exp(in[0]));
    v.assign(sin(in[0]));
    return {};
  });
  remove_dead(graph);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op->name, "sin");
}

}  // namespace
}  // namespace capstan
