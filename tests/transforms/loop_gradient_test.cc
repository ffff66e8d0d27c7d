// Gradients of loops in functions: against plain loops under plain tapes, for many kinds of bodies.
#include "src/transforms/loop_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "src/transforms/control_nodes.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"
#include "tests/transforms/control_cases.h"

namespace capstan {
namespace {

using testing::expect_close;
using testing::expect_same_everywhere;
using testing::filled;
using testing::numbers;
using testing::orders;
using testing::same_bits;
using testing::traced_orders;
using testing::vector64;
using List = std::vector<Tensor>;
using Pair = std::pair<Tensor, Tensor>;
using Step = std::function<List(const List& state)>;

// A body run as often as a number says, or a condition on what is carried.
List repeat(int times, const Step& body, const List& begin) {
  List with_count = begin;
  with_count.push_back(constant(0));
  List end = while_loop([&](const List& state) { return state.back() < times; },
                        [&](const List& state) {
                          List next = body({state.begin(), state.end() - 1});
                          next.push_back(state.back() + 1);
                          return next;
                        },
                        with_count);
  end.pop_back();
  return end;
}

// Everything that can be asked of a loop of so many iterations: 0, 1, 2 and more.
void expect_same_for_any_count(const Step& body, const std::function<Tensor(const List& end)>& result,
                               const std::function<List(const List& in)>& begin, const List& inputs) {
  for (const int times : {0, 1, 2, 5}) {
    SCOPED_TRACE(times);
    const auto f = [&](const List& in) { return result(repeat(times, body, begin(in))); };
    expect_close(traced_orders(f, inputs), orders(f, inputs), "inside of a function");
  }
}

Pair spring(const Tensor& x, const Tensor& v) {
  const Tensor stretch = x(Slice{1}) - x(Slice{Slice::kEdge, -1}) - 0.5;
  const Tensor force = 10.0 * stretch + 5.0 * stretch * stretch * stretch;
  return {x + 0.01 * v, v + 0.01 * (pad(force, {{0, 1}}) - pad(force, {{1, 0}}))};
}

// --- Bodies ---

TEST(LoopGradient, OfForcesBetweenNeighbours) {
  const auto by_while = [](const List& in) {
    const List end = repeat(
        7,
        [](const List& s) {
          const auto [x, v] = spring(s[0], s[1]);
          return List{x, v};
        },
        in);
    return end[0];
  };
  const auto by_fold = [](const List& in) {
    return foldl([](const Pair& s, const Tensor&) { return spring(s.first, s.second); }, range(7), Pair(in[0], in[1]))
        .first;
  };
  const List inputs = {filled({5}, 1, float64), filled({5}, 2, float64)};
  expect_same_everywhere(by_while, inputs);
  expect_same_everywhere(by_fold, inputs);
}

TEST(LoopGradient, OfWhatIsCaptured) {
  // A matrix that is used twice, a scalar, and a row that no iteration changes.
  const List inputs = {filled({2, 3}, 1, float64), filled({3, 3}, 2, float64), constant(0.7, float64),
                       filled({3}, 3, float64)};
  const auto f = [](const List& in) {
    return repeat(4, [&](const List& s) -> List { return {tanh(matmul(matmul(s[0], in[1]) + in[3], in[1])) * in[2]}; },
                  {in[0]})[0];
  };
  expect_same_everywhere(f, inputs);
}

TEST(LoopGradient, OfAVectorThatIsCarriedAndCaptured) {
  const auto f = [](const List& in) {
    return repeat(3, [&](const List& s) -> List { return {s[0] * in[0] + s[1], s[1] * in[0]}; }, {in[0], in[0]})[0];
  };
  expect_same_everywhere(f, {vector64({0.3, -0.8, 1.2})});
}

TEST(LoopGradient, OfWhatIsHandedOnSwappedOrForgotten) {
  const List inputs = {vector64({0.3, -0.8}), vector64({1.1, 0.4}), vector64({-0.5, 0.2})};
  const auto all = [](const List& in) { return in; };
  const auto sum = [](const List& end) { return end[0] + 2.0 * end[1] * end[2]; };
  const auto first = [](const List& end) { return end[0]; };
  const Step handed_on = [](const List& s) -> List { return {s[0] * s[1], s[1], s[2] + s[1]}; };
  const Step swapped = [](const List& s) -> List { return {s[1], s[0] * 0.5, sin(s[2])}; };
  const Step rotated = [](const List& s) -> List { return {s[1], s[2], s[0] * s[0]}; };
  const Step forgotten = [](const List& s) -> List { return {s[0] + s[1], ones_like(s[1]), s[0]}; };
  const Step one_for_all = [](const List& s) -> List { return {s[0], s[0], s[0]}; };
  for (const Step& body : {handed_on, swapped, rotated, forgotten, one_for_all}) {
    expect_same_for_any_count(body, sum, all, inputs);
    expect_same_for_any_count(body, first, all, inputs);
  }
}

TEST(LoopGradient, BesideIntegersAndTruthValues) {
  const auto f = [](const List& in) {
    const List end = repeat(5,
                            [](const List& s) -> List {
                              const Tensor grows = reduce_sum(s[0]) < 2.0;
                              return {where(s[2], s[0] * 1.5, s[0] - 0.25 * cast(s[1], float64)), s[1] + 2, grows};
                            },
                            {in[0], constant(1), constant(true)});
    return end[0] * cast(end[1], float64);
  };
  expect_same_everywhere(f, {vector64({0.3, 0.4})});
}

TEST(LoopGradient, HasNoNanFromADerivativeThatNobodyNeeds) {
  // What the last iteration makes of the root and the logarithm is not differentiated.
  const auto f = [](const List& in) {
    return repeat(1,
                  [](const List& s) -> List {
                    return {s[0] * 2.0, log(s[0]), sqrt(s[0])};
                  },
                  {in[0], in[0], in[0]})[0];
  };
  auto gradient = function([&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(f({x}), x);
  });
  EXPECT_EQ(gradient(vector64({0.0, 1.0})).to_vector<double>(), (std::vector<double>{2, 2}));
}

TEST(LoopGradient, OfRowsThatAreGathered) {
  // By a table in the body alone, and beside a dense use of it; the gradients are row-sparse until the end.
  for (const bool dense_too : {false, true}) {
    const auto f = [&](const List& in) {
      const List end = repeat(3,
                              [&](const List& s) -> List {
                                Tensor next = s[0] * gather(in[1], constant({0, 2, 2})) + s[0];
                                if (dense_too) next = next + reduce_sum(in[1] * in[1]);
                                return {next};
                              },
                              {in[0]});
      return end[0];
    };
    expect_same_everywhere(f, {filled({3, 2}, 1, float64), filled({4, 2}, 2, float64)});
  }
  // Of what is carried.
  const auto g = [](const List& in) {
    return repeat(3, [&](const List& s) -> List { return {gather(s[0], constant({1, 1, 0})) * in[1]}; }, {in[0]})[0];
  };
  expect_same_everywhere(g, {filled({3}, 1, float64), filled({3}, 2, float64)});
}

TEST(LoopGradient, OfSlicesPaddingsAndWhatIsPutTogether) {
  const auto f = [](const List& in) {
    return repeat(3,
                  [](const List& s) -> List {
                    const Tensor inner = s[0](Slice{1, 3});
                    const Tensor mixed = concat({inner * inner, s[0](Slice{0, 1}), s[0](Slice{3})}, 0);
                    const Tensor border = pad(mixed(Slice{1, 3}, Slice{1}), {{2, 0}, {1, 0}});
                    const Tensor below = pad(inner, {{0, 2}, {0, 0}}, PadMode::kConstant, 0.5);
                    const Tensor above = pad(inner, {{2, 0}, {0, 0}}, PadMode::kConstant, 0.5);
                    return {reverse(mixed, 0) * 0.3 + border + tanh(below - above)};
                  },
                  {in[0]})[0];
  };
  expect_same_everywhere(f, {filled({4, 3}, 1, float64)});
}

TEST(LoopGradient, OfLoopsChoicesAndRulesInBodies) {
  const auto f = [](const List& in) {
    const auto rule = recompute_grad([](const Tensor& x) { return sin(x) * x; });
    return repeat(3,
                  [&](const List& s) -> List {
                    const Tensor inner =
                        repeat(2, [&](const List& t) -> List { return {t[0] * in[1] + s[0]}; }, {s[0]})[0];
                    const Tensor chosen = cond(
                        reduce_sum(s[0]) > 0.3, [&] { return inner * 0.5; }, [&] { return inner + in[1]; });
                    return {rule(chosen)};
                  },
                  {in[0]})[0];
  };
  expect_same_everywhere(f, {vector64({0.3, -0.2}), vector64({0.7, 0.4})});
}

TEST(LoopGradient, OfScansInBothDirections) {
  for (const bool backwards : {false, true}) {
    const auto f = [&](const List& in) {
      const Tensor states = scan([&](const Tensor& h, const Tensor& row) { return tanh(matmul(h, in[2]) + row); },
                                 in[1], in[0], {.reverse = backwards});
      return states(2) * 2.0 + reduce_sum(states * states, 0);
    };
    expect_same_everywhere(f, {filled({2, 3}, 1, float64), filled({4, 2, 3}, 2, float64), filled({3, 3}, 3, float64)});
  }
  const auto folded = [](const List& in) {
    return foldr([&](const Tensor& h, const Tensor& row) { return h * row + in[2]; }, in[1], in[0]);
  };
  expect_same_everywhere(folded, {filled({3}, 1, float64), filled({4, 3}, 2, float64), filled({3}, 3, float64)});
  const auto mapped = [](const List& in) {
    return map_fn([&](const Tensor& row) { return row * in[0] + reduce_sum(row) * row; }, in[1]);
  };
  expect_same_everywhere(mapped, {filled({3}, 1, float64), filled({4, 3}, 2, float64)});
}

TEST(LoopGradient, OfVariablesThatTheBodyReadsAndWrites) {
  const auto gradients_of = [](bool traced) {
    const Variable w(vector64({0.5, -0.3}));
    const Variable count(vector64({1.0, 1.0}));
    const auto body = [&](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      const Tensor end = repeat(3,
                                [&](const List& s) -> List {
                                  const Tensor read = s[0] * w + count;
                                  count.assign(count * 1.5 + s[0]);
                                  return {read * count + s[0]};
                                },
                                {x})[0];
      const auto [dx, dw, dcount] = tape.gradient(reduce_sum(end * end), std::tuple(x, w, count));
      return List{end, dx, dw, dcount};
    };
    auto f = function(body);
    const Tensor x = vector64({0.2, 0.9});
    List all = traced ? f(x) : body(x);
    for (const Tensor& again : traced ? f(x) : body(x)) all.push_back(again);
    all.push_back(count);
    return numbers(all);
  };
  expect_close(gradients_of(true), gradients_of(false), "variables");
}

TEST(LoopGradient, OfDrawsIsThatOfTheDrawsThatWereMade) {
  auto f = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const List end = repeat(5,
                            [](const List& s) -> List {
                              const Tensor noise = random::normal({3}, 0.0, 1.0, float64);
                              return {s[0] * noise, s[1] * noise};
                            },
                            {x, ones_like(x)});
    return List{tape.gradient(end[0], x), end[1]};
  });
  const List both = f(vector64({0.2, 0.9, -1.0}));
  expect_close(numbers(both[0]), numbers(both[1]), "the product of the draws");
}

