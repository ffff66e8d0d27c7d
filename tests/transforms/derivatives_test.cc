#include "capstan/derivatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;
using List = std::vector<Tensor>;

Tensor vector64(std::initializer_list<double> values) { return constant(std::vector<double>(values)); }

void expect_values(const Tensor& tensor, const std::vector<double>& want) {
  ASSERT_TRUE(tensor.has_value());
  const std::vector<double> got = tensor.to_vector<double>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12 * (1 + std::abs(want[i])));
}

// --- jvp ---

TEST(Jvp, GivesOutputsAndTangents) {
  const Tensor x = vector64({1, 2});
  const auto [y, dy] = jvp([](const Tensor& x) { return x * x; }, x, vector64({10, 1}));
  expect_values(y, {1, 4});
  expect_values(dy, {20, 4});
}

TEST(Jvp, TakesTuplesAndStructures) {
  const Tensor x = vector64({1, 2}), w = vector64({3, 4});
  const auto [y, dy] =
      jvp([](const Tensor& x, const Tensor& w) { return std::pair(x * w, x); }, std::tuple(x, w), {1.0 * x, 2.0 * w});
  expect_values(dy.first, {9, 24});
  expect_values(dy.second, {1, 2});
  const auto [z, dz] = jvp(
      [](const List& in) {
        return List{in[0] + in[1], constant(1.0, float64)};
      },
      List{x, w}, List{ones_like(x), zeros_like(w)});
  expect_values(dz[0], {1, 1});
  expect_values(dz[1], {0});  // zeros where nothing depends on the primals
  const Variable v(vector64({5, 6}));
  expect_values(jvp([&] { return v * v; }, v, ones_like(x)).second, {10, 12});
}

// One tensor in two places counts twice, and a closure's use of it does not.
TEST(Jvp, CountsArgumentsOnly) {
  const Tensor x = vector64({3});
  const auto [y, dy] =
      jvp([&](const Tensor& a, const Tensor& b) { return a * b * x; }, std::tuple(x, x), {1.0 * x, 0.0 * x});
  expect_values(y, {27});
  expect_values(dy, {27});
}

TEST(Jvp, Nests) {
  const auto f = [](const Tensor& x) { return pow(x, 4); };
  const auto along = [](const auto& g) { return [g](const Tensor& x) { return jvp(g, x, ones_like(x)).second; }; };
  const Tensor x = vector64({2});
  expect_values(along(f)(x), {32});
  expect_values(along(along(f))(x), {48});
  expect_values(along(along(along(f)))(x), {48});
  expect_values(function(along(along(f)))(x), {48});
}

TEST(Jvp, SaysWhatIsWrong) {
  const Tensor x = vector64({1, 2});
  const auto f = [](const Tensor& x) { return x; };
  EXPECT_EQ(message_of([&] { jvp(f, x, 1.0); }), "ForwardAccumulator: tangent 0 has shape [], its primal [2]");
  EXPECT_EQ(message_of([&] { jvp(f, x, {x, x}); }), "ForwardAccumulator: 2 tangents for 1 primals");
}

// --- vjp ---

TEST(Vjp, PullsBackAnyNumberOfTimes) {
  const Tensor x = vector64({1, 2});
  const auto [y, pullback] = vjp([](const Tensor& x) { return x * x; }, x);
  expect_values(y, {1, 4});
  expect_values(pullback(ones_like(y)), {2, 4});
  expect_values(pullback(vector64({0, 10})), {0, 40});
}

TEST(Vjp, OfStructures) {
  const Tensor x = vector64({1, 2}), w = vector64({3, 4});
  const auto [outputs, pullback] = vjp(
      [](const Tensor& x, const Tensor& w) {
        return std::map<std::string, Tensor>{{"product", x * w}, {"x", x}};
      },
      std::tuple(x, w));
  const auto [dx, dw] = pullback(std::map<std::string, Tensor>{{"product", x}, {"x", w}});
  expect_values(dx, {3 + 3, 8 + 4});
  expect_values(dw, {1, 4});
  const auto [of_x, back] = vjp([](const Tensor& x, const Tensor&) { return x; }, std::tuple(x, w));
  expect_values(std::get<1>(back(x)), {0, 0});
}

