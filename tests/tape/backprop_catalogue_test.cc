// The tests of TensorFlow's backprop_test that have a meaning in C++, each named after it. Those
// that have none are listed in docs/conformance.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;

Tensor one_custom(const std::function<CustomGradientResult(In)>& f, const Operands& arguments) {
  return custom_gradient(f, arguments)[0];
}

TEST(BackpropTest, AggregateGradients) {
  const Tensor table = constant({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, float32);
  const std::vector<Tensor> ids = {constant({0, 1}), constant({2, 3}), constant({1, 3})};
  GradientTape tape;
  tape.watch(table);
  const Tensor y = embedding_lookup(table, ids[0]) * embedding_lookup(table, ids[1]) *
                   embedding_lookup(table, ids[2]);
  const Tensor g = tape.gradient(y, table);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.indices().size(), 6);
  // By one-hot products, which are dense.
  GradientTape reference;
  reference.watch(table);
  Tensor z = ones({2, 2});
  for (const Tensor& id : ids) z = z * matmul(one_hot(id, 4), table);
  EXPECT_EQ(g.to_dense().to_vector<double>(), reference.gradient(z, table).to_vector<double>());
}

TEST(BackpropTest, AggregateGradientsWithTensor) {
  const Tensor table = constant({{1, 2}, {3, 4}, {5, 6}}, float32);
  GradientTape tape;
  tape.watch(table);
  const Tensor y = reduce_sum(embedding_lookup(table, constant({0, 1}))) + reduce_sum(table * 2);
  const Tensor g = tape.gradient(y, table);
  EXPECT_FALSE(g.is_row_sparse());
  expect_values(g, {3, 3, 3, 3, 2, 2});
}

TEST(BackpropTest, ImplicitGradWithResourceVariable) {
  const Variable x(1.0);
  GradientTape tape;
  const Tensor y = (x + 2) + 3;
  const std::vector<Variable> watched = tape.watched_variables();
  ASSERT_EQ(watched.size(), 1u);
  EXPECT_TRUE(watched[0] == x);
  expect_values(tape.gradient(y, watched)[0], {1});
}

TEST(BackpropTest, NoOpBehaviorConsistent) {
  const Tensor x = constant(10.0);
  const std::vector<Tensor> all = {x, identity(x), x + 0, x - 0, x * 1};
  GradientTape tape;
  tape.watch(all);
  const Tensor loss = 2 * x + 3 * (all[1] + all[2] + all[3] + all[4]);
  const std::vector<Tensor> g = tape.gradient(loss, all);
  for (std::size_t i = 0; i < g.size(); ++i) expect_values(g[i], {i == 0 ? 2.0 : 3.0});
}

TEST(BackpropTest, GradientInsideLoop) {
  const Variable v(1.0);
  for (int i = 0; i < 3; ++i) {
    const Tensor before = v + 1;
    GradientTape tape;
    const Tensor y = v * before;
    expect_values(tape.gradient(y, v), {2});
  }
}

TEST(BackpropTest, WhereGradient) {
  for (const auto& [at, want] : {std::pair{5.0, 1.0}, {50.0, 100.0}}) {
    const Tensor x = constant(at);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = where(x < 10, x, x * x);
    expect_values(tape.gradient(y, x), {want});
  }
}

TEST(BackpropTest, TwoTargets) {
  const Tensor x = constant(1.0), y = constant(1.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor a = 2 * x, b = 3 * y;
  const auto g = tape.gradient({a, b}, {x, y});
  expect_values(g[0], {2});
  expect_values(g[1], {3});
}

TEST(BackpropTest, CustomGradientEmptyError) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = one_custom(
      [](In in) -> CustomGradientResult {
        return {{in[0] * 2}, [](In) -> Out { return {}; }};
      },
      {x});
  expect_error<GradientError>([&] { tape.gradient(y, x); }, "expected 1 gradients, not 0");
}