// --- Counts and lengths ---

TEST(LoopGradient, OfCountsThatDependOnValues) {
  const auto f = [](const List& in) {
    const auto [a, b] =
        while_loop([](const Tensor& x, const Tensor&) { return reduce_sum(x) < 3.0; },
                   [&](const Tensor& x, const Tensor& y) { return Pair(x * 1.4 + 0.1, y * x); }, Pair(in[0], in[1]));
    return a + b * b;
  };
  for (const double begin : {-0.05, 0.1, 0.9, 5.0}) {
    SCOPED_TRACE(begin);
    const List inputs = {vector64({begin, 0.2}), vector64({1.0, 2.0})};
    expect_close(traced_orders(f, inputs), orders(f, inputs), "inside of a function");
  }
}

TEST(LoopGradient, OfManyIterationsAndLargeStates) {
  const auto f = [](const List& in, int times) {
    return repeat(times, [&](const List& s) -> List { return {s[0] + 0.01 * sin(s[0] * in[1])}; }, {in[0]})[0];
  };
  const auto gradients = [&](const List& in, int times) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(reduce_sum(square(f(in, times))), in);
  };
  for (const auto& [length, times] : {std::pair(3, 1000), std::pair(0, 5), std::pair(20000, 5)}) {
    SCOPED_TRACE(length);
    const List in = {filled({length}, 1, float64), filled({length}, 2, float64)};
    auto traced = function([&, times = times](const List& inputs) { return gradients(inputs, times); });
    expect_close(numbers(traced(in)), numbers(gradients(in, times)), "gradients");
  }
}

