// Forward mode: the original's tests of accumulators, by their names, and what is our own.
#include "capstan/forward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "capstan/runtime.h"
#include "tests/support/random.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Tensor number(double value) { return constant(value, float64); }
Tensor vector(std::initializer_list<double> values) { return constant(std::vector<double>(values)); }

Tensor random_matrix(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < n * n; ++i) numbers.push_back(random.uniform(-1, 1));
  return constant(numbers, {n, n});
}

// --- The catalogue ---

TEST(ForwardpropTest, JVPFunction) {
  const Tensor a = number(2), b = number(3);
  const ForwardAccumulator accumulator({a, b}, {4.0, 5.0});
  expect_values(accumulator.jvp(a + b), {9});
  expect_values(accumulator.jvp(a * b), {22});
}

TEST(ForwardpropTest, NonDifferentiableOpWithInputTangent) {
  const Tensor x = number(1);
  const ForwardAccumulator outer(x, 2.0);
  const ForwardAccumulator inner(x, 1.0);
  const Tensor y = zeros_like(x);
  expect_missing(outer.jvp(y));
  expect_missing(inner.jvp(y));
}

TEST(ForwardpropTest, VariableUnwatchedZero) {
  const Variable v(Tensor(constant({{1.0}})));
  const Tensor x = constant({{1.0}});
  const ForwardAccumulator accumulator(x, ones({1, 1}));
  expect_missing(accumulator.jvp(v));
  expect_values(accumulator.jvp(v, UnconnectedGradients::kZero), {0});
}

TEST(ForwardpropTest, MultipleWatchesAdd) {
  const Tensor x = number(-2);
  expect_error<ValueError>(
      [&] {
        const ForwardAccumulator accumulator({x, x}, {1.0, 2.0});
      },
      "ForwardAccumulator: primal 1 is the same as primal 0\n  help: give each primal once");
  ForwardAccumulator accumulator(x, 3.0);
  expect_values(accumulator.jvp(x), {3});
  accumulator.watch(x, 10.0);
  expect_values(accumulator.jvp(x), {13});
  accumulator.watch(x, number(11));
  expect_values(accumulator.jvp(x), {24});
  expect_values(accumulator.jvp(3.0 * x), {72});
  const Variable v(number(5));
  accumulator.watch(v, 1.0);
  accumulator.watch(v, 2.0);
  expect_values(accumulator.jvp(v), {3});
  expect_values(accumulator.jvp(v * v), {30});
}

TEST(ForwardpropTest, DeadTensorsJVPCleared) {
  const Tensor x = ones({1000, 1000});
  const ForwardAccumulator accumulator(x, x);
  Tensor y = x;
  y = y * 2;
  const std::size_t before = memory_stats().in_use;
  for (int i = 0; i < 50; ++i) y = y * 0.5 + x;
  EXPECT_LE(memory_stats().in_use, before + 8 * std::size_t{4000000});
  expect_values(reduce_mean(accumulator.jvp(y)), {2}, 1e-5);
}

TEST(ForwardpropTest, JVPManual) {
  const Tensor x = number(0.1);
  const ForwardAccumulator accumulator(x, 0.2);
  const Tensor y = sin(x);
  expect_values(y, {std::sin(0.1)}, 1e-15);
  expect_values(accumulator.jvp(y), {std::cos(0.1) * 0.2}, 1e-15);
}

// The derivatives of orders 0 to n in direction 1, each by an accumulator inside of the one before.
std::vector<double> pure_forward(const Function& f, const Tensor& x, int n) {
  std::vector<std::unique_ptr<ForwardAccumulator>> accumulators;
  for (int i = 0; i < n; ++i) accumulators.push_back(std::make_unique<ForwardAccumulator>(x, 1.0));
  Tensor y = f(x);
  std::vector<double> derivatives = {value(y)};
  for (; !accumulators.empty(); accumulators.pop_back()) {
    y = accumulators.back()->jvp(y);
    derivatives.push_back(value(y));
  }
  return derivatives;
}

TEST(ForwardpropTest, HigherOrderPureForward) {
  const std::vector<double> want = {std::pow(1.1, 3.5), 3.5 * std::pow(1.1, 2.5), 3.5 * 2.5 * std::pow(1.1, 1.5),
                                    3.5 * 2.5 * 1.5 * std::pow(1.1, 0.5)};
  for (int order = 0; order <= 3; ++order) {
    const std::vector<double> got = pure_forward([](const Tensor& x) { return pow(x, 3.5); }, number(1.1), order);
    for (int k = 0; k <= order; ++k)
      EXPECT_NEAR(got[static_cast<std::size_t>(k)], want[static_cast<std::size_t>(k)], 1e-12);
  }
}