Tensor never_differentiated(const Tensor& x) {
  return one_custom(
      [](In in) -> CustomGradientResult {
        return {{in[0] * 1}, [](In) -> Out { throw std::runtime_error("must not run"); }};
      },
      {x});
}

TEST(BackpropTest, stop_gradient_hides_downstream_ops) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = never_differentiated(stop_gradient(x));
  expect_missing(tape.gradient(y, x));
}

TEST(BackpropTest, OutputGradUsedInComputation) {
  const Tensor x = constant(3.0), y = constant(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = x * y;
  expect_values(tape.gradient({loss, x}, x, {.output_gradients = {constant(1.0), constant(2.0)}}),
                {4});
}

TEST(BackpropTest, Dy) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x);
  expect_values(tape.gradient(y, x, {.output_gradients = {constant(2.0)}}), {2});
}

TEST(BackpropTest, GradientInteger) {
  const Tensor x = constant(1);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x + x;
  expect_missing(tape.gradient(y, x));
}

TEST(BackpropTest, Errors) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = never_differentiated(x);
  EXPECT_THROW(tape.gradient(y, x), std::runtime_error);
}

TEST(BackpropTest, GradientsFunctionInCustomGradient) {
  const auto f = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    return tape.gradient(y, x);
  };
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = one_custom(
      [&](In in) -> CustomGradientResult {
        return {{f(in[0])}, [](In g) -> Out { return {g[0]}; }};
      },
      {x});
  EXPECT_EQ(value(y), 2);
  expect_values(tape.gradient(y, x), {1});
}

TEST(BackpropTest, ImplicitGradOverEmbeddingLookup) {
  const Variable embedding(ones({1000, 512}));
  const Tensor ids = ones({8}, int32);
  GradientTape tape;
  const Tensor y = reduce_sum(embedding_lookup(embedding, ids) * 2);
  const Tensor g = tape.gradient(y, embedding);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.indices().to_vector<std::int32_t>(), std::vector<std::int32_t>(8, 1));
  EXPECT_EQ(g.values().to_vector<double>(), std::vector<double>(8 * 512, 2.0));
  embedding.scatter_sub(g.indices(), 0.1 * g.values());
  expect_values(embedding(1, slice(0, 2)), {1 - 1.6, 1 - 1.6}, 1e-5);
  expect_values(embedding(0, slice(0, 2)), {1, 1});
  expect_values(embedding(999, slice(510)), {1, 1});
}

TEST(BackpropTest, ImplicitGradOrdering) {
  const Variable v0(0.0), v1(1.0);
  GradientTape tape;
  const Tensor y = v1 * v0;
  const std::vector<Variable> watched = tape.watched_variables();
  ASSERT_EQ(watched.size(), 2u);
  EXPECT_TRUE(watched[0] == v0);
  EXPECT_TRUE(watched[1] == v1);
}

TEST(BackpropTest, TapeNoOpGradient) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x;
  expect_values(tape.gradient(y, x), {1});
}

TEST(BackpropTest, TapeIdentityGradientIsIdentity) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x);
  expect_values(tape.gradient(y, x), {1});
}

TEST(BackpropTest, TapeGradientMultiTargetOneIsSource) {
  const Tensor x = constant(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  expect_values(tape.gradient({x, y}, x), {5});
}

TEST(BackpropTest, TapeNoOpGradientWithMultiTargetAllSource) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x;
  expect_values(tape.gradient({y, y}, x), {2});
}

