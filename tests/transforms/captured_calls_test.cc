// Calls of traced functions that capture tensors: who knows them, when, and what the function does with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

Tensor x64(double value) { return constant(value, float64); }

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// --- Who knows a capture ---

TEST(CapturedCall, FollowsTheTapeOfEachCall) {
  const Tensor x = x64(3), z = x64(5);
  auto f = function([&](const Tensor& p) { return x * x * p + z; });
  const Tensor p = x64(2);
  expect_values(f(p), {23});
  for (int round = 0; round < 2; ++round) {
    {
      GradientTape tape;
      tape.watch(x);
      expect_values(tape.gradient(f(p), x), {12});
    }
    {
      GradientTape tape;
      tape.watch({x, z, p});
      const Tensor y = f(p);
      const auto g = tape.gradient(y, std::tuple(x, z, p));
      expect_values(std::get<0>(g), {12});
      expect_values(std::get<1>(g), {1});
      expect_values(std::get<2>(g), {9});
    }
    {
      GradientTape tape;
      tape.watch(p);
      const Tensor y = f(p);
      const auto g = tape.gradient(y, std::pair(x, p));
      expect_missing(g.first);
      expect_values(g.second, {9});
    }
  }
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(CapturedCall, TakesResultsOfRecordedOps) {
  const Tensor x = x64(3);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  const Tensor y = x * x;
  auto f = function([y](const Tensor& p) { return sin(y) * p; });
  const Tensor value = f(x64(2));
  expect_values(outer.gradient(value, x), {2 * std::cos(9.0) * 6});
  expect_values(outer.gradient(value, y), {2 * std::cos(9.0)});
}

TEST(CapturedCall, GivesTheCaptureItselfAndWhatFollowsFromItAlone) {
  const Tensor x = x64(3);
  auto f = function([&](const Tensor& p) { return std::vector<Tensor>{x, x * x, p, stop_gradient(x), x * x * p}; });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> y = f(x64(2));
  expect_values(tape.gradient(y[0], x), {1});
  expect_values(tape.gradient(y[1], x), {6});
  // A call is one op, so what some of its results depend on has a gradient of zeros by the others.
  expect_values(tape.gradient(y[2], x), {0});
  expect_values(tape.gradient(y[3], x), {0});
  expect_values(tape.gradient(y[4], x), {12});
}

TEST(CapturedCall, HasVariablesAndEffectsBesides) {
  const Tensor x = constant({3.0, 4.0}, float64);
  const Variable v(x64(2)), count(x64(0));
  auto f = function([&](const Tensor& p) {
    count.assign_add(1.0);
    return reduce_sum(x * x * random::uniform({2}, 0, 1, float64) * p) * v;
  });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x64(2));
  const Tensor g = tape.gradient(y, x);
  expect_values(reduce_sum(g * x), {2 * y.item<double>()}, 1e-9);
  expect_values(tape.gradient(y, v), {y.item<double>() / 2});
  expect_values(count.value(), {1});
}

TEST(CapturedCall, ServesManyShapes) {
  const Tensor x = x64(3);
  auto f = function([&](const Tensor& p) { return reduce_sum(p * sin(x)); }, {.reduce_retracing = true});
  for (const std::int64_t n : {2, 3, 4, 7, 5, 6}) {
    GradientTape tape;
    tape.watch(x);
    expect_values(tape.gradient(f(ones({n}, float64)), x), {static_cast<double>(n) * std::cos(3.0)});
  }
  EXPECT_LE(tracing_count(f), 3);
}

TEST(CapturedCall, ReadsElementsOfWhatItCaptures) {
  const Tensor x = x64(3);
  auto f = function([&](const Tensor& p) { return p * (x * 2).item<double>(); });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x64(2));
  expect_values(y, {12});
  expect_missing(tape.gradient(y, x));
  expect_part(tape.explain(y, x), "item()");
}

TEST(CapturedCall, RunsOnAnyThread) {
  const Tensor x = x64(3);
  auto f = function([&](const Tensor& p) { return x * x * p; });
  std::vector<std::thread> threads;
  std::vector<double> found(4);
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        GradientTape tape;
        tape.watch(x);
        found[i] = tape.gradient(f(x64(2)), x).item<double>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, std::vector<double>(4, 12));
}

