// Values that are computed again instead of being kept, by the text of graphs, by bytes and by bits.
#include <gtest/gtest.h>

#include "src/core/variable_state.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"

namespace capstan {
namespace {

using testing::Body;
using testing::copy;
using testing::filled;
using testing::Tensors;
using testing::text_of;

std::size_t again_in(const Graph& graph) {
  std::size_t count = 0;
  for (const Graph::Node& node : graph.nodes) count += node.rerun < 0 ? 1 : 0;
  return count;
}

// The program within a share of the arena that it would have gives the same bits and variables, twice.
double expect_same_within(double share, const Tensors& arguments, const Body& body,
                          const std::vector<Variable>& variables = {}) {
  const Graph graph = testing::trace_like(arguments, body);
  const Program plain(graph);
  const Program program(graph, static_cast<std::size_t>(share * static_cast<double>(plain.arena_bytes())));
  testing::expect_apart(program);
  Tensors before;
  for (const Variable& variable : variables) before.push_back(copy(variable.value()));
  const auto run = [&](const Program& which) {
    for (std::size_t i = 0; i < variables.size(); ++i) variables[i].assign(copy(before[i]));
    Tensors all;
    for (int call = 0; call < 2; ++call) {
      for (const Tensor& result : testing::run(which, arguments)) all.push_back(copy(result));
    }
    for (const Variable& variable : variables) all.push_back(copy(variable.value()));
    return all;
  };
  const Tensors want = run(plain), got = run(program);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(testing::same_bits(got[i], want[i])) << i << text_of(program.graph());
  }
  return static_cast<double>(program.arena_bytes()) / static_cast<double>(plain.arena_bytes());
}

// A training step of layers; `layer` is given what is before it and a weight.
template <class Layer>
Body step_of(const std::vector<Variable>& weights, const Layer& layer) {
  return [&weights, layer](const Tensors& in) -> Tensors {
    GradientTape tape;
    Tensor h = in[0];
    for (const Variable& w : weights) h = layer(h, w);
    const Tensor loss = reduce_mean(h * h);
    const std::vector<Tensor> gradients = tape.gradient(loss, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i].assign_sub(0.125 * gradients[i]);
    return {loss};
  };
}

std::vector<Variable> make_weights(int count) {
  std::vector<Variable> weights;
  for (int i = 1; i <= count; ++i) weights.emplace_back(filled({8, 8}, static_cast<std::uint64_t>(i)));
  return weights;
}

Graph example() {
  Graph graph = testing::trace({{{32, 32}}}, [](const Tensors& in) -> Tensors {
    const Tensor a = exp(in[0]);
    const Tensor b = matmul(a, in[0]);
    const Tensor c = matmul(matmul(b, b), b);
    return {reduce_max(matmul(c, a), {0})};
  });
  compile(graph);
  return graph;
}

TEST(MeetBudget, GraphTextBeforeAndAfter) {
  Graph graph = example();
  const std::string before = R"(
%0 = argument float32[32, 32]
%1 = exp(%0) float32[32, 32] in loop 0
%2 = matmul(%1, %0, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%3 = matmul(%2, %2, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%4 = matmul(%3, %2, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%5 = matmul(%4, %1, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%6 = reduce_max(%5, axis=[0], keepdims=false) float32[32]
return %6
)";
  EXPECT_EQ(text_of(graph), before);
  const std::size_t bytes = arena_bytes_of(graph);
  EXPECT_EQ(bytes, 4u * 4096);
  meet_budget(graph, bytes);
  EXPECT_EQ(text_of(graph), before);
  meet_budget(graph, bytes - 1);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[32, 32]
%1 = exp(%0) float32[32, 32] in loop 0
%2 = matmul(%1, %0, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%3 = matmul(%2, %2, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%4 = matmul(%3, %2, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%7 = exp(%0) float32[32, 32] in loop 1 again
%5 = matmul(%4, %7, transpose_a=false, transpose_b=false, adjoint_a=false, adjoint_b=false) float32[32, 32]
%6 = reduce_max(%5, axis=[0], keepdims=false) float32[32]
return %6
)");
  EXPECT_EQ(arena_bytes_of(graph), 3u * 4096);
}

TEST(MeetBudget, WhatCannotBeMetIsApproached) {
  Graph graph = example();
  meet_budget(graph, 1);
  EXPECT_EQ(arena_bytes_of(graph), 3u * 4096);
  Graph empty = testing::trace({{{0, 3}}}, [](const Tensors& in) -> Tensors {
    return {matmul(exp(in[0]), ones({3, 2}))};
  });
  compile(empty, 1);
  EXPECT_EQ(again_in(empty), 0u);
}

// Three products of four may be computed again: segments between values that are kept.
TEST(MeetBudget, ChainsOfProducts) {
  const std::vector<Variable> weights = make_weights(32);
  const auto layer = [](const Tensor& h, const Variable& w) { return tanh(matmul(h, w)); };
  const Tensors x = {filled({64, 8}, 77)};
  for (const double share : {0.8, 0.5, 0.4, 0.3}) {
    EXPECT_LE(expect_same_within(share, x, step_of(weights, layer), weights), share);
  }
  EXPECT_LT(expect_same_within(0.001, x, step_of(weights, layer), weights), 0.3);
}

TEST(MeetBudget, ResidualsNormalisationsAndViews) {
  const std::vector<Variable> weights = make_weights(24);
  const Tensors x = {filled({64, 8}, 77)};
  const auto residual = [](const Tensor& h, const Variable& w) { return h + gelu(matmul(h, w)) * 0.5; };
  const auto normalised = [](const Tensor& h, const Variable& w) {
    const Tensor z = layer_normalization(matmul(h, w), ones({8}), zeros({8}));
    return softmax(reshape(relu(reshape(z, {-1})), {64, 8})) + h;
  };
  const auto batch = [](const Tensor& h, const Variable& w) {
    return relu(batch_norm_training(matmul(h, w), ones({8}), zeros({8})).y) * sigmoid(h);
  };
  for (const double share : {0.6, 0.35}) {
    EXPECT_LE(expect_same_within(share, x, step_of(weights, residual), weights), share);
    EXPECT_LE(expect_same_within(share, x, step_of(weights, normalised), weights), share);
    EXPECT_LE(expect_same_within(share, x, step_of(weights, batch), weights), share);
  }
  // Parts of a value, which a kernel makes: what they are views of is not computed again.
  const auto parts = [](const Tensor& h, const Variable& w) {
    const Tensors halves = split(matmul(h, w), 2, 1);
    return tanh(concat({halves[1] * halves[0], halves[0]}, 1));
  };
  expect_same_within(0.5, x, step_of(weights, parts), weights);
}

// Loops are cheaper than products, so they come first.
TEST(MeetBudget, ComputesAgainWhatIsCheap) {
  const std::vector<Variable> weights = make_weights(16);
  const auto layer = [](const Tensor& h, const Variable& w) { return silu(matmul(h, w)); };
  const Graph graph = testing::trace_like({filled({64, 8}, 77)}, step_of(weights, layer));
  const Program plain(graph);
  const Program program(graph, plain.arena_bytes() * 7 / 10);
  EXPECT_LE(program.arena_bytes(), plain.arena_bytes() * 7 / 10);
  EXPECT_GT(again_in(program.graph()), 0u);
  for (const Graph::Node& node : program.graph().nodes) {
    if (node.rerun < 0) {
      EXPECT_EQ(node.op->name, "silu");
    }
  }
}

TEST(MeetBudget, DrawsAndWritesHappenOnce) {
  const std::vector<Variable> weights = make_weights(12);
  const Variable count(constant(0.0f), {.trainable = false});
  const Graph graph =
      testing::trace_like({filled({64, 8}, 77)}, step_of(weights, [&](const Tensor& h, const Variable& w) {
                            count.assign_add(1.0);
                            return tanh(matmul(h, w)) * random::uniform({64, 8}) * count;
                          }));
  const auto draws = [](const Graph& g) {
    std::size_t draws = 0;
    for (const Graph::Node& node : g.nodes) draws += node.has_effect() ? 1 : 0;
    return draws;
  };
  const Program plain(graph);
  const Program program(graph, plain.arena_bytes() * 6 / 10);
  EXPECT_LT(program.arena_bytes(), plain.arena_bytes() * 9 / 10);
  EXPECT_GT(again_in(program.graph()), 0u);
  EXPECT_EQ(draws(plain.graph()), 12u);
  EXPECT_EQ(draws(program.graph()), 12u);
}

TEST(MeetBudget, WithoutLoops) {
  fuse_loops(false);
  const std::vector<Variable> weights = make_weights(16);
  const auto layer = [](const Tensor& h, const Variable& w) { return tanh(matmul(h, w) + 0.5); };
  EXPECT_LE(expect_same_within(0.5, {filled({64, 8}, 77)}, step_of(weights, layer), weights), 0.5);
  fuse_loops(true);
}

// What a maximum and its gradient both run in passing is a loop of each of them.
TEST(MeetBudget, LoopsThatPoolsRun) {
  std::vector<Variable> weights;
  for (std::uint64_t i = 1; i <= 12; ++i) weights.emplace_back(filled({3, 3, 8, 8}, i));
  const auto layer = [](const Tensor& h, const Variable& w) {
    const Tensor y = batch_norm_training(conv2d(h, w, {1, 1}, "SAME"), ones({8}), zeros({8})).y;
    return max_pool2d(y, {2, 2}, {1, 1}, "SAME");
  };
  for (const double share : {0.8, 0.6, 0.4}) {
    EXPECT_LE(expect_same_within(share, {filled({4, 6, 6, 8}, 77)}, step_of(weights, layer), weights), share);
  }
}

// Two steps of training in one program have two turns.
TEST(MeetBudget, TurnByTurn) {
  const std::vector<Variable> weights = make_weights(16);
  const auto layer = [](const Tensor& h, const Variable& w) { return tanh(matmul(h, w)); };
  const Body step = step_of(weights, layer);
  const auto twice = [&](const Tensors& in) -> Tensors {
    const Tensor first = step(in)[0];
    return {first, step({in[0] * 0.5})[0]};
  };
  EXPECT_LE(expect_same_within(0.5, {filled({64, 8}, 77)}, twice, weights), 0.5);
}

}  // namespace
}  // namespace capstan