TEST(BackpropTest, TapeNoOpGradientWithMultiTargetMultiSource) {
  const Tensor x = constant(3.0), y = constant(5.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = y * y;
  const auto g = tape.gradient({x, y, z}, {x, y});
  expect_values(g[0], {1});
  expect_values(g[1], {11});
}

TEST(BackpropTest, TapeNoOpOnVariableIsIdentity) {
  const Variable v(3.0);
  GradientTape tape;
  const Tensor y = v.read_value();
  expect_values(tape.gradient(y, v), {1});
}

TEST(BackpropTest, TapeNoOpGradient2By2) {
  const Tensor x = constant({{2, 2}, {2, 2}}, float32);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  expect_values(tape.gradient(x, x), {1, 1, 1, 1});
}

TEST(BackpropTest, TapeNoOpGradientMultiTarget2By2) {
  const Tensor x = constant({{2, 2}, {2, 2}}, float32);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  expect_values(tape.gradient({x, x}, x), {2, 2, 2, 2});
}

TEST(BackpropTest, TapeStopRecording) {
  const Variable x(3.0);
  GradientTape tape;
  Tensor y;
  {
    const auto pause = tape.stop_recording();
    y = x * x;
  }
  expect_missing(tape.gradient(y, x));
}

TEST(BackpropTest, TapeStopStartRecording) {
  const Tensor x = constant(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor x2 = x * 2;
  Tensor y;
  {
    const auto pause = tape.stop_recording();
    y = x2 * x2;
  }
  const Tensor z = x2 * x2;
  expect_missing(tape.gradient(y, x2));
  expect_values(tape.gradient(z, x2), {4});
}

TEST(BackpropTest, TapeReset) {
  const Variable v(1.0);
  GradientTape tape;
  Tensor loss = v * v;
  tape.reset();
  loss += v * v;
  expect_values(tape.gradient(loss, v), {2});
}

TEST(BackpropTest, PythonMax) {
  const std::vector<Variable> x = {Variable(2.0), Variable(3.0), Variable(5.0)};
  GradientTape tape;
  const Variable& y = *std::max_element(
      x.begin(), x.end(),
      [](const Variable& a, const Variable& b) { return a.item<float>() < b.item<float>(); });
  const std::vector<Tensor> g = tape.gradient(y, x);
  EXPECT_EQ(y.item<float>(), 5);
  expect_missing(g[0]);
  expect_missing(g[1]);
  expect_values(g[2], {1});
}

TEST(BackpropTest, AutomaticWatchedVariables) {
  GradientTape tape({.persistent = true});
  EXPECT_TRUE(tape.watched_variables().empty());
  const Variable v(1.0);
  EXPECT_TRUE(tape.watched_variables().empty());
  Tensor y = v * v;
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_TRUE(tape.watched_variables()[0] == v);
  tape.reset();
  EXPECT_TRUE(tape.watched_variables().empty());
  y = v * v;
  EXPECT_EQ(tape.watched_variables().size(), 1u);
}

TEST(BackpropTest, ExplicitWatchedVariables) {
  GradientTape tape({.persistent = true});
  const Variable v(1.0);
  tape.watch(v);
  EXPECT_EQ(tape.watched_variables().size(), 1u);
  tape.reset();
  EXPECT_TRUE(tape.watched_variables().empty());
  tape.watch(v);
  EXPECT_EQ(tape.watched_variables().size(), 1u);
}

TEST(BackpropTest, GradientNone) {
  const Tensor logits = constant({{0.0, 0.0}}), labels = constant({{1.0, 0.0}});
  GradientTape tape;
  tape.watch(logits);
  const Tensor loss = reduce_mean(softmax_cross_entropy_with_logits(labels, logits));
  expect_values(tape.gradient(loss, logits), {-0.5, 0.5});
}

TEST(BackpropTest, GradientWithinTapeBlock) {
  const Variable v(1.0);
  for (const bool persistent : {false, true}) {
    GradientTape tape({.persistent = persistent});
    const Tensor loss = 2 * v;
    expect_values(tape.gradient(loss, v), {2});
  }
}

TEST(BackpropTest, NestedSelfContexts) {
  GradientTape tape;
  expect_error<GradientError>([&] { tape.start(); }, "already recording");
}

TEST(BackpropTest, SecondGrad) {
  const Tensor logits = constant({{1.5}}), labels = constant({{1.0}});
  GradientTape outer;
  outer.watch(logits);
  GradientTape inner;
  inner.watch(logits);
  const Tensor loss = softmax_cross_entropy_with_logits(labels, logits);
  const Tensor g = inner.gradient(loss, logits);
  expect_values(g, {0});
  expect_values(outer.gradient(g, logits), {0});
}

TEST(BackpropTest, WatchingIsTapeLocal) {
  const Variable x1(2.0, {.trainable = false}), x2(2.0, {.trainable = false});
  GradientTape tape1;
  tape1.watch(x1);
  GradientTape tape2({.persistent = true});
  tape2.watch(std::vector{x1, x2});
  const Tensor y = pow(x1, 3), z = pow(x2, 2);
  const auto g = tape2.gradient({y, z}, {x1, x2});
  expect_values(g[0], {12});
  const auto second = tape1.gradient({g[0], g[1]}, {x1, x2});
  expect_values(second[0], {12});
  expect_missing(second[1]);
}

TEST(BackpropTest, MakeVJP) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(value(y), 9);
  expect_values(tape.gradient(y, x, {.output_gradients = {constant(2.0)}}), {12});
}

TEST(BackpropTest, PersistentMakeVJP) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  for (int i = 0; i < 2; ++i) {
    expect_values(tape.gradient(y, x, {.output_gradients = {constant(2.0)}}), {12});
  }
}