// In each order of nesting of three of them, forward ('f') or reverse ('r'), outermost first.
double third_derivative(const Function& f, const Tensor& x, const std::string& modes) {
  if (modes.empty()) return value(f(x));
  std::function<Tensor(const Tensor&, std::size_t)> derive = [&](const Tensor& at, std::size_t level) -> Tensor {
    if (level == modes.size()) return f(at);
    if (modes[level] == 'f') {
      const ForwardAccumulator accumulator(at, 1.0);
      return accumulator.jvp(derive(at, level + 1));
    }
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(derive(at, level + 1), at);
  };
  return value(derive(x, 0));
}

TEST(ForwardpropTest, EveryOrderOfNestingAgrees) {
  const std::vector<std::pair<const char*, Function>> functions = {
      {"sin(x) exp(x^2)", [](const Tensor& x) { return sin(x) * exp(x * x); }},
      {"matmul",
       [](const Tensor& x) {
         const Tensor m = reshape(stack({x, x * x, sin(x), exp(x)}), {2, 2});
         return reduce_sum(tanh(matmul(m, matmul(m, m))));
       }},
      {"softmax and log",
       [](const Tensor& x) {
         return reduce_prod(softmax(stack({x, x * x, cos(x)})) + log_softmax(stack({x, exp(x), x * 3.0})));
       }},
      {"norm",
       [](const Tensor& x) {
         return sqrt(reduce_sum(square(concat({reshape(x, {1}), reshape(x * x, {1})}, 0))));
       }},
      {"elu and swish", [](const Tensor& x) { return elu(x - 1.0) * silu(x) + softplus(x); }}};
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    for (const std::vector<std::string>& group : {std::vector<std::string>{"f", "r"},
                                                  {"ff", "fr", "rf", "rr"},
                                                  {"fff", "ffr", "frf", "frr", "rff", "rfr", "rrf", "rrr"}}) {
      const double want = third_derivative(f, number(0.7), group.back());
      EXPECT_NE(want, 0);
      for (const std::string& modes : group) {
        EXPECT_NEAR(third_derivative(f, number(0.7), modes), want, 1e-10 * std::abs(want)) << modes;
      }
    }
  }
}

// The classic bug: what one accumulator computes must not count for the other. d/dx (x * d/dy (x + y)) = 1.
TEST(ForwardpropTest, PerturbationsAreNotConfused) {
  const Tensor x = number(1), y = number(1);
  {
    const ForwardAccumulator outer(x, 1.0);
    const ForwardAccumulator inner(y, 1.0);
    expect_values(outer.jvp(x * inner.jvp(x + y)), {1});
  }
  {
    GradientTape tape;
    tape.watch(x);
    const ForwardAccumulator inner(y, 1.0);
    expect_values(tape.gradient(x * inner.jvp(x + y), x), {1});
  }
  const ForwardAccumulator outer(x, 1.0);
  GradientTape tape;
  tape.watch(y);
  expect_values(outer.jvp(x * tape.gradient(x + y, y)), {1});
}

// A tangent that was given may depend on an outer primal; so may one that was asked for and used.
TEST(ForwardpropTest, TangentsAreValuesForThoseAround) {
  const Tensor x = number(2), y = number(3);
  const ForwardAccumulator outer(x, 1.0);
  const ForwardAccumulator inner(y, x * x);
  const Tensor tangent = inner.jvp(sin(y));
  expect_values(outer.jvp(tangent), {std::cos(3.0) * 4});
  expect_missing(inner.jvp(tangent));
  const Tensor mixed = tangent * y;  // x^2 cos(3) y: for the inner one the factor is a constant
  expect_values(inner.jvp(mixed), {16 * std::cos(3.0)});
  expect_values(outer.jvp(mixed), {4 * std::cos(3.0) * 3});
}

TEST(ForwardpropTest, GradPureForwardLooksUpInOneDirectionOnly) {
  const Tensor x = number(1.1);
  const ForwardAccumulator outer(x, 1.0);
  const ForwardAccumulator inner(x, 1.0);
  const Tensor y = pow(x, 3.5);
  expect_values(outer.jvp(inner.jvp(y)), {10.094785163637711}, 1e-12);
  expect_missing(inner.jvp(outer.jvp(y)));
}

