// L-BFGS: functions with known minima, what is counted, and errors.
#include "capstan/minimize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using optimizers::LBFGS;
using testing::message_of;

double farthest(const Tensor& x, const Tensor& from) { return reduce_max(abs(x - from)).item<double>(); }

TEST(Minimize, FindsTheMinimumOfRosenbrocksFunctionInAThousandDimensions) {
  const auto rosenbrock = [](const Tensor& x) {
    const Tensor a = slice(x, {0}, {999}), b = slice(x, {1}, {999});
    return reduce_sum(100 * square(b - square(a)) + square(1 - a));
  };
  std::vector<double> start;
  for (int i = 0; i < 1000; ++i) start.push_back(i % 2 == 0 ? -1.2 : 1);
  const Minimum m = minimize(rosenbrock, constant(start), {.max_iterations = 20000, .gradient_tolerance = 1e-9});
  EXPECT_TRUE(m.converged());
  // From here it ends in one of two minima: all ones, or one near it with the first number negative.
  EXPECT_LT(reduce_max(abs(m.gradient)).item<double>(), 1e-9);
  EXPECT_LT(m.value, 4);
  const Minimum near = minimize(rosenbrock, zeros({1000}, float64), {.max_iterations = 20000});
  EXPECT_TRUE(near.converged());
  EXPECT_LT(near.value, 1e-14);
  EXPECT_LT(farthest(near.x, ones({1000}, float64)), 1e-6);
}

TEST(Minimize, NeedsNStepsForAQuadraticOfNDimensions) {
  constexpr int kSize = 12;
  const Tensor root = random::normal({kSize, kSize}, 0, 1, float64, 3);
  const Tensor matrix = matmul(root, root, {.transpose_a = true}) + eye(kSize, {}, float64);
  const Tensor b = random::normal({kSize}, 0, 1, float64, 4);
  const auto quadratic = [&](const Tensor& x) { return 0.5 * reduce_sum(x * matvec(matrix, x)) - reduce_sum(x * b); };
  const LBFGS lbfgs({.gradient_tolerance = 1e-6, .memory = kSize, .decrease = 1e-10, .curvature = 1e-9});
  const Minimum m = lbfgs.minimize(quadratic, zeros({kSize}, float64));
  EXPECT_TRUE(m.converged());
  EXPECT_LE(m.iterations, kSize);
  EXPECT_LT(farthest(matvec(matrix, m.x), b), 1e-6);
}

// Misra1a of the National Institute of Standards and Technology, from the farther start, in units of that.
TEST(Minimize, FitsACurve) {
  const Tensor x = constant(std::vector<double>{77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3,
                                                536.8, 593.1, 689.1, 760.0});
  const Tensor y = constant(std::vector<double>{10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05,
                                                61.01, 66.40, 75.47, 81.78});
  const Tensor unit = constant(std::vector<double>{500, 0.0001});
  const auto squares = [&](const Tensor& scaled) {
    const std::vector<Tensor> b = unstack(scaled * unit);
    return reduce_sum(square(b[0] * (1 - exp(-b[1] * x)) - y));
  };
  const Minimum m = minimize(squares, ones({2}, float64), {.gradient_tolerance = 1e-6});
  EXPECT_TRUE(m.converged()) << m.iterations;
  const std::vector<double> b = (m.x * unit).to_vector<double>();
  EXPECT_NEAR(b[0] / 2.3894212918e+02, 1, 1e-5);
  EXPECT_NEAR(b[1] / 5.5015643181e-04, 1, 1e-5);
}

TEST(Minimize, TakesPointsThatAreNotFiniteAsTooFar) {
  // Where x <= 0 it is NaN; the first step goes there.
  const auto f = [](const Tensor& x) { return reduce_sum(x - log(x)); };
  const Minimum m = minimize(f, constant(std::vector<double>{8, 0.5}));
  EXPECT_TRUE(m.converged());
  EXPECT_LT(farthest(m.x, ones({2}, float64)), 1e-7);
}

TEST(Minimize, SaysWhyItEnded) {
  const auto f = [](const Tensor& x) { return reduce_sum(square(x)); };
  const Tensor start = constant(std::vector<double>{3, 4});
  EXPECT_EQ(minimize(f, zeros({2}, float64)).iterations, 0);
  EXPECT_EQ(minimize(f, start, {.max_iterations = 0}).end, MinimizeEnd::kIterationLimit);
  const Minimum kink = minimize([](const Tensor& x) { return reduce_sum(abs(x)); }, constant(std::vector<double>{3}));
  EXPECT_LT(kink.value, 1e-6);
  const Minimum single = minimize(f, constant({3.0f, 4.0f}));
  EXPECT_TRUE(single.converged());
  EXPECT_EQ(single.x.dtype(), float32);
}

TEST(Minimize, RefusesWhatHasNoMinimum) {
  const Tensor start = constant(std::vector<double>{3});
  EXPECT_EQ(message_of([&] { minimize([](const Tensor& x) { return reduce_sum(log(-x)); }, start); }),
            "minimize: the function is nan at the start");
  EXPECT_EQ(message_of([&] { minimize([](const Tensor& x) { return reduce_sum(sqrt(x - 3)); }, start); }),
            "minimize: the gradient is NaN or infinite at the start");
  EXPECT_THROW(minimize([](const Tensor& x) { return square(x); }, start), ShapeError);
  EXPECT_THROW(minimize([](const Tensor& x) { return cast(reduce_sum(x), float32); }, start), DTypeError);
  EXPECT_THROW(minimize([](const Tensor&) { return zeros({}, float64); }, start), ValueError);
  EXPECT_THROW(minimize([](const Tensor& x) { return reduce_sum(x); }, constant({1, 2})), DTypeError);
  int calls = 0;
  const auto later = [&](const Tensor& x) { return reduce_sum(square(x)) * (calls++ == 0 ? 1 : std::nan("")); };
  EXPECT_EQ(message_of([&] { minimize(later, start); }),
            "minimize: the function or its gradient is NaN or infinite at all points tried along a line");
  EXPECT_EQ(message_of([] { LBFGS({.memory = 0}); }), "LBFGS: option \"memory\" must be at least 1, not 0");
  EXPECT_EQ(message_of([] { LBFGS({.decrease = 0.95}); }),
            "LBFGS: decrease must be less than curvature, and that less than 1, but they are 0.95 and 0.9");
}

}  // namespace
}  // namespace capstan
