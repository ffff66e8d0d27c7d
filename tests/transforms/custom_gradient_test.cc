// Functions with gradients of their own: what they see, what is checked, what outer tapes see.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/testing.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;
using Variables = std::span<const Variable>;

TEST(CustomGradient, ReturnsNewTensors) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  Tensor raw;
  const Tensor y = custom_gradient(
      [&](In in) -> CustomGradientResult {
        raw = in[0];
        return {{in[0]}, [](In g) -> Out { return {2 * g[0]}; }};
      },
      {x})[0];
  EXPECT_TRUE(same_tensor(raw, x));
  EXPECT_FALSE(same_tensor(y, x));
  expect_values(tape.gradient(y, x), {2});
}

TEST(CustomGradient, IntermediatesThatLeakCarryTheirOrdinaryGradients) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor inside;
  const Tensor y = custom_gradient(
      [&](In in) -> CustomGradientResult {
        inside = in[0] * in[0];
        return {{inside}, [](In g) -> Out { return {100 * g[0]}; }};
      },
      {x})[0];
  expect_values(tape.gradient(y, x), {100});
  expect_values(tape.gradient(inside, x), {6});
  expect_values(tape.gradient({y, inside}, x), {106});
}

TEST(CustomGradient, TakesNumbersAndVariables) {
  const Variable v(3.0);
  GradientTape tape;
  const Tensor y = custom_gradient(
      [](In in) -> CustomGradientResult {
        EXPECT_EQ(in.size(), 2u);
        const Tensor a = in[0], b = in[1];
        return {{a * b}, [a, b](In g) -> Out { return {g[0] * b, g[0] * a}; }};
      },
      {v, 4.0f})[0];
  EXPECT_EQ(value(y), 12);
  expect_values(tape.gradient(y, v), {4});
}

TEST(CustomGradient, RunsWithoutATape) {
  const Tensor y = custom_gradient(
      [](In in) -> CustomGradientResult {
        return {{in[0] * 2}, [](In) -> Out { return {}; }};
      },
      {constant(2.0)})[0];
  EXPECT_EQ(value(y), 4);
}

TEST(CustomGradient, WritingToAnArgumentDoesNotCaptureIt) {
  const Variable v(2.0);
  GradientTape tape;
  const Tensor y = custom_gradient(
      [&](In) -> CustomGradientResult {
        v.assign_add(3.0);
        return {{v.value()}, [](In g) -> Out { return {2 * g[0]}; }};
      },
      {v})[0];
  EXPECT_EQ(value(y), 5);
  expect_values(tape.gradient(y, v), {2});
}

TEST(CustomGradient, CapturedVariablesNeedARule) {
  const Variable v(2.0, {.name = "scale"});
  const Tensor x = constant(3.0);
  const auto f = [&](In in) -> CustomGradientResult { return {{in[0] * v}, [](In g) -> Out { return {g[0]}; }}; };
  // With and without a tape.
  expect_error<GradientError>([&] { custom_gradient(f, {x}); }, "\"scale\"");
  GradientTape tape;
  tape.watch(x);
  expect_error<GradientError>([&] { custom_gradient(f, {x}); }, "variable_gradient");
  // The failure left no trace: the tape records on.
  const Tensor y = x * 2;
  expect_values(tape.gradient(y, x), {2});
}

TEST(CustomGradient, NumberOfVariableGradientsIsChecked) {
  const Variable v(2.0);
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [&](In in) -> CustomGradientResult {
        return {{in[0] * v}, [](In g) -> Out { return {g[0]}; }, [](In, Variables) -> Out { return {}; }};
      },
      {x})[0];
  expect_error<GradientError>([&] { tape.gradient(y, x); }, "expected 1 gradients of variables, not 0");
}

TEST(CustomGradient, ShapeAndDTypeOfGradientsAreChecked) {
  const Tensor x = constant({1.0, 2.0});
  const auto with = [&](const Tensor& gradient) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * 3 + custom_gradient(
                                 [&](In in) -> CustomGradientResult {
                                   return {{in[0] * 2}, [gradient](In) -> Out { return {gradient}; }};
                                 },
                                 {x})[0];
    return tape.gradient(y, x);
  };
  expect_values(with(constant({1.0, 1.0})), {4, 4});
  expect_values(with(Tensor()), {3, 3});
  expect_error<ShapeError>([&] { with(ones({3})); }, "gradient 0 has shape [3], its argument [2]");
  expect_error<ShapeError>([&] { with(constant(1.0)); }, "custom_gradient");
  expect_error<DTypeError>([&] { with(ones({2}, float64)); }, "gradient 0 is float64, its argument float32");
  expect_error<DTypeError>([&] { with(constant({1, 1})); }, "int32");
}