TEST(ForwardpropTest, FunctionGrad) {
  const Tensor x = vector({1, 2, 3});
  const ForwardAccumulator accumulator(x, vector({3, 4, 5}));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reduce_prod(square(tanh(x)));
  const Tensor hvp = accumulator.jvp(tape.gradient(y, x));
  // The whole Hessian, row by row.
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor g = inner.gradient(reduce_prod(square(tanh(x))), x);
  std::vector<double> want;
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> row = outer.gradient(g(i), x).to_vector<double>();
    want.push_back(3 * row[0] + 4 * row[1] + 5 * row[2]);
  }
  expect_values(hvp, want, 1e-12);
}

TEST(ForwardpropTest, ReusingJVP) {
  const Tensor m1 = random_matrix(32, 1), m2 = random_matrix(32, 2);
  const Tensor t1 = random_matrix(32, 3), t2 = random_matrix(32, 4);
  const auto check = [](const Tensor& m, const Tensor& t) {
    const ForwardAccumulator accumulator(m, t);
    const Tensor y = matmul(m, m, {.transpose_a = true});
    const Tensor want = matmul(t, m, {.transpose_a = true}) + matmul(m, t, {.transpose_a = true});
    EXPECT_LT(reduce_max(abs(accumulator.jvp(y) - want)).item<double>(), 1e-12);
  };
  check(m1, t1);
  check(m2, t2);
}