TEST(BackpropTest, GradGrad) {
  const Tensor x = constant(1.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = x * x;
  const Tensor g = inner.gradient(y, x);
  expect_values(outer.gradient(g, x), {2});
}

TEST(BackpropTest, GradGradExp) {
  const Tensor x = constant(0.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = exp(x);
  const Tensor g = inner.gradient(y, x);
  expect_values(outer.gradient(g, x), {1});
}

TEST(BackpropTest, StopGradient) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = stop_gradient(argmax(expand_dims(x, 0)));
  expect_missing(tape.gradient(y, x));
}

TEST(BackpropTest, Argmax) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = argmax(x);
  expect_missing(tape.gradient(y, x));
}

TEST(BackpropTest, CPU) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = (x + 2) + 3;
  expect_values(tape.gradient(y, x), {1});
}

TEST(BackpropTest, EmptyParams) {
  const Tensor a = constant(1.0), b = constant(2.0);
  GradientTape tape;
  tape.watch(std::pair{a, b});
  const Tensor y = a * b;
  const auto g = tape.gradient(y, {a, b});
  expect_values(g[0], {2});
  expect_values(g[1], {1});
}

TEST(BackpropTest, UnconnectedNone) {
  const Variable v(1.0);
  GradientTape tape;
  v.read_value();
  const Tensor y = constant(1.0);
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  expect_missing(tape.gradient(y, v));
}

TEST(BackpropTest, GradientTapeReEnterContext) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x;
  tape.stop();
  tape.start();
  const Tensor z = 2 * y;
  tape.stop();
  expect_values(tape.gradient(z, x), {4});
}

TEST(BackpropTest, GradientTapeRepeatedSource) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x;
  const auto g = tape.gradient(y, {x, x});
  expect_values(g[0], {2});
  expect_values(g[1], {2});
}

TEST(BackpropTest, PersistentGradientTapeRepeatedSource) {
  const Tensor x = constant(3.0), y = constant(5.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{x, y});
  const Tensor z = x * x + x * y;
  const auto a = tape.gradient(z, {x, x});
  expect_values(a[0], {11});
  expect_values(a[1], {11});
  const auto b = tape.gradient(z, {y, x});
  expect_values(b[0], {3});
  expect_values(b[1], {11});
}

