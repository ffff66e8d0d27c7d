// Functions with gradients of their own inside of functions: the rule is known to tapes around them, to any order.
#include <cmath>
#include <stdexcept>

#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;
using Inputs = std::vector<Tensor>;

// a * b, with 3 and 5 times the gradients that it has.
Tensor scaled_product(const Tensor& x, const Tensor& y) {
  return custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor a = in[0], b = in[1];
        return {{a * b}, [a, b](In g) -> Out { return {3.0 * g[0] * b, 5.0 * g[0] * a}; }};
      },
      {x, y})[0];
}

// Its rule uses what was computed on the way.
Tensor softplus_by_hand(const Tensor& x) {
  return custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor e = exp(in[0]);
        return {{log(1.0 + e)}, [e](In g) -> Out { return {g[0] * (1.0 - 1.0 / (1.0 + e))}; }};
      },
      {x})[0];
}

// x^2 with a declared first derivative of 10 x, whose derivative is declared to be 7.
Tensor declared_twice(const Tensor& x) {
  return custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor a = in[0];
        return {{a * a}, [a](In g) -> Out {
                  const Tensor slope = custom_gradient(
                      [](In inner) -> CustomGradientResult {
                        return {{10.0 * inner[0]}, [](In h) -> Out { return {7.0 * h[0]}; }};
                      },
                      {a})[0];
                  return {g[0] * slope};
                }};
      },
      {x})[0];
}

const Inputs kTwo = {vector64({0.5, -1.25, 2.0}), vector64({1.5, 0.75, -0.5})};

TEST(TracedCustomGradient, IsTheSameEverywhere) {
  expect_same_everywhere([](const Inputs& in) { return scaled_product(in[0], sin(in[1])) * in[0]; }, kTwo);
  expect_same_everywhere([](const Inputs& in) { return softplus_by_hand(in[0] * in[1]); }, kTwo);
  expect_same_everywhere([](const Inputs& in) { return declared_twice(in[0]) + declared_twice(in[1]); }, kTwo);
  expect_same_everywhere([](const Inputs& in) { return scaled_product(softplus_by_hand(in[0]), in[0]); }, kTwo);
}

TEST(TracedCustomGradient, HasTheValuesThatItsRulesSay) {
  const Tensor x = constant(3.0, float64);
  auto f = function([](const Tensor& in) { return declared_twice(in); });
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = f(x);
  const Tensor first = inner.gradient(y, x);
  EXPECT_EQ(y.item<double>(), 9);
  EXPECT_EQ(first.item<double>(), 30);
  EXPECT_EQ(outer.gradient(first, x).item<double>(), 7);
}

TEST(TracedCustomGradient, ThirdOrder) {
  const auto third = [](auto&& f, const Tensor& x) {
    GradientTape a;
    a.watch(x);
    GradientTape b;
    b.watch(x);
    GradientTape c;
    c.watch(x);
    return a.gradient(b.gradient(c.gradient(f(x), x), x), x);
  };
  const Tensor x = vector64({0.5, -1.0});
  auto f = function(softplus_by_hand);
  auto inside = function([&](const Tensor& in) { return third(softplus_by_hand, in); });
  const std::vector<double> plain = numbers(third([](const Tensor& in) { return softplus(in); }, x));
  expect_close(numbers(third(softplus_by_hand, x)), plain, "eager");
  expect_close(numbers(third(f, x)), plain, "tapes around a function");
  expect_close(numbers(inside(x)), plain, "tapes inside");
}

TEST(TracedCustomGradient, InBranchesAndBodies) {
  expect_same_everywhere(
      [](const Inputs& in) {
        return cond(
            reduce_sum(in[0]) > 0.0, [&] { return scaled_product(in[0], in[1]); }, [&] { return in[0] * 1.0; });
      },
      kTwo);
  expect_same_everywhere(
      [](const Inputs& in) {
        return foldl([&](const Tensor& sum, const Tensor& row) { return softplus_by_hand(sum * 0.5) + row * in[1]; },
                     stack({in[0], in[1], in[0]}), zeros({3}, float64));
      },
      kTwo);
}

TEST(TracedCustomGradient, Variables) {
  const Variable v(constant(2.0, float64));
  const auto scale = [&](const Tensor& x) {
    return custom_gradient(
        [&](In in) -> CustomGradientResult {
          const Tensor a = in[0];
          return {{a * v},
                  [&, a](In g) -> Out { return {4.0 * g[0] * v}; },
                  [a](In g, std::span<const Variable> variables) -> Out {
                    EXPECT_EQ(variables.size(), 1u);
                    return {reduce_sum(6.0 * g[0] * a * variables[0])};
                  }};
        },
        {x})[0];
  };
  const Tensor x = vector64({1.0, 3.0});
  const auto gradients = [&](auto&& f) {
    GradientTape outer;
    outer.watch(x);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const auto [dx, dv] = tape.gradient(y, std::tuple(x, v));
    std::vector<double> all = numbers(std::vector{y, dx, dv});
    const Tensor sum = reduce_sum(dx) + dv;
    const auto [ddx, ddv] = outer.gradient(sum, std::tuple(x, v));
    for (const double number : numbers(std::vector{ddx, ddv})) all.push_back(number);
    return all;
  };
  const std::vector<double> want = {2, 6, 8, 8, 48, 12, 12, 32};
  EXPECT_EQ(gradients(scale), want);
  auto traced = function(scale);
  EXPECT_EQ(gradients(traced), want);
  v.assign(constant(2.5, float64));
  EXPECT_EQ(gradients(traced), gradients(scale));
  auto inside = function([&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(scale(in), v);
  });
  EXPECT_EQ(inside(x).item<double>(), 60);
}

