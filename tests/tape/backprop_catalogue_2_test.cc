// The second half of the tests of TensorFlow's backprop_test, from GradientTapeStructure on, each
// named after it. Those that have none are listed in docs/conformance.md.
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
  const auto map = tape.gradient(y, std::pair{x1, std::map<std::string, Tensor>{{"x2", x2}, {"x3", x3}}});
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
  expect_values(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients::kZero}), {0, 0, 0, 0});
}

TEST(BackpropTest, UnconnectedGradientsVariablesZeros) {
  const Variable x(ones({2, 2})), y(3.0);
  GradientTape tape;
  const Tensor z = y * 2;
  expect_values(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients::kZero}), {0, 0, 0, 0});
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
                          return {{constant(-1.1, float64)}, [](In gg) -> Out { return {-2.1 * gg[0]}; }};
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
                          return {{rule[0] * 2.1}, [](In d) -> Out { return {3.1 * d[0], 2.2 * d[0]}; }};
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