TEST(BackpropTest, GradientTapeStructure) {
  const Tensor x1 = constant(1.0), x2 = constant(2.0), x3 = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::tuple{x1, x2, x3});
  const Tensor y = x1 + 2 * x2 + 3 * x3;
  EXPECT_EQ(value(tape.gradient(y, x1)), 1);
  EXPECT_EQ(value(std::get<0>(tape.gradient(y, std::tuple{x1}))), 1);
  const auto [a, b] = tape.gradient(y, std::pair{x1, x2});
  EXPECT_EQ(value(a), 1);
  EXPECT_EQ(value(b), 2);
  const auto nested = tape.gradient(y, std::vector{std::pair{x1, x2}, std::pair{x2, x3}});
  EXPECT_EQ(value(nested[0].first), 1);
  EXPECT_EQ(value(nested[0].second), 2);
  EXPECT_EQ(value(nested[1].first), 2);
  EXPECT_EQ(value(nested[1].second), 3);
  const auto mixed = tape.gradient(y, std::tuple{x1, x2, std::vector{x1, x3}});
  EXPECT_EQ(value(std::get<1>(mixed)), 2);
  EXPECT_EQ(value(std::get<2>(mixed)[1]), 3);
  const auto map =
      tape.gradient(y, std::pair{x1, std::map<std::string, Tensor>{{"x2", x2}, {"x3", x3}}});
  EXPECT_EQ(value(map.first), 1);
  EXPECT_EQ(value(map.second.at("x2")), 2);
  EXPECT_EQ(value(map.second.at("x3")), 3);
}

TEST(BackpropTest, GradientTape) {
  const Tensor x = constant(3.0);
  GradientTape outer;
  outer.watch(x);
  Tensor y = x * x;
  {
    GradientTape inner;
    inner.watch(y);
    const Tensor z = 2 * y;
    const Tensor g = inner.gradient(z, y);
    expect_values(g, {2});
    y = y + g;
  }
  expect_values(outer.gradient(y, x), {6});
}

TEST(BackpropTest, GadientTapeCalledOnConstantTarget) {
  const Variable x(3.0), y(2.0);
  GradientTape tape;
  expect_missing(tape.gradient(x, y));
}

TEST(BackpropTest, GradientTapeWithCond) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = (x < x).item<bool>() ? x : x * x;
  expect_values(tape.gradient(y, x), {6});
}

TEST(BackpropTest, GradientTapeWithWhileLoop) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 2; ++i) y = 2 * y;
  expect_values(tape.gradient(y, x), {4});
}

TEST(BackpropTest, GradientTapeGradientCalledMultipleTimes) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  tape.gradient(z, x);
  expect_error<GradientError>([&] { tape.gradient(y, x); }, "already used");
}

TEST(BackpropTest, PersistentTape) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  expect_values(tape.gradient(z, x), {108});
  expect_values(tape.gradient(y, x), {6});
}

TEST(BackpropTest, HigherOrderGradient) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = pow(x, 3);
  const Tensor dy = tape.gradient(y, x);
  const Tensor d2y = tape.gradient(dy, x);
  tape.stop();
  const Tensor d3y = tape.gradient(d2y, x);
  EXPECT_EQ(value(y), 27);
  EXPECT_EQ(value(dy), 27);
  EXPECT_EQ(value(d2y), 18);
  EXPECT_EQ(value(d3y), 6);
}

TEST(BackpropTest, PersistentNestedTape) {
  const Tensor x = constant(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  Tensor y = x * x;
  Tensor z;
  {
    GradientTape inner({.persistent = true});
    inner.watch(y);
    z = 2 * y;
    for (int i = 0; i < 2; ++i) {
      const Tensor g = inner.gradient(z, y);
      expect_values(g, {2});
      if (i == 1) y = y + g;
    }
  }
  expect_values(outer.gradient(y, x), {6});
  expect_values(outer.gradient(z, x), {12});
}

TEST(BackpropTest, GradientTapeVariable) {
  const Variable v(1.0);
  GradientTape tape;
  const Tensor y = v * v;
  expect_values(tape.gradient(y, v), {2});
}

TEST(BackpropTest, NestedGradients) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  const auto g = tape.gradient(z, {x, y});
  expect_values(g[0], {108});
  expect_values(g[1], {18});
}