TEST(Vjp, OutlivesItsCallAndIsRecordedByTapesAround) {
  const Tensor x = vector64({3});
  GradientTape tape;
  tape.watch(x);
  const auto pullback = [&] { return vjp([](const Tensor& x) { return pow(x, 3); }, x).second; }();
  const Tensor slope = pullback(vector64({1}));
  expect_values(slope, {27});
  expect_values(tape.gradient(slope, x), {18});
}

TEST(Vjp, SaysWhatIsWrong) {
  const Tensor x = vector64({1, 2});
  const auto [y, pullback] = vjp([](const Tensor& x) { return List{x, x}; }, x);
  EXPECT_EQ(message_of([&] { pullback(x); }), "vjp: 1 cotangents for 2 outputs");
  EXPECT_EQ(message_of([&] { pullback(List{}); }), "vjp: 0 cotangents for 2 outputs");
  EXPECT_EQ(message_of([&] {
              pullback(List{x, vector64({1})});
            }),
            "gradient: output gradient 1 has shape [1], its target [2]");
}

// --- hvp, value_and_gradient ---

TEST(Hvp, IsTheHessianTimesADirection) {
  const Tensor x = vector64({1, 2, -0.5}), v = vector64({1, 0.5, -2});
  const auto f = [](const Tensor& x) { return reduce_sum(pow(x, 3)) + x(0) * x(1) * x(2); };
  expect_values(hvp(f, x, v), {1.75, 3.5, 8.5});
  expect_values(function([&](const Tensor& x, const Tensor& v) { return hvp(f, x, v); })(x, v), {1.75, 3.5, 8.5});
  // Against a row for each direction, by two tapes.
  GradientTape outer;
  outer.watch(x);
  const Tensor g = value_and_gradient(f, x).second;
  expect_values(outer.gradient(reduce_sum(g * v), x), {1.75, 3.5, 8.5});
}

TEST(Hvp, OfStructuresAndOfWhatIsUnconnected) {
  const Tensor x = vector64({1, 2}), w = vector64({3}), unused = vector64({7});
  const auto f = [](const List& p) { return reduce_sum(p[0] * p[0]) * p[1]; };
  const List product = hvp(f, List{x, w, unused}, List{vector64({1, 0}), vector64({1}), unused});
  expect_values(product[0], {6 + 2, 4});
  expect_values(product[1], {2});
  expect_values(product[2], {0});
}

TEST(Derivatives, TakeReferencesAndLeaveWhatTheyReferToAlone) {
  Tensor x = vector64({1, 2});
  const Tensor w = vector64({3, 4});
  const Tensor before = x;
  const auto f = [](const Tensor& a, const Tensor& b) { return reduce_sum(a * a * b); };
  const auto [by_x, by_w] = hvp(f, std::tie(x, w), {x, w});
  expect_values(by_x, {12, 32});
  expect_values(by_w, {2, 8});
  expect_values(jvp(f, std::tie(x, w), {x, w}).second, {57});
  const auto [y, pullback] = vjp(f, std::tie(x, w));
  const auto [to_x, to_w] = pullback(ones_like(y));
  expect_values(to_x, {6, 16});
  expect_values(to_w, {1, 4});
  EXPECT_TRUE(same_tensor(x, before));
}

TEST(ValueAndGradient, TakesAFunctionOfTheSourcesOrOfNothing) {
  const Variable v(vector64({1, 2}));
  const Tensor x = vector64({3, 4}), other = vector64({1});
  const auto [value, gradients] = value_and_gradient([&] { return reduce_sum(v * v * x); }, std::vector{v});
  expect_values(value, {19});
  expect_values(gradients[0], {6, 16});
  const auto [sum, both] =
      value_and_gradient([](const Tensor& a, const Tensor&) { return reduce_sum(a * a); }, std::tuple(x, other));
  expect_values(sum, {25});
  expect_values(std::get<0>(both), {6, 8});
  EXPECT_FALSE(std::get<1>(both).has_value());
}

