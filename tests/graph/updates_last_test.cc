#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "src/core/variable_state.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::filled;
using testing::Tensors;
using testing::trace;

std::vector<std::string_view> names_of(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const Graph::Node& node : graph.nodes) names.push_back(node.op->name);
  return names;
}

using Names = std::vector<std::string_view>;

TEST(UpdatesLast, WhatDoesNotWaitForAStepRunsBeforeIt) {
  const Variable w(filled({4}, 1));
  const optimizers::Adam adam;
  adam.build(std::vector{w});
  Graph graph = trace({{{4}}, {{2}, int32}}, [&](const Tensors& in) -> Tensors {
    adam.apply_gradients({sin(in[0])}, {w});
    return {gather(in[0], in[1])};
  });
  remove_dead(graph);
  EXPECT_EQ(names_of(graph), (Names{"sin", "host_value", "optimizer_step", "host_value", "gather"}));
  updates_last(graph);
  EXPECT_EQ(names_of(graph), (Names{"sin", "host_value", "host_value", "gather", "optimizer_step"}));
  // So the step writes where the variable lies, and not at all if the gather fails.
  const Program program(graph);
  testing::run(program, {ones({4}), constant({1, 2})});
  const void* const before = w.state()->value.block()->data;
  testing::run(program, {ones({4}), constant({1, 2})});
  EXPECT_EQ(w.state()->value.block()->data, before);
  const std::vector<float> now = w.to_vector<float>();
  EXPECT_THROW(testing::run(program, {ones({4}), constant({1, 4})}), IndexError);
  EXPECT_EQ(w.to_vector<float>(), now);
}

TEST(UpdatesLast, AStepWhoseResultIsReadStays) {
  const Variable w(filled({4}, 1));
  const auto rows = [](const Tensor& ids) {
    GradientTape tape;
    const Tensor table = ones({4});
    tape.watch(table);
    return tape.gradient(reduce_sum(gather(table, ids)), table);
  };
  Graph graph = trace({{{2}, int32}}, [&](const Tensors& in) -> Tensors {
    w.assign_sub(rows(in[0]));
    const Tensor read = reduce_max(w);
    w.assign_sub(rows(in[0]));
    return {read};
  });
  remove_dead(graph);
  const Names names = names_of(graph);
  updates_last(graph);
  EXPECT_EQ(names_of(graph), names);
  EXPECT_EQ(names.back(), "optimizer_step");
  testing::expect_same_runs({constant({3, 3})},
                            [&](const Tensors& in) -> Tensors {
                              w.assign_sub(rows(in[0]));
                              return {reduce_max(w), gather(w, in[0])};
                            },
                            {w});
}

}  // namespace
}  // namespace capstan