TEST(BackpropTest, UnconnectedGradientsDefault) {
  const Tensor x = constant(1.0), y = constant(3.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = y * 2;
  expect_missing(tape.gradient(z, x));
}

TEST(BackpropTest, UnconnectedGradientsZeros) {
  const Tensor x = ones({2, 2}), y = constant(3.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = y * 2;
  expect_values(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients::kZero}),
                {0, 0, 0, 0});
}

TEST(BackpropTest, UnconnectedGradientsVariablesZeros) {
  const Variable x(ones({2, 2})), y(3.0);
  GradientTape tape;
  const Tensor z = y * 2;
  expect_values(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients::kZero}),
                {0, 0, 0, 0});
}

TEST(BackpropTest, EmptyParamsForValueAndGradFunction) {
  const Tensor a = constant(2.0), b = constant(3.0);
  GradientTape tape;
  tape.watch(std::vector{a, b});
  const Tensor y = a * b;
  const auto g = tape.gradient(y, {a, b});
  EXPECT_EQ(value(y), 6);
  expect_values(g[0], {3});
  expect_values(g[1], {2});
}

TEST(BackpropTest, NonEmptyParamsForValueAndGradFunction) {
  const Tensor a = constant(2.0), b = constant(3.0);
  GradientTape tape;
  tape.watch(b);
  const Tensor y = a * b;
  expect_values(tape.gradient(y, b), {2});
}

TEST(BackpropTest, MulType) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = multiply(x, x);
  expect_values(tape.gradient(y, x), {6});
}

TEST(BackpropTest, ReturnSameThing) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x;
  expect_values(tape.gradient({x, y}, x), {3});
}

TEST(BackpropTest, ExceptionSafety) {
  const Tensor x = constant(1.0);
  try {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    throw std::runtime_error("in the body");
  } catch (const std::runtime_error&) {
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  expect_values(tape.gradient(y, x), {2});
}

TEST(BackpropTest, MultiValueConvertToTensor) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = stack({x, constant(2.0)});
  expect_values(tape.gradient(y, x), {1});
}