TEST(TracedCustomGradient, TangentsFollowFromTheRule) {
  const Tensor x = vector64({0.5, -1.0}), v = vector64({2.0, 3.0});
  const auto tangent = [&](auto&& f) {
    const ForwardAccumulator accumulator(x, v);
    return numbers(accumulator.jvp(f(x)));
  };
  const std::vector<double> want = numbers(10.0 * x * v);
  expect_close(tangent(declared_twice), want, "eager");
  auto around = function(declared_twice);
  expect_close(tangent(around), want, "around a function");
  auto inside = function([&](const Tensor& in) {
    const ForwardAccumulator accumulator(in, v);
    return accumulator.jvp(declared_twice(in));
  });
  expect_close(numbers(inside(x)), want, "inside");
}

TEST(TracedCustomGradient, SeveralResultsAndMissingGradients) {
  auto f = function([](const Tensor& x, const Tensor& y) {
    return custom_gradient(
        [](In in) -> CustomGradientResult {
          return {{in[0] + in[1], cast(in[0], int32)}, [](In g) -> Out { return {2.0 * g[0], Tensor()}; }};
        },
        {x, y});
  });
  const Tensor x = constant({1.0, 2.0}, float64), y = constant({3.0, 4.0}, float64);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const std::vector<Tensor> results = f(x, y);
  EXPECT_EQ(results[1].dtype(), int32);
  const std::vector<Tensor> gradients = tape.gradient(results[0], std::vector{x, y});
  EXPECT_EQ(numbers(gradients[0]), (std::vector<double>{2, 2}));
  EXPECT_FALSE(gradients[1].has_value());
}

TEST(TracedCustomGradient, WhatItsRuleThrowsComesWithTheGradient) {
  const auto with = [](Out gradient) {
    return function([gradient](const Tensor& x) {
      return custom_gradient(
          [&](In in) -> CustomGradientResult {
            return {{in[0] * 2.0}, [gradient](In) { return gradient; }};
          },
          {x})[0];
    });
  };
  const Tensor x = constant({1.0, 2.0}, float64);
  const auto gradient = [&](auto&& f) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    return tape.gradient(y, x);
  };
  auto too_few = with({});
  EXPECT_EQ(numbers(too_few(x)), (std::vector<double>{2, 4}));
  EXPECT_NE(message_of([&] { gradient(too_few); }).find("expected 1 gradients, not 0"), std::string::npos);
  auto wrong_shape = with({constant(1.0, float64)});
  EXPECT_NE(message_of([&] { gradient(wrong_shape); }).find("has shape [], its argument [2]"), std::string::npos);
  auto throws = function([](const Tensor& in) {
    return custom_gradient(
        [](In) -> CustomGradientResult {
          return {{zeros({2}, float64)}, [](In) -> Out { throw std::runtime_error("no gradient today"); }};
        },
        {in})[0];
  });
  EXPECT_EQ(numbers(throws(x)), (std::vector<double>{0, 0}));
  EXPECT_THROW(gradient(throws), std::runtime_error);
  const Variable v(constant(1.0, float64));
  auto writes = function([&](const Tensor& in) {
    return custom_gradient(
        [&](In inner) -> CustomGradientResult {
          return {{inner[0] * 1.0}, [&](In g) -> Out {
                    v.assign_add(1.0);
                    return {g[0]};
                  }};
        },
        {in})[0];
  });
  EXPECT_NE(message_of([&] { gradient(writes); }).find("cannot assign variables"), std::string::npos);
  EXPECT_EQ(v.value().item<double>(), 1);
}

TEST(TracedCustomGradient, ServesOtherLengths) {
  auto f =
      function([](const Tensor& x) { return softplus_by_hand(x); }, {.input_signature = {TensorSpec({-1}, float64)}});
  for (const int n : {2, 5, 9}) {
    const Tensor x = ones({n}, float64);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    EXPECT_NEAR(reduce_sum(tape.gradient(y, x)).item<double>(), n / (1 + std::exp(-1)), 1e-12);
  }
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(TracedCustomGradient, ItsRuleIsShownWithTheGraph) {
  auto f = function(softplus_by_hand);
  const Tensor x = vector64({0.5, 1.5});
  expect_close(numbers(f(x)), numbers(softplus(x)), "the value");
  EXPECT_NE(graph_text(f).find("= custom_gradient("), std::string::npos) << graph_text(f);
  EXPECT_NE(graph_text(f).find("rule(cotangent 0, "), std::string::npos) << graph_text(f);
  // Nobody needs the node where the gradient is taken inside.
  auto inside = function([](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    const Tensor y = softplus_by_hand(in);
    return tape.gradient(y, in);
  });
  expect_close(numbers(inside(x)), numbers(sigmoid(x)), "the rule");
  EXPECT_EQ(graph_text(inside).find("custom_gradient"), std::string::npos) << graph_text(inside);
}

}  // namespace
}  // namespace capstan::testing