// --- With jacobians and maps ---

// y_i = sin(x_i) * (sum of x)^2, its Jacobian, and the tangents of both along v, by hand.
TEST(ForwardModeAndJacobians, NestInBothOrders) {
  const Tensor x = vector64({0.4, -0.7, 1.1}), v = vector64({1, 0.5, -2});
  const auto f = [](const Tensor& x) { return sin(x) * square(reduce_sum(x)); };
  const double s = 0.8, ds = -0.5;
  std::vector<double> of_jacobian;
  const std::vector<double> at = x.to_vector<double>(), along = v.to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      // d/dt of sin(x_i) 2 s + [i == k] cos(x_i) s^2; that is d/dx_k of the tangent, as well.
      double entry = std::cos(at[i]) * along[i] * 2 * s + std::sin(at[i]) * 2 * ds;
      if (i == k) entry += -std::sin(at[i]) * along[i] * s * s + std::cos(at[i]) * 2 * s * ds;
      of_jacobian.push_back(entry);
    }
  }
  {
    const ForwardAccumulator accumulator(x, v);
    GradientTape tape;
    tape.watch(x);
    const Tensor jacobian = tape.jacobian(f(x), x);
    expect_values(reshape(accumulator.jvp(jacobian), {9}), of_jacobian);
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor tangent = jvp(f, x, v).second;
  expect_values(reshape(tape.jacobian(tangent, x), {9}), of_jacobian);
}

TEST(ForwardModeAndJacobians, InsideAndAroundVectorizedMap) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}, {-1.0, 0.5}}, float64);
  const auto f = [](const Tensor& row) { return sin(row) * reduce_sum(row * row); };
  const Tensor inside = vectorized_map([&](const Tensor& row) { return jvp(f, row, ones_like(row)).second; }, x);
  const Tensor around = jvp([&](const Tensor& rows) { return vectorized_map(f, rows); }, x, ones_like(x)).second;
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> want = jvp(f, x(i), ones({2}, float64)).second.to_vector<double>();
    expect_values(inside(i), want);
    expect_values(around(i), want);
  }
}

// --- In functions ---

// The graph of a function, op by op: how many products it has.
int products_of(const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find("matmul"); at != std::string::npos; at = text.find("matmul", at + 1)) ++count;
  return count;
}

// A transposed rule costs nothing in a trace: what it computes for its own sake is dead. The tangents of a network need
// one product per layer beside those of the network, the last of which nobody reads.
TEST(ForwardModeInFunctions, CostsAboutTheFunctionOnceMore) {
  const Variable w1(random::stateless_uniform({20, 64}, {1, 2}, -0.3, 0.3)), b1(zeros({64}));
  const Variable w2(random::stateless_uniform({64, 32}, {1, 3}, -0.3, 0.3)), b2(zeros({32}));
  const Variable w3(random::stateless_uniform({32, 5}, {1, 4}, -0.3, 0.3)), b3(zeros({5}));
  const auto network = [&](const Tensor& x) {
    return softmax(matmul(tanh(matmul(relu(matmul(x, w1) + b1), w2) + b2), w3) + b3);
  };
  auto forward = function(network);
  auto tangents = function([&](const Tensor& x, const Tensor& v) { return jvp(network, x, v).second; });
  const Tensor x = ones({32, 20}), v = ones({32, 20}) * 0.5;
  forward(x);
  const Tensor traced = tangents(x, v);
  EXPECT_EQ(products_of(graph_text(forward)), 3);
  EXPECT_EQ(products_of(graph_text(tangents)), 6) << graph_text(tangents);
  const Tensor eager = jvp(network, x, v).second;
  EXPECT_LT(reduce_max(abs(eager - traced)).item<double>(), 1e-5);
}

