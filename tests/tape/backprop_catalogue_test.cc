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
  const Tensor y = embedding_lookup(table, ids[0]) * embedding_lookup(table, ids[1]) * embedding_lookup(table, ids[2]);
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
  expect_values(tape.gradient({loss, x}, x, {.output_gradients = {constant(1.0), constant(2.0)}}), {4});
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
      x.begin(), x.end(), [](const Variable& a, const Variable& b) { return a.item<float>() < b.item<float>(); });
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

}  // namespace
}  // namespace capstan::testing