TEST(CapturedCall, GathersRowsOfATable) {
  const Tensor table = constant({1.0, 2.0, 3.0}, float64);
  auto f = function([&](const Tensor& i) { return reduce_sum(square(gather(table, i))); });
  GradientTape outer;
  outer.watch(table);
  GradientTape tape;
  tape.watch(table);
  const Tensor g = tape.gradient(f(constant({2, 0, 2})), table);
  expect_values(g, {2, 0, 12});
  expect_values(outer.jacobian(g, table), {2, 0, 0, 0, 0, 0, 0, 0, 4});
}

TEST(CapturedCall, IsMappedOverRows) {
  const Tensor x = x64(3);
  auto f = function([&](const Tensor& p) { return sin(x) * p; });
  const Tensor rows = constant({1.0, 2.0}, float64);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = vectorized_map([&](const Tensor& row) { return f(row); }, rows);
  expect_values(tape.gradient(y, x), {3 * std::cos(3.0)});
  expect_values(per_example_gradients([&](const Tensor& row) { return f(row); }, rows, x),
                {std::cos(3.0), 2 * std::cos(3.0)});
}

// --- What is computed in a branch or body ---

TEST(CapturedCall, MayCarryResultsOutOfABranch) {
  const Tensor x = x64(3);
  auto f = function([&](const Tensor& p) {
    Tensor kept;
    const Tensor y = cond(
        p > 0.0,
        [&] {
          kept = sin(x);
          return kept * p;
        },
        [&] { return p; });
    return y + kept;
  });
  GradientTape tape;
  tape.watch(x);
  expect_values(tape.gradient(f(x64(2)), x), {3 * std::cos(3.0)});
}

TEST(CapturedCall, DoesNotKeepWhatNobodyNeeds) {
  // Each step makes 16 MiB that only the next one reads.
  constexpr std::int64_t kSize = std::int64_t{1} << 21;
  const Tensor x = ones({kSize}, float64);
  auto f = function([&](const Tensor& p) {
    Tensor y = x;
    for (int i = 0; i < 40; ++i) y = y + 1.0;
    return reduce_mean(y) * p;
  });
  const MemoryStats before = memory_stats();
  expect_values(f(x64(2)), {82});
  EXPECT_LE(memory_stats().peak, std::max(before.peak, before.in_use + 12 * kSize * sizeof(double)));
  GradientTape tape;
  tape.watch(x);
  expect_values(reduce_sum(tape.gradient(f(x64(2)), x)), {2}, 1e-9);
}

// --- Functions in functions ---

TEST(FunctionInAFunction, TakesSymbolicTensorsOfTheOuterOne) {
  auto outer = function([](const Tensor& x) {
    const Tensor y = x * x;
    auto inner = function([&](const Tensor& z) { return z * y + sin(y); });
    return inner(x) + inner(2.0 * x);
  });
  const Tensor x = x64(3);
  const auto plain = [](const Tensor& a) { return 3.0 * a * a * a + 2.0 * sin(a * a); };
  GradientTape second({.persistent = true});
  second.watch(x);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = outer(x);
  expect_values(y, plain(x).to_vector<double>());
  const Tensor g = tape.gradient(y, x);
  expect_values(g, {81 + 12 * std::cos(9.0)});
  expect_values(second.gradient(g, x), {54 + 4 * std::cos(9.0) - 72 * std::sin(9.0)}, 1e-9);
}

TEST(FunctionInAFunction, IsTracedAnewWhereItsCapturesAreOthers) {
  Tensor y;
  auto inner = function([&](const Tensor& z) { return z * y; });
  auto outer = function([&](const Tensor& x) {
    y = x * x;
    return inner(x);
  });
  auto other = function([&](const Tensor& x) {
    y = x * x * x;
    return cond(
        x > 0.0, [&] { return inner(x); }, [&] { return x; });
  });
  expect_values(outer(x64(3)), {27});
  expect_values(other(x64(3)), {81});
  expect_values(outer(x64(2)), {8});
  y = x64(5);
  expect_values(inner(x64(2)), {10});
}

TEST(FunctionInAFunction, RefusesALeakedTensorByName) {
  Tensor y;
  auto outer = function([&](const Tensor& x) { return y = x * x; }, {.name = "scale"});
  outer(x64(3));
  auto inner = function([&](const Tensor& z) { return z * y; });
  const std::string text = message_of<TraceError>([&] { inner(x64(2)); });
  EXPECT_NE(text.find("scale"), std::string::npos) << text;
}