TEST(ForwardpropTest, RecordingSelectively) {
  const Tensor x = number(1);
  ForwardAccumulator accumulator(x, 2.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  accumulator.stop();
  const Tensor for_tape = 3.0 * x;
  accumulator.start();
  tape.stop();
  const Tensor for_accumulator = 2.0 * x;
  expect_values(accumulator.jvp(for_accumulator), {4});
  expect_missing(tape.gradient(for_accumulator, x));
  expect_missing(accumulator.jvp(for_tape));
  expect_values(tape.gradient(for_tape, x), {3});
}

TEST(ForwardpropTest, OpWithNoTrainableOutputs) {
  const Variable v(number(1));
  const ForwardAccumulator accumulator(v, 11.0);
  v.assign_sub(0.5);
  EXPECT_EQ(v.item<double>(), 0.5);
}

TEST(ForwardpropTest, VariableWatched) {
  const Variable v(vector({1, 2, 3}));
  const ForwardAccumulator accumulator(v, vector({0.1, -0.2, 0.3}));
  expect_values(accumulator.jvp(v), {0.1, -0.2, 0.3});
  expect_values(accumulator.jvp(v * 2.0), {0.2, -0.4, 0.6});
  expect_values(accumulator.jvp(v + 0.1), {0.1, -0.2, 0.3});
  expect_values(accumulator.jvp(v.value()), {0.1, -0.2, 0.3});
}

// What is read after an assignment is read of the same variable.
TEST(ForwardpropTest, VariableKeepsItsTangentWhenItIsAssigned) {
  const Variable v(number(3));
  const ForwardAccumulator accumulator(v, 2.0);
  const Tensor before = v * v;
  v.assign(number(5));
  const Tensor after = v * v;
  expect_values(accumulator.jvp(before), {12});
  expect_values(accumulator.jvp(after), {20});
  v.assign_add(v * 1.0);
  expect_values(accumulator.jvp(v * v), {40});
}

TEST(ForwardpropTest, ForwardOverBackwardMemoryEfficiency) {
  const Tensor x = number(1);
  GradientTape tape;
  tape.watch(x);
  ForwardAccumulator accumulator(x, 0.1);
  const Tensor y = sin(x);
  // The accumulator is the inner one: the tape has its tangents.
  const Tensor forward = accumulator.jvp(y);
  expect_values(tape.gradient(forward, x), {-0.1 * std::sin(1.0)}, 1e-12);
}

TEST(ForwardpropTest, BackwardOverForward) {
  const Tensor x = number(1);
  // Made first and entered last.
  ForwardAccumulator accumulator(x, 0.1);
  accumulator.stop();
  GradientTape tape;
  tape.watch(x);
  accumulator.start();
  const Tensor y = cos(x);
  expect_values(tape.gradient(accumulator.jvp(y), x), {-0.1 * std::cos(1.0)}, 1e-12);
}

// An inner tape does not see what an outer accumulator computes.
TEST(ForwardpropTest, TapesInsideIgnoreTangents) {
  const Tensor x = number(1);
  const ForwardAccumulator accumulator(x, 0.1);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sin(x);
  const Tensor tangent = accumulator.jvp(y);
  expect_missing(tape.gradient(tangent, x));
}

TEST(ForwardpropTest, UnconnectedGradients) {
  const Tensor x = number(-1), y = number(3);
  const ForwardAccumulator accumulator(x, 0.1);
  expect_values(accumulator.jvp(x, UnconnectedGradients::kZero), {0.1});
  expect_values(accumulator.jvp(x), {0.1});
  expect_values(accumulator.jvp(y, UnconnectedGradients::kZero), {0});
  expect_missing(accumulator.jvp(y));
}

TEST(ForwardpropTest, IndexSlicesGrad) {
  const Tensor x = vector({1});
  const ForwardAccumulator accumulator(x, vector({3}));
  const Tensor y = gather(x, constant({0}));
  expect_values(accumulator.jvp(y), {3});
}

// The gradient of a gather is row-sparse; so is its tangent, and a use of it sees the dense one.
// What is watched beside what is known of its rows adds up.
TEST(ForwardpropTest, RowSparseGradientsCanBeWatched) {
  const Tensor x = number(3);
  const ForwardAccumulator of_x(x, number(1));
  ForwardAccumulator accumulator(x, number(1));
  const Tensor table = vector({0, 0});
  Tensor rows;
  {
    GradientTape tape;
    tape.watch(table);
    rows = tape.gradient(x * x * gather(table, 1), table);
  }
  ASSERT_TRUE(rows.is_row_sparse());
  accumulator.watch(rows, vector({1, 10}));
  const Tensor y = reduce_sum(rows * vector({1, 100}));
  EXPECT_EQ(of_x.jvp(y).item<double>(), 600);
  EXPECT_EQ(accumulator.jvp(y).item<double>(), 600 + 1 + 1000);
}

TEST(ForwardpropTest, RowSparseGradientsHaveTangents) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, float64);
  const ForwardAccumulator accumulator(x, ones_like(x));
  GradientTape tape;
  tape.watch(x);
  const Tensor rows = gather(x, constant({2, 0}));
  const Tensor g = tape.gradient(reduce_sum(pow(rows, 3)), x);
  ASSERT_TRUE(g.is_row_sparse());
  const Tensor tangent = accumulator.jvp(g);
  ASSERT_TRUE(tangent.is_row_sparse());
  expect_values(tangent, {6, 12, 0, 0, 30, 36});
  expect_values(accumulator.jvp(g * 2.0), {12, 24, 0, 0, 60, 72});
}

TEST(ForwardpropTest, Hessian1D) {
  const Tensor a = constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}, float64);
  const Tensor x = vector({1, 2, 3});
  for (int i = 0; i < 3; ++i) {
    std::vector<double> unit(3, 0.0);
    unit[static_cast<std::size_t>(i)] = 1;
    const ForwardAccumulator accumulator(x, constant(unit));
    GradientTape tape;
    tape.watch(x);
    const Tensor column = reshape(x, {3, 1});
    const Tensor y = matmul(matmul(column, a, {.transpose_a = true}), column);
    std::vector<double> want;
    for (int k = 0; k < 3; ++k) want.push_back(a(i, k).item<double>() + a(k, i).item<double>());
    expect_values(accumulator.jvp(tape.gradient(y, x)), want, 1e-12);
  }
}

// --- Gradients of one's own ---

Tensor own_sin(const Tensor& x) {
  return custom_gradient(
      [](std::span<const Tensor> in) -> CustomGradientResult {
        const Tensor x = in[0];
        return {{sin(x)}, [x](std::span<const Tensor> g) -> std::vector<Tensor> { return {cos(x) * g[0]}; }};
      },
      {x})[0];
}

TEST(ForwardpropTest, CustomGradient) {
  const std::vector<double> got = pure_forward(own_sin, number(0.4), 3);
  const std::vector<double> want = {std::sin(0.4), std::cos(0.4), -std::sin(0.4), -std::cos(0.4)};
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(got[k], want[k], 1e-12) << "order " << k;
  for (const char* modes : {"fff", "frf", "rff", "ffr", "rrf"}) {
    EXPECT_NEAR(third_derivative(own_sin, number(0.4), modes), -std::cos(0.4), 1e-12) << modes;
  }
}