TEST(BackpropTest, Output) {
  const Tensor x = constant({0.0, 1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor a = x + 2, b = x * x;
  expect_values(tape.gradient({a, b}, x), {1, 3, 5});
}

TEST(BackpropTest, MultiValuePreservesIfNotDiffedAgainst) {
  const Tensor image = ones({1, 1, 1, 1}), kernel = fill({1, 1, 1, 1}, 2.0);
  GradientTape tape;
  tape.watch(image);
  const Tensor y = conv2d(image, kernel, {1, 1}, "SAME");
  expect_values(tape.gradient(y, image), {2});
}

TEST(BackpropTest, SameObjectForMultipleArguments) {
  // The functional helper made two tensors of one object; here they are two identities.
  const Tensor x = constant(1.0);
  const Tensor a = identity(x), b = identity(x);
  GradientTape tape;
  tape.watch(std::vector{a, b});
  const Tensor y = a * b;
  const auto g = tape.gradient(y, {a, b});
  expect_values(g[0], {1});
  expect_values(g[1], {1});
}

TEST(BackpropTest, ImplicitGradientsCustomGradientAndCachedVariableValue) {
  const Variable x(3.0);
  GradientTape tape;
  const Tensor y = one_custom(
      [](In in) -> CustomGradientResult {
        const Tensor a = in[0];
        return {{square(a)}, [a](In g) -> Out { return {2 * g[0] * a + 1}; }};
      },
      {x});
  expect_values(tape.gradient(y, x), {7});
}

TEST(BackpropTest, CustomGradient) {
  const Variable x(2.0);
  std::vector<double> losses;
  for (int i = 0; i < 5; ++i) {
    GradientTape tape;
    const Tensor loss = one_custom(
        [](In in) -> CustomGradientResult {
          const Tensor a = in[0], b = in[1];
          return {{a * b}, [a, b](In g) -> Out { return {g[0] * b, g[0] * a}; }};
        },
        {constant(2.0), x});
    losses.push_back(value(loss));
    x.assign_sub(0.25 * tape.gradient(loss, x));
  }
  EXPECT_EQ(losses, (std::vector<double>{4, 3, 2, 1, 0}));
}

Tensor identity_times(const Tensor& x, double factor) {
  return one_custom(
      [factor](In in) -> CustomGradientResult {
        return {{identity(in[0])}, [factor](In g) -> Out { return {factor * g[0]}; }};
      },
      {x});
}

TEST(BackpropTest, CustomGradientIdentity) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity_times(x, 2);
  expect_values(tape.gradient(y, x), {2});
}

TEST(BackpropTest, ZerosCacheDoesntLeakAcrossGraphs) {
  // The zeros of an output of split that nobody used are made anew for each shape.
  for (const std::int64_t n : {2, 4}) {
    const Tensor x = ones({n});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = split(x, 2)[0];
    std::vector<double> want(static_cast<std::size_t>(n), 0.0);
    std::fill_n(want.begin(), n / 2, 1.0);
    expect_values(tape.gradient(y, x), want);
  }
}

TEST(BackpropTest, SelectivelyWatchVariables) {
  const Variable x1(1.0), x2(1.0);
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(x2);
  const Tensor y = pow(x1, 2), z = pow(x2, 3);
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_TRUE(tape.watched_variables()[0] == x2);
  const auto g = tape.gradient({y, z}, {x1, x2});
  expect_missing(g[0]);
  expect_values(g[1], {3});
}

TEST(BackpropTest, DifferentiatingScalarCache) {
  const Tensor x1 = constant(3.0), x2 = constant(3.0);
  GradientTape tape;
  tape.watch(x1);
  const Tensor y = x1 + x2;
  expect_values(tape.gradient(y, x1), {1});
}

TEST(BackpropTest, VariablesAndConstantsProduceTheSameGradients) {
  const auto gradients = [](const auto& a, const auto& b) {
    GradientTape tape;
    tape.watch(std::pair{a, b});
    const Tensor y = pow(a, 3), z = pow(b, 2);
    return tape.gradient({y, z}, {a, b});
  };
  const auto variables = gradients(Variable(2.0), Variable(2.0));
  const auto constants = gradients(constant(2.0), constant(2.0));
  for (const auto& g : {variables, constants}) {
    expect_values(g[0], {12});
    expect_values(g[1], {4});
  }
}

TEST(BackpropTest, CustomGradientInEagerAndGraph) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity_times(x, 4);
  expect_values(tape.gradient(y, x), {4});
}

TEST(BackpropTest, OverrideSecondOrderWithCustomGradient) {
  const Tensor c = constant(1.0, float64);
  const auto f = [](const Tensor& x) {
    return one_custom(
        [](In in) -> CustomGradientResult {
          const Tensor a = in[0];
          return {{a + 10}, [a](In g) -> Out {
                    const Tensor first = one_custom(
                        [](In) -> CustomGradientResult {
                          return {{constant(-1.1, float64)},
                                  [](In gg) -> Out { return {-2.1 * gg[0]}; }};
                        },
                        {a});
                    return {g[0] * first};
                  }};
        },
        {x});
  };
  GradientTape outer;
  outer.watch(c);
  GradientTape inner;
  inner.watch(c);
  const Tensor d = pow(f(c), 4);
  const Tensor first = inner.gradient(d, c);
  expect_values(first, {4 * 1331 * -1.1}, 1e-12);
  expect_values(outer.gradient(first, c), {12 * 121 * 1.21 + 4 * 1331 * -2.1}, 1e-12);
}