TEST(ForwardModeInFunctions, VariableReadInFunction) {
  const Variable v(vector64({1}));
  auto f = function([&] { return 2.0 * v; });
  const ForwardAccumulator accumulator(v, vector64({11}));
  expect_values(accumulator.jvp(v), {11});
  expect_values(accumulator.jvp(f()), {22});
}

TEST(ForwardModeInFunctions, AssignmentsKeepTheTangentOfAVariable) {
  const Variable v(vector64({3}));
  const auto f = [&](const Tensor& x) {
    const Tensor before = v * x;
    v.assign(5.0 * x);
    return List{before, v * v};
  };
  const Tensor x = vector64({2});
  for (const bool traced : {false, true}) {
    v.assign(vector64({3}));
    auto g = function(f);
    const ForwardAccumulator accumulator({v}, {vector64({1})});
    const List y = traced ? g(x) : f(x);
    expect_values(accumulator.jvp(y[0]), {2});
    expect_values(accumulator.jvp(y[1]), {20});
    expect_values(y[1], {100});
    // And inside of one.
    v.assign(vector64({3}));
    auto inside = function([&](const Tensor& x) {
      const ForwardAccumulator own({v}, {ones_like(v)});
      return own.jvp(f(x));
    });
    const List tangents = inside(x);
    expect_values(tangents[0], {2});
    expect_values(tangents[1], {20});
  }
}

TEST(ForwardModeInFunctions, FunctionCacheLimited) {
  auto f = function([](const Tensor& x) { return 2.0 * x; });
  for (int n = 1; n < 10; ++n) {
    const Tensor x = ones({n}, float64);
    const ForwardAccumulator accumulator(x, x);
    expect_values(accumulator.jvp(f(x)), std::vector<double>(static_cast<std::size_t>(n), 2));
  }
}

TEST(ForwardModeInFunctions, RunFunctionsEagerly) {
  run_functions_eagerly(true);
  auto f = function([](const Tensor& x) { return 3.0 * x; });
  const Tensor x = vector64({1});
  const ForwardAccumulator accumulator(x, vector64({2}));
  expect_values(accumulator.jvp(f(x)), {6});
  run_functions_eagerly(false);
}

TEST(ForwardModeInFunctions, ArgumentUnused) {
  auto f = function([](const Tensor& x, const Tensor&) { return x; });
  const Tensor x = vector64({1}), y = vector64({2});
  const ForwardAccumulator accumulator(y, vector64({1}));
  EXPECT_FALSE(accumulator.jvp(f(x, y)).has_value());
  // The same tensor twice, and results that are arguments.
  const ForwardAccumulator of_x(x, vector64({3}));
  auto g = function([](const Tensor& a, const Tensor& b) { return List{a * b, a, cast(b, int32)}; });
  const List results = g(x, x);
  expect_values(of_x.jvp(results[0]), {6});
  expect_values(of_x.jvp(results[1]), {3});
  EXPECT_FALSE(of_x.jvp(results[2]).has_value());
}

// What a call has drawn, its tangent is computed for.
TEST(ForwardModeInFunctions, DrawsOfACallAreNotRepeated) {
  auto f = function([](const Tensor& x) { return x * random::uniform({4}, 0.0, 1.0, float64); });
  const Tensor x = ones({4}, float64);
  for (int i = 0; i < 3; ++i) {
    const ForwardAccumulator accumulator(x, x);
    const Tensor y = f(x);
    expect_values(accumulator.jvp(y), y.to_vector<double>());
  }
}