TEST(ForwardpropTest, CustomGradientOfVariablesAndSeveralOutputs) {
  const Variable w(number(3));
  const Tensor x = number(2), unrelated = number(1);
  const auto f = [&](std::span<const Tensor> in) -> CustomGradientResult {
    const Tensor x = in[0];
    return {{x * w, x * x},
            [x, &w](std::span<const Tensor> g) -> std::vector<Tensor> {
              return {100.0 * g[0] * w + 100.0 * g[1] * 2.0 * x, Tensor()};
            },
            [x](std::span<const Tensor> g, std::span<const Variable>) -> std::vector<Tensor> {
              return {1000.0 * g[0] * x};
            }};
  };
  const ForwardAccumulator accumulator({x, unrelated, w}, {1.0, 1.0, 1.0});
  const std::vector<Tensor> y = custom_gradient(f, {x, unrelated});
  expect_values(accumulator.jvp(y[0]), {300 + 2000});
  expect_values(accumulator.jvp(y[1]), {400});
}

TEST(ForwardpropTest, ExceptionInCustomGradientNotSwallowed) {
  struct Own {};
  const Tensor x = number(1);
  const ForwardAccumulator accumulator(x, 1.0);
  const auto f = [](std::span<const Tensor> in) -> CustomGradientResult {
    return {{in[0] * 2.0}, [](std::span<const Tensor>) -> std::vector<Tensor> { throw Own(); }};
  };
  EXPECT_THROW(custom_gradient(f, {x}), Own);
  expect_values(accumulator.jvp(x * 3.0), {3});  // and it goes on
}

// --- Of our own ---

TEST(ForwardAccumulator, KnowsStructures) {
  const Tensor x = number(2), y = number(3);
  const ForwardAccumulator accumulator(std::vector{x, y}, std::vector{number(1), number(10)});
  const auto [sum, list] = accumulator.jvp(std::pair(x + y, std::vector{x * y, y}));
  expect_values(sum, {11});
  expect_values(list[0], {23});
  expect_values(list[1], {10});
  const std::map<std::string, Tensor> named = accumulator.jvp(std::map<std::string, Tensor>{{"product", x * y}});
  expect_values(named.at("product"), {23});
}