TEST(BackpropTest, CustomGradientForwardprop) {
  // A gradient function with derivatives of its own: 2.2 for the argument, 3.1 for the weight.
  const Tensor x = constant(2.0, float64), weight = constant(1.0, float64);
  const auto f = [](const Tensor& at) {
    return one_custom(
        [](In in) -> CustomGradientResult {
          const Tensor a = in[0];
          return {{a * 5}, [a](In g) -> Out {
                    return custom_gradient(
                        [](In rule) -> CustomGradientResult {
                          return {{rule[0] * 2.1}, [](In d) -> Out {
                                    return {3.1 * d[0], 2.2 * d[0]};
                                  }};
                        },
                        {g[0], a});
                  }};
        },
        {at});
  };
  GradientTape outer;
  outer.watch(std::vector{x, weight});
  GradientTape inner;
  inner.watch(x);
  const Tensor y = f(x);
  const Tensor g = inner.gradient(y, x, {.output_gradients = {weight}});
  expect_values(g, {2.1}, 1e-12);
  const auto second = outer.gradient(g, {x, weight});
  expect_values(second[0], {2.2}, 1e-12);
  expect_values(second[1], {3.1}, 1e-12);
}

TEST(BackpropTest, WatchedVariablesAfterNonPersistentGradientCall) {
  const Variable x(1.0);
  GradientTape tape;
  const Tensor y = x * x;
  tape.gradient(y, x);
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_TRUE(tape.watched_variables()[0] == x);
}

TEST(BackpropTest, WatchedVariablesOnlyHasVariablesFromLastTape) {
  const Variable x(1.0), z(2.0);
  GradientTape tape;
  Tensor y = x * x;
  tape.gradient(y, x);
  tape = GradientTape();
  y = z * z;
  tape.gradient(y, z);
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_TRUE(tape.watched_variables()[0] == z);
}

TEST(BackpropTest, WatchedVariablesRespectReset) {
  const Variable x(1.0), z(2.0);
  GradientTape tape;
  Tensor y = x * x;
  EXPECT_TRUE(tape.watched_variables().at(0) == x);
  tape.reset();
  y = z * z;
  EXPECT_TRUE(tape.watched_variables().at(0) == z);
  tape.gradient(y, z);
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_TRUE(tape.watched_variables()[0] == z);
}

// --- AggregateIndexedSlices: what a tape makes of several row-sparse gradients of one tensor ---

TEST(AggregateIndexedSlices, One) {
  const Tensor x = zeros({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, constant({0, 2})) * constant({{1, 2}, {3, 4}}, float32);
  const Tensor g = tape.gradient(y, x);
  EXPECT_TRUE(g.is_row_sparse());
  expect_values(g, {1, 2, 0, 0, 3, 4});
}

TEST(AggregateIndexedSlices, Multiple) {
  const Tensor x = zeros({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, constant({0, 2})) * constant({{1, 2}, {3, 4}}, float32);
  const Tensor z = gather(x, constant({1, 2})) * constant({{5, 6}, {7, 8}}, float32);
  const Tensor g = tape.gradient({y, z}, x);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.values().shape(), Shape({4, 2}));
  expect_values(g, {1, 2, 5, 6, 10, 12});
}

TEST(AggregateIndexedSlices, IndicesOfTwoDTypes) {
  const Tensor x = zeros({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, constant({0, 2})), z = gather(x, constant({1, 2}, int64));
  const Tensor g = tape.gradient({y, z}, x);
  ASSERT_TRUE(g.is_row_sparse());
  EXPECT_EQ(g.indices().dtype(), int64);
  expect_values(g, {1, 1, 1, 1, 2, 2});
}

TEST(AggregateIndexedSlices, Mixed) {
  const Tensor x = zeros({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, constant({0, 2})) * constant({{1, 2}, {3, 4}}, float32);
  const Tensor z = x * constant({{0, 0}, {5, 6}, {7, 8}}, float32);
  const Tensor g = tape.gradient({y, z}, x);
  EXPECT_FALSE(g.is_row_sparse());
  expect_values(g, {1, 2, 5, 6, 10, 12});
}

}  // namespace
}  // namespace capstan::testing