// --- What holds of the numbers ---

TEST(LoopGradient, TheIterationsHaveTheBitsOfThePlainLoopAndGradientsAgreeToRounding) {
  const auto f = [](const Tensor& x, const Tensor& v, bool gradient) {
    GradientTape tape;
    tape.watch(x);
    const Pair end =
        foldl([](const Pair& s, const Tensor&) { return spring(s.first, s.second); }, range(200), Pair(x, v));
    if (!gradient) return List{end.first, end.second};
    return List{tape.gradient(reduce_sum(square(end.first)), x)};
  };
  const Tensor x = range(64.0) * 0.6 + filled({64}, 1), v = filled({64}, 2);
  auto traced = function([&](const Tensor& a, const Tensor& b) { return f(a, b, false); });
  const List ends = traced(x, v), plain_ends = f(x, v, false);
  EXPECT_TRUE(same_bits(ends[0], plain_ends[0]));
  EXPECT_TRUE(same_bits(ends[1], plain_ends[1]));
  auto traced_gradient = function([&](const Tensor& a, const Tensor& b) { return f(a, b, true); });
  const std::vector<double> found = numbers(traced_gradient(x, v)), expected = numbers(f(x, v, true));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-4 * (1 + std::fabs(expected[i])));
}

TEST(LoopGradient, IsTheSameInManyThreadsAtOnce) {
  auto f = function([](const Tensor& x, const Tensor& w) {
    GradientTape tape;
    tape.watch(List{x, w});
    const Tensor end = repeat(20, [&](const List& s) -> List { return {tanh(matmul(s[0], w))}; }, {x})[0];
    return tape.gradient(end, List{x, w});
  });
  const Tensor w = filled({8, 8}, 9);
  const auto input = [](int thread) { return filled({4, 8}, static_cast<std::uint64_t>(thread)); };
  std::vector<List> expected(4);
  for (int thread = 0; thread < 4; ++thread) expected[static_cast<std::size_t>(thread)] = f(input(thread), w);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto t = static_cast<std::size_t>(thread);
      for (int run = 0; run < 20; ++run) {
        const List found = f(input(thread), w);
        wrong[t] += !same_bits(found[0], expected[t][0]) || !same_bits(found[1], expected[t][1]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

// --- What is kept ---

// The gradient of what a function's only loop carries first, by all of its inputs.
std::unique_ptr<const LoopGradient> gradient_of_loop(const std::vector<testing::Argument>& arguments,
                                                     const testing::Body& body) {
  static std::vector<Graph> graphs;  // the loops live as long as these
  graphs.push_back(testing::trace(arguments, body));
  const auto* const loop = dynamic_cast<const WhileLoop*>(graphs.back().controls[0].get());
  std::vector<std::size_t> sources;
  for (std::size_t i = 0; i < loop->paths[0].size(); ++i) {
    if (loop->paths[0][i]) sources.push_back(i);
  }
  return LoopGradient::make(loop->loop(), loop->paths[0].size(), {0}, sources);
}

TEST(LoopGradient, KeepsProductsAndComputesWhatIsCheapAgain) {
  const auto cell = gradient_of_loop({{{2, 3}}, {{3, 3}}}, [](const List& in) {
    return repeat(4, [&](const List& s) -> List { return {tanh(matmul(s[0] * 2.0, in[1])) * 0.5}; }, {in[0]});
  });
  EXPECT_EQ(cell->kept_bytes(), (std::vector<std::size_t>{6 * sizeof(float)}));
  EXPECT_TRUE(cell->reads_iterations());
}

TEST(LoopGradient, OfALinearBodyReadsNothingOfTheIterations) {
  const auto linear = gradient_of_loop({{{8}}, {{8}}}, [](const List& in) {
    return repeat(
        4,
        [](const List& s) -> List {
          const Tensor force = s[0](Slice{1}) - s[0](Slice{Slice::kEdge, -1});
          return {s[0] + s[1] * 0.1, s[1] + pad(force, {{0, 1}}) - pad(force, {{1, 0}})};
        },
        in);
  });
  EXPECT_TRUE(linear->kept_bytes().empty());
  EXPECT_FALSE(linear->reads_iterations());
}

}  // namespace
}  // namespace capstan