TEST(ForwardModeInFunctions, ThroughRecomputedAndCustomGradients) {
  const auto f = recompute_grad([](const Tensor& x) { return sin(x) * exp(x); });
  const auto g = [](const Tensor& x) {
    return custom_gradient(
        [](std::span<const Tensor> in) -> CustomGradientResult {
          return {{in[0] * in[0]}, [x = in[0]](std::span<const Tensor> d) -> List { return {d[0] * sin(x)}; }};
        },
        {x})[0];
  };
  const Tensor x = vector64({0.3, -1}), v = vector64({2, 0.5});
  const auto expect = [&](const auto& h, const std::function<double(double)>& slope) {
    std::vector<double> want;
    for (std::size_t i = 0; i < 2; ++i) {
      want.push_back(slope(x.to_vector<double>()[i]) * v.to_vector<double>()[i]);
    }
    auto compiled = function([&](const Tensor& x) { return h(x); });
    expect_values(jvp(h, x, v).second, want);
    expect_values(jvp(compiled, x, v).second, want);
    expect_values(function([&](const Tensor& x, const Tensor& v) { return jvp(h, x, v).second; })(x, v), want);
  };
  expect([f](const Tensor& x) { return f(x); }, [](double at) { return (std::sin(at) + std::cos(at)) * std::exp(at); });
  expect(g, [](double at) { return std::sin(at); });
}

// A whole step, its gradient included, differentiated in forward mode.
TEST(ForwardModeInFunctions, AroundAFunctionThatTakesAGradient) {
  auto slope = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(reduce_sum(sin(x) * exp(x)), x);
  });
  const Tensor x = vector64({0.3, -1});
  const ForwardAccumulator accumulator(x, ones_like(x));
  std::vector<double> want;
  for (const double at : {0.3, -1.0}) want.push_back(2 * std::cos(at) * std::exp(at));
  expect_values(accumulator.jvp(slope(x)), want);
  auto inside = function([&](const Tensor& x) { return jvp(slope, x, ones_like(x)).second; });
  expect_values(inside(x), want);
}

// A tape keeps every iteration of a loop; an accumulator keeps none.
TEST(ForwardModeInFunctions, TangentsOfALoopAreOneNode) {
  const auto f = [](const Tensor& x) {
    return std::get<1>(while_loop([](const Tensor& i, const Tensor&) { return i < 100; },
                                  [](const Tensor& i, const Tensor& a) { return std::tuple(i + 1, sin(a) * 1.5); },
                                  std::tuple(constant(0), x)));
  };
  auto tangents = function([&](const Tensor& x) { return jvp(f, x, ones_like(x)).second; });
  const Tensor x = ones({100000}, float64);
  const std::size_t before = std::max(memory_stats().peak, memory_stats().in_use + 16 * 800000);
  const Tensor tangent = tangents(x);
  EXPECT_LE(memory_stats().peak, before);
  const std::string text = graph_text(tangents);
  EXPECT_NE(text.find("tangent("), std::string::npos) << text;
  EXPECT_EQ(text.find("while_loop("), std::string::npos) << "the loop itself has no reader\n" << text;
  const Tensor one = ones({1}, float64);
  expect_values(tangent(slice(0, 1)), jvp(f, one, one).second.to_vector<double>());
}

TEST(ForwardModeInFunctions, ControlFlow) {
  const auto sum_of_multiples = [](const Tensor& y) {
    return std::get<1>(
        while_loop([](const Tensor& i, const Tensor&) { return i < 5; },
                   [&](const Tensor& i, const Tensor& x) { return std::tuple(i + 1, x + cast(i, float64) * y); },
                   std::tuple(constant(0), constant(0.0, float64))));
  };
  const Tensor y = constant(1.0, float64), one = constant(1.0, float64);
  auto traced = function(sum_of_multiples);
  expect_values(jvp(sum_of_multiples, y, one).second, {10});
  expect_values(jvp(traced, y, one).second, {10});
  expect_values(function([&](const Tensor& y) { return jvp(sum_of_multiples, y, one).second; })(y), {10});
  const auto choose = [](const Tensor& x) {
    return cond(
        x > 0.0, [&] { return 3.0 * x; }, [&] { return 0.0 * x; });
  };
  auto choice = function(choose);
  for (const double at : {1.0, -1.0}) {
    const Tensor x = constant(at, float64);
    expect_values(jvp(choice, x, one).second, {at > 0 ? 3.0 : 0.0});
    expect_values(function([&](const Tensor& x) { return jvp(choose, x, one).second; })(x), {at > 0 ? 3.0 : 0.0});
  }
}

}  // namespace
}  // namespace capstan