TEST(ForwardAccumulator, StretchesTangentsOfBroadcastInputs) {
  const Tensor row = vector({1, 2, 3}), column = constant({{1.0}, {2.0}}, float64), scalar = number(2);
  const ForwardAccumulator accumulator({row, column, scalar}, {vector({1, 0, 1}), ones({2, 1}, float64), 1.0});
  expect_values(accumulator.jvp(row + column), {2, 1, 2, 2, 1, 2});
  expect_values(accumulator.jvp(row * column), {2, 2, 4, 3, 2, 5});
  expect_values(accumulator.jvp(maximum(row, scalar)), {1, 0, 1});  // the first of equals
  const Tensor big = zeros({2, 3}, float64);
  expect_values(accumulator.jvp(big + scalar), {1, 1, 1, 1, 1, 1});
  expect_values(accumulator.jvp(big * scalar), {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(accumulator.jvp(where(big > 0.0, row, scalar)).shape(), Shape({2, 3}));
}

TEST(ForwardAccumulator, OfNothing) {
  const Tensor x = zeros({0, 3}, float64);
  const ForwardAccumulator accumulator(x, x);
  EXPECT_EQ(accumulator.jvp(exp(x)).shape(), Shape({0, 3}));
  expect_values(accumulator.jvp(reduce_sum(x)), {0});
  EXPECT_EQ(accumulator.jvp(matmul(x, ones({3, 2}, float64))).shape(), Shape({0, 2}));
  expect_values(accumulator.jvp(softmax(x)), {});
}

TEST(ForwardAccumulator, IntegersKeepTheirTangentAndGiveNone) {
  const Tensor x = constant({1, 2});
  const ForwardAccumulator accumulator(x, constant({3, 4}));
  expect_values(accumulator.jvp(x), {3, 4});
  expect_missing(accumulator.jvp(x * 2));
  expect_missing(accumulator.jvp(cast(x, float64)));
  const Tensor y = number(2);
  const ForwardAccumulator of_floats(y, 1.0);
  expect_missing(of_floats.jvp(cast(y, int32)));
  expect_missing(of_floats.jvp(y > 1.0));
}

TEST(ForwardAccumulator, OfComplexNumbers) {
  const std::complex<double> at(0.5, -1.2), direction(0.3, 0.8);
  const Tensor z = constant(at);
  const ForwardAccumulator accumulator(z, constant(direction));
  const auto expect = [&](const Tensor& y, std::complex<double> want) {
    EXPECT_LT(std::abs(accumulator.jvp(y).item<std::complex<double>>() - want), 1e-12);
  };
  expect(exp(z), std::exp(at) * direction);
  expect(z * z * z, 3.0 * at * at * direction);
  expect(conj(z), std::conj(direction));
  expect(sin(z) / z, (std::cos(at) / at - std::sin(at) / (at * at)) * direction);
  expect_values(accumulator.jvp(abs(z)),
                {(at.real() * direction.real() + at.imag() * direction.imag()) / std::abs(at)});
  expect_values(accumulator.jvp(real(z)), {0.3});
}

TEST(ForwardAccumulator, StopGradientCuts) {
  const Tensor x = number(3);
  const ForwardAccumulator accumulator(x, 1.0);
  expect_values(accumulator.jvp(x * stop_gradient(x)), {3});
}

TEST(ForwardAccumulator, SaysWhatIsWrong) {
  const Tensor x = vector({1, 2});
  const auto make = [&](const Primals& primals, const Tangents& tangents) {
    return [&] { const ForwardAccumulator accumulator(primals, tangents); };
  };
  expect_error<ValueError>(make({x}, {x, x}), "ForwardAccumulator: 2 tangents for 1 primals");
  expect_error<ShapeError>(make(x, 1.0), "ForwardAccumulator: tangent 0 has shape [], its primal [2]");
  expect_error<DTypeError>(
      make(x, constant({1.0, 2.0})),
      "ForwardAccumulator: tangent 0 is float32, its primal float64\n  help: convert it with cast");
  expect_error<ValueError>(make(Tensor(), 1.0), "ForwardAccumulator: primal 0 is an empty tensor");
  expect_error<ValueError>(make(Variable(), 1.0), "ForwardAccumulator: primal 0 is an empty tensor");
  expect_error<ValueError>(make(x, Tensor()), "ForwardAccumulator: tangent 0 is an empty tensor");
  ForwardAccumulator accumulator(x, x);
  expect_error<ValueError>([&] { accumulator.jvp(Tensor()); }, "jvp: a target is an empty tensor\n  help: a missing");
  expect_error<GradientError>([&] { accumulator.start(); }, "start: this accumulator is already recording");
  expect_error<ShapeError>([&] { accumulator.watch(x, 1.0); }, "tangent 0 has shape []");
  accumulator.stop();
  accumulator.stop();
  EXPECT_FALSE(accumulator.is_recording());
  // An accumulator that was not made leaves nothing behind.
  const GradientTape tape;
  EXPECT_TRUE(tape.is_recording());
}

TEST(ForwardAccumulator, BelongsToItsThread) {
  const Tensor x = number(2);
  ForwardAccumulator accumulator(x, 1.0);
  Tensor elsewhere;
  std::thread([&] {
    elsewhere = x * x;
    expect_error<GradientError>([&] { accumulator.jvp(x); },
                                "ForwardAccumulator: this accumulator belongs to another thread");
    expect_error<GradientError>([&] { accumulator.stop(); }, "belongs to another thread");
    expect_error<GradientError>([&] { accumulator.watch(x, 1.0); }, "belongs to another thread");
  }).join();
  expect_missing(accumulator.jvp(elsewhere));
  expect_values(accumulator.jvp(x * x), {4});
}

// Each may end before the others.
TEST(ForwardAccumulator, EndsInAnyOrder) {
  const Tensor x = number(2);
  auto a = std::make_unique<ForwardAccumulator>(x, 1.0);
  auto b = std::make_unique<ForwardAccumulator>(x, 10.0);
  GradientTape tape;
  tape.watch(x);
  a.reset();
  const Tensor y = x * x;
  expect_values(b->jvp(y), {40});
  b.reset();
  expect_values(tape.gradient(y, x), {4});
}

}  // namespace
}  // namespace capstan::testing
