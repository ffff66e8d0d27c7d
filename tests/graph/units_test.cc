#include "src/graph/units.h"

#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Tensors;

TEST(Units, OfLoopsProductsAndSingleOps) {
  const Variable w(testing::filled({4, 4}, 1));
  Graph graph = testing::trace({{{6, 4}}}, [&](const Tensors& in) -> Tensors {
    const Tensor h = tanh(matmul(in[0], w)) * 2.0;
    w.assign(w * 0.5);
    return {reduce_max(transpose(h), {0}), reshape(exp(h), {24})};
  });
  compile(graph);
  const Units units(graph);
  std::vector<std::string> names;
  for (const Unit& unit : units.units) {
    std::string& name = names.emplace_back();
    for (const std::size_t n : unit.nodes) name += std::string(graph.nodes[n].op->name) + " ";
    EXPECT_EQ(unit.makes_outputs, name == "reshape ");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"matmul tanh multiply exp ", "multiply ", "transpose ", "reduce_max ",
                                             "reshape "}))
      << testing::text_of(graph);
  // The product and tanh are read in their unit alone, and what is behind the reshape leaves with it.
  const Unit& first = units.units[0];
  EXPECT_EQ(first.operands.size(), 3u);
  ASSERT_EQ(first.outputs.size(), 2u);
  EXPECT_EQ(units.bytes[static_cast<std::size_t>(first.outputs[0])], 128u);
  EXPECT_FALSE(units.leaves[static_cast<std::size_t>(first.outputs[0])]);
  EXPECT_EQ(units.bytes[static_cast<std::size_t>(first.outputs[1])], 0u);
  EXPECT_TRUE(units.leaves[static_cast<std::size_t>(first.outputs[1])]);
  EXPECT_TRUE(units.inside[static_cast<std::size_t>(graph.nodes[0].outputs[0])]);
  const Graph::Captured& captured = graph.captured[0];
  EXPECT_EQ(units.maker[static_cast<std::size_t>(captured.value)], Units::kNobody);
  EXPECT_EQ(units.written_by[static_cast<std::size_t>(captured.value)], 1);
}

TEST(Units, OfAnEmptyGraph) {
  const Graph graph = testing::trace({{{2}}}, [](const Tensors& in) -> Tensors { return {in[0]}; });
  EXPECT_TRUE(Units(graph).units.empty());
}

}  // namespace
}  // namespace capstan
