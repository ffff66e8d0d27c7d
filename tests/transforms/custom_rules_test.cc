// Functions with gradients of their own in forward mode and for many rows at once.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;
using Numbers = std::vector<double>;

// x y, whose tangent is declared to be 2 dx y + 3 x dy.
Tensor product_with_tangents(const Tensor& x, const Tensor& y) {
  return custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor a = in[0], b = in[1];
        return {.outputs = {a * b},
                .gradient = [a, b](In g) -> Out {
                  return {g[0] * b, g[0] * a};
                },
                .jvp = [a, b](In t) -> Out { return {2.0 * t[0] * b + 3.0 * a * t[1]}; }};
      },
      {x, y})[0];
}

TEST(CustomTangents, AreTakenInsteadOfTheTransposedGradient) {
  const Tensor x = vector64({1.0, 2.0}), y = vector64({5.0, 7.0});
  const auto along = [&](const Tensor& dx, const Tensor& dy) {
    return jvp([](const Tensor& a, const Tensor& b) { return product_with_tangents(a, b); }, std::tuple(x, y),
               std::tuple(dx, dy))
        .second;
  };
  const Tensor dx = vector64({1.0, -1.0}), dy = vector64({0.5, 2.0});
  const Numbers expected = {2 * 5 + 3 * 0.5, -2 * 7 + 3 * 2 * 2.0};
  EXPECT_EQ(numbers(along(dx, dy)), expected);
  EXPECT_EQ(numbers(function(along)(dx, dy)), expected);
  // A function with the accumulator around it, which knows of one argument only.
  auto compiled = function(product_with_tangents);
  const ForwardAccumulator accumulator(x, dx);
  EXPECT_EQ(numbers(accumulator.jvp(compiled(x, y))), (Numbers{10, -14}));
  EXPECT_EQ(numbers(accumulator.jvp(product_with_tangents(x, y))), (Numbers{10, -14}));
}

TEST(CustomTangents, LeaveTheGradientAlone) {
  const Tensor x = vector64({1.0, 2.0}), y = vector64({5.0, 7.0});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(numbers(tape.gradient(product_with_tangents(x, y), x)), (Numbers{5, 7}));
}

TEST(CustomTangents, SayWhatIsWrong) {
  const Variable w(vector64({1.0}));
  const auto reads = [&] {
    custom_gradient(
        [&](In in) -> CustomGradientResult {
          return {.outputs = {in[0] * w},
                  .gradient = [](In g) -> Out { return {g[0]}; },
                  .variable_gradient = [](In g, std::span<const Variable>) -> Out { return {g[0]}; },
                  .jvp = [](In t) -> Out { return {t[0]}; }};
        },
        {vector64({1.0})});
  };
  EXPECT_NE(message_of(reads).find("pass the variables as arguments"), std::string::npos);
  const auto wrong = [](const Out& found) {
    const Tensor x = vector64({1.0, 2.0});
    const ForwardAccumulator accumulator(x, x);
    custom_gradient(
        [&](In in) -> CustomGradientResult {
          return {.outputs = {in[0] * 2.0},
                  .gradient = [](In g) -> Out { return {2.0 * g[0]}; },
                  .jvp = [found](In) { return found; }};
        },
        {x});
  };
  EXPECT_NE(message_of([&] { wrong({}); }).find("expected 1 tangents, not 0"), std::string::npos);
  EXPECT_NE(message_of([&] { wrong({vector64({1.0})}); }).find("tangent 0 is float64[1], its output float64[2]"),
            std::string::npos);
}

// sin(x) s, with twice the gradient by x and three times that by s.
Tensor scaled_sine(const Tensor& x, const Tensor& s) {
  return custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor a = in[0], b = in[1];
        const Tensor c = cos(a);
        return {{sin(a) * b}, [a, b, c](In g) -> Out { return {2.0 * g[0] * c * b, 3.0 * reduce_sum(g[0] * sin(a))}; }};
      },
      {x, s})[0];
}

TEST(CustomGradientOfRows, IsThatOfALoop) {
  const Tensor rows = constant({{0.1, 0.2}, {0.3, 0.4}, {0.5, -0.6}}, float64);
  const Tensor scale = constant(1.5, float64);
  const auto both = [](const auto& map) {
    return [map](const Tensor& x, const Tensor& s) {
      GradientTape outer({.persistent = true});
      outer.watch(std::tie(x, s));
      GradientTape tape;
      tape.watch(std::tie(x, s));
      const Tensor y = map(x, s);
      const auto [by_x, by_s] = tape.gradient(y * y, std::tuple(x, s));
      const Tensor sum = reduce_sum(by_x * by_x) + by_s * by_s;
      return std::tuple(y, by_x, by_s, outer.gradient(sum, x), outer.gradient(sum, s));
    };
  };
  const auto looped = both([](const Tensor& x, const Tensor& s) {
    return map_fn([&](const Tensor& row) { return scaled_sine(row, s); }, x);
  })(rows, scale);
  const auto vectorized = both([](const Tensor& x, const Tensor& s) {
    return vectorized_map([&](const Tensor& row) { return scaled_sine(row, s); }, x);
  });
  ::testing::internal::CaptureStderr();
  const auto outside = vectorized(rows, scale);
  const auto inside = function(vectorized)(rows, scale);
  EXPECT_EQ(::testing::internal::GetCapturedStderr().find("custom_gradient runs item by item"), std::string::npos);
  const auto compare = [&](const auto& found) {
    const std::vector<Tensor> a = detail::tensors_of(found), b = detail::tensors_of(looped);
    for (std::size_t k = 0; k < a.size(); ++k) {
      const Numbers p = numbers(a[k]), q = numbers(b[k]);
      ASSERT_EQ(p.size(), q.size());
      for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], q[i], 1e-13) << k << " at " << i;
    }
  };
  compare(outside);
  compare(inside);
}

TEST(CustomGradientOfRows, WithATapeInsideAndAsAJacobian) {
  const Tensor rows = constant({{0.1, 0.2}, {0.3, 0.4}}, float64);
  const Tensor scale = constant(1.5, float64);
  const Tensor gradients = vectorized_map(
      [&](const Tensor& row) {
        GradientTape tape;
        tape.watch(row);
        return tape.gradient(scaled_sine(row, scale), row);
      },
      rows);
  const Numbers expected = numbers(2.0 * cos(rows) * scale);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers(gradients)[i], expected[i], 1e-15);
  GradientTape tape;
  tape.watch(rows);
  const Tensor j = tape.jacobian(scaled_sine(rows, scale), rows);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers(j)[i * 4 + i], expected[i], 1e-15);
}

}  // namespace
}  // namespace capstan::testing