TEST(Recursion, WithTheSameArgumentsIsAnError) {
  std::function<Tensor(const Tensor&)> again;
  auto f = function(
      [&](const Tensor& x) {
        return cond(
            reduce_sum(x) < 1.0, [&] { return x; }, [&] { return again(x * 0.5); });
      },
      {.name = "halve"});
  again = [&](const Tensor& x) { return f(x); };
  const std::string text = message_of<TraceError>([&] { f(x64(8)); });
  EXPECT_NE(text.find("halve: it calls itself with the arguments that it is being traced for"), std::string::npos)
      << text;
  // By way of another one.
  std::function<Tensor(const Tensor&)> there;
  auto a = function([&](const Tensor& x) { return there(x) + 1.0; }, {.name = "ping"});
  auto b = function([&](const Tensor& x) { return a(x) * 2.0; }, {.name = "pong"});
  there = [&](const Tensor& x) { return b(x); };
  EXPECT_THROW(a(x64(1)), TraceError);
  // The function is as it was.
  again = [](const Tensor& x) { return x; };
  expect_values(f(x64(8)), {4});
}

TEST(Recursion, WithEverNewArgumentsIsAnError) {
  std::function<Tensor(const Tensor&)> again;
  auto f = function(
      [&](const Tensor& x) {
        return again(concat({x, x}, 0)(slice(0, x.dim(0) + 1)));
      },
      {.name = "grow"});
  again = [&](const Tensor& x) { return reduce_sum(f(x)); };
  const std::string text = message_of<TraceError>([&] { f(ones({1})); });
  EXPECT_NE(text.find("grow: it is being traced 100 times"), std::string::npos) << text;
}

TEST(Recursion, OverPlainNumbersEnds) {
  std::function<Tensor(const Tensor&, int)> again;
  auto power = function([&](const Tensor& x, int n) { return n == 0 ? x : again(x * 2.0, n - 1); });
  again = [&](const Tensor& x, int n) { return power(x, n); };
  expect_values(power(x64(1), 20), {1048576});
}

// --- Branches that were not taken ---

TEST(BranchNotTaken, GivesZerosInEveryOrder) {
  auto f = function([](const Tensor& x) {
    return cond(
        x > 1.0, [&] { return pow(x, 3); }, [&] { return x; });
  });
  const std::vector<std::vector<double>> expected = {{27, 18, 6}, {1, 0, 0}};
  for (int k = 0; k < 2; ++k) {
    const Tensor x = x64(k == 0 ? 3 : 0.5);
    GradientTape third;
    third.watch(x);
    GradientTape second;
    second.watch(x);
    GradientTape tape;
    tape.watch(x);
    const Tensor g = tape.gradient(f(x), x);
    expect_values(g, {expected[k][0]});
    const Tensor h = second.gradient(g, x);
    expect_values(h, {expected[k][1]});
    expect_values(third.gradient(h, x), {expected[k][2]});
    expect_values(hessian(f, x), {expected[k][1]});
    const ForwardAccumulator accumulator(x, x64(1));
    GradientTape inner;
    inner.watch(x);
    expect_values(accumulator.jvp(inner.gradient(f(x), x)), {expected[k][1]});
  }
}

TEST(BranchNotTaken, OfCapturesAndLoopsGivesZeros) {
  const Tensor x = x64(0.5), w = x64(2);
  auto choice = function([&](const Tensor& p) {
    return cond(
        p > 1.0, [&] { return w * w * p; }, [&] { return p; });
  });
  auto loop = function([&](const Tensor& p) {
    const auto below = [&](const Tensor& a) { return a < p; };
    return while_loop(
        below, [&](const Tensor& a) { return a * a * w; }, x);
  });
  for (const double number : {0.25, 4.0}) {
    GradientTape outer;
    outer.watch({x, w});
    GradientTape tape;
    tape.watch({x, w});
    const Tensor p = x64(number);
    const Tensor y = choice(p) + loop(x64(0.25));
    const auto g = tape.gradient(y, std::pair(x, w));
    expect_values(g.first, {1});
    expect_values(g.second, {number > 1 ? 2 * 2 * number : 0});
    const auto h = outer.gradient(g.second, std::pair(x, w));
    expect_values(h.first, {0});
    expect_values(h.second, {number > 1 ? 2 * number : 0});
  }
}

TEST(CustomGradient, NeedsARule) {
  const std::string text = message_of<ValueError>([] {
    custom_gradient([](std::span<const Tensor> v) -> CustomGradientResult { return {.outputs = {v[0]}}; }, {x64(1)});
  });
  EXPECT_NE(text.find("custom_gradient: the function gives no gradient"), std::string::npos) << text;
}

}  // namespace
}  // namespace capstan::testing