TEST(CustomGradient, ATapeStartedInsideMayOutliveTheCall) {
  const Tensor x = constant(3.0);
  std::unique_ptr<GradientTape> left;
  const Tensor y = custom_gradient(
      [&](In in) -> CustomGradientResult {
        left = std::make_unique<GradientTape>();
        left->watch(in[0]);
        return {{in[0] * 2}, [](In g) -> Out { return {g[0]}; }};
      },
      {x})[0];
  const Tensor z = x * 5;
  expect_values(left->gradient(z, x), {5});
  const Variable v(1.0);
  GradientTape tape;
  const Tensor u = v * 2;
  expect_values(tape.gradient(u, v), {2});
}

TEST(CustomGradient, OuterTapesDifferentiateTheRule) {
  const Tensor x = constant({0.5, -1.0, 2.0}, float64);
  // softplus with its gradient written out.
  check_gradients(
      [](const std::vector<Tensor>& in) {
        return custom_gradient(
            [](In arguments) -> CustomGradientResult {
              const Tensor a = arguments[0];
              return {{log(1 + exp(a))}, [a](In g) -> Out { return {g[0] / (1 + exp(-a))}; }};
            },
            {in[0]})[0];
      },
      {x}, {.order = 2});
}

TEST(CustomGradient, SeveralTapesRecordIt) {
  const Tensor x = constant(3.0);
  GradientTape a;
  a.watch(x);
  GradientTape b;
  b.watch(x);
  const Tensor y = custom_gradient(
      [](In in) -> CustomGradientResult {
        return {{in[0] * 1}, [](In g) -> Out { return {7 * g[0]}; }};
      },
      {x})[0];
  const Tensor z = y * 2;
  expect_values(b.gradient(z, x), {14});
  expect_values(a.gradient(z, x), {14});
}

TEST(CustomGradient, IntegerOutputsAndInputs) {
  const Tensor x = constant({1.5, 2.5}), n = constant({2, 3});
  GradientTape tape;
  tape.watch(x);
  const Out y = custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor scale = cast(in[1], float32);
        return {{in[0] * scale, in[1] + 1}, [scale](In g) -> Out {
                  EXPECT_EQ(g[1].dtype(), int32);
                  return {g[0] * scale, Tensor()};
                }};
      },
      {x, n});
  const auto g = tape.gradient(y[0], {x, n});
  expect_values(g[0], {2, 3});
  expect_missing(g[1]);
}

// The form of a decorator, as in TensorFlow.
TEST(CustomGradient, MakesAFunctionOfTensors) {
  auto log1pexp = custom_gradient([](const Tensor& x) {
    const Tensor e = exp(x);
    return std::pair(log(1 + e), [e](const Tensor& g) { return g * (1 - 1 / (1 + e)); });
  });
  const Tensor x = constant({0.0, 100.0});
  const auto gradient = [&](auto f) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(f(x), x).template to_vector<double>();
  };
  EXPECT_EQ(gradient(log1pexp), (std::vector<double>{0.5, 1.0}));
  EXPECT_EQ(gradient(function([&](const Tensor& in) { return log1pexp(in); })), (std::vector<double>{0.5, 1.0}));

  // Several arguments and results; numbers and variables are arguments, too.
  auto pair = custom_gradient([](const Tensor& a, const Tensor& b) {
    return std::pair(std::tuple(a + b, a * b), [](const std::tuple<Tensor, Tensor>& g) {
      return std::vector<Tensor>{10 * std::get<0>(g), 100 * std::get<1>(g)};
    });
  });
  const Variable v(3.0);
  GradientTape tape;
  tape.watch({x, v});
  const auto [sum, product] = pair(v, 4.0);
  EXPECT_EQ(sum.item<double>(), 7);
  EXPECT_EQ(product.item<double>(), 12);
  EXPECT_EQ(tape.gradient(sum + product, v).item<double>(), 10);
}

}  // namespace
}  // namespace capstan::testing
