// Fixed points, roots and differential equations: values and derivatives against closed forms and differences.
#include "capstan/implicit.h"

#include <cmath>
#include <thread>

#include "capstan/testing.h"
#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

using Inputs = std::vector<Tensor>;

void expect_near(const Tensor& got, const Tensor& want, double tolerance, const char* what) {
  ASSERT_TRUE(got.has_value()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const std::vector<double> a = numbers(got), b = numbers(want);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(b[i]))) << what << i;
}

// f(p), its derivative and its second derivative by a scalar or elementwise p.
template <class F>
Inputs three_orders(const F& f, const Tensor& p) {
  GradientTape outer;
  outer.watch(p);
  GradientTape inner;
  inner.watch(p);
  const Tensor y = f(p);
  const Tensor first = inner.gradient(y, p);
  return {y, first, outer.gradient(first, p)};
}

// Heron's iteration, whose Jacobian vanishes at the solution.
Tensor heron(const Tensor& a) {
  return fixed_point([a](const Tensor& x) { return (x + a / x) / 2.0; }, ones_like(a));
}

TEST(FixedPoint, SquareRoots) {
  const Tensor a = vector64({0.25, 2.0, 9.0});
  const Inputs got = three_orders(heron, a);
  expect_near(got[0], sqrt(a), 1e-14, "value ");
  expect_near(got[1], 0.5 / sqrt(a), 1e-12, "first ");
  expect_near(got[2], -0.25 / (a * sqrt(a)), 1e-11, "second ");
}

TEST(FixedPoint, LinearSystems) {
  const Tensor a = constant(Literal{{0.2, -0.3}, {0.4, 0.1}}, float64), b = vector64({1.0, -2.0});
  const auto f = [](const Inputs& in) {
    return fixed_point([in](const Tensor& x) { return matvec(in[0], x) + in[1]; }, zeros_like(in[1]));
  };
  const Tensor system = eye(2, 2, float64) - a;
  expect_near(f({a, b}), reshape(solve(system, reshape(b, {2, 1})), {2}), 1e-12, "value ");
  check_gradients(f, {a, b}, {.order = 2});
}

TEST(FixedPoint, ThirdOrderAndVariables) {
  const Variable c(constant(0.5, float64));
  const auto f = [&] { return fixed_point([&](const Tensor& x) { return cos(x) * c; }, constant(0.0, float64)); };
  GradientTape tape;
  const Tensor x = f();
  const double s = std::sin(x.item<double>()), k = std::cos(x.item<double>());
  EXPECT_NEAR(tape.gradient(x, c).item<double>(), k / (1 + 0.5 * s), 1e-12);
  const Tensor p = constant(3.0, float64);
  GradientTape third;
  third.watch(p);
  const Tensor second = three_orders(heron, p)[2];
  EXPECT_NEAR(third.gradient(second, p).item<double>(), 0.375 * std::pow(3.0, -2.5), 1e-11);
}

TEST(FixedPoint, UsesWhatVariablesHeldAndKeepsNothing) {
  const Variable c(constant(0.25, float64));
  GradientTape tape;
  const Tensor x = fixed_point([&](const Tensor& in) { return in * 0.5 + c; }, constant(0.0, float64));
  c.assign(constant(7.0, float64));
  EXPECT_NEAR(x.item<double>(), 0.5, 1e-12);
  EXPECT_NEAR(tape.gradient(x, c).item<double>(), 2, 1e-12);
  EXPECT_EQ(c.value().item<double>(), 7);
}

// Second derivatives by the rows of a jacobian, of an equation whose function is run again and reads a variable.
TEST(FixedPoint, OverARecomputedFunctionInAJacobian) {
  const Variable c(0.5, {.dtype = float64});
  const auto second = [&](const std::function<Tensor(const Tensor&)>& f) {
    GradientTape outer({.persistent = true});
    GradientTape tape;
    const Tensor x = fixed_point(f, constant(0.0, float64));
    const Tensor first = tape.gradient(x * x, c);
    return std::pair(outer.gradient(first, c).item<double>(), outer.jacobian(first, c).item<double>());
  };
  const auto plain = [&](const Tensor& x) { return cos(x) * c; };
  const auto [gradient, jacobian] = second(plain);
  const auto [again, again_jacobian] = second(recompute_grad(plain));
  EXPECT_NEAR(gradient, jacobian, 1e-10);
  EXPECT_NEAR(again, gradient, 1e-10);
  EXPECT_NEAR(again_jacobian, gradient, 1e-10);
}

// An equation of rows that somebody knows: they count once.
TEST(FixedPoint, OfWatchedRowsInAJacobian) {
  const Tensor table = vector64({0.3, 0.2});
  const auto solve = [&](bool sparse) {
    GradientTape outer({.persistent = true});
    outer.watch(table);
    Tensor rows = table * table;
    if (sparse) {
      const Tensor zero = zeros({2}, float64);
      GradientTape inner;
      inner.watch(zero);
      rows = inner.gradient(reduce_sum(rows * gather(zero, constant({0, 1}))), zero);
      EXPECT_TRUE(rows.is_row_sparse());
    }
    GradientTape tape;
    tape.watch(rows);
    const Tensor x = fixed_point([&](const Tensor& in) { return cos(in) * reduce_sum(rows); }, constant(0.0, float64));
    const Tensor first = tape.jacobian(x * x, rows);
    const Tensor second = outer.jacobian(first, table);
    return std::pair(numbers(first), numbers(second));
  };
  const auto [first, second] = solve(false);
  const auto [sparse_first, sparse_second] = solve(true);
  expect_close(sparse_first, first, "first");
  expect_close(sparse_second, second, "second");
}

TEST(FixedPoint, Errors) {
  const auto run = [](const auto& f, const Tensor& x0, const ImplicitOptions& options = {}) {
    return message_of([&] { fixed_point(f, x0, options); });
  };
  const Tensor one = constant(1.0, float64);
  EXPECT_NE(
      run([](const Tensor& x) { return -x; }, one, {.max_iterations = 7}).find("not converged after 7 iterations"),
      std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return x; }, one, {.tolerance = -1.0}).find("fixed_point: tolerance must not be"),
            std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return x * x * 4.0; }, one).find("gives NaN or infinity"), std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return sqrt(x) * 0.5; }, vector64({-1.0, 1.0})).find("gives NaN or infinity"),
            std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return stack({x, x}); }, one).find("gives shape [2] for []"), std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return cast(x, float32); }, one).find("gives float32 for float64"),
            std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return x; }, constant(1)).find("is int32, not float32 or float64"),
            std::string::npos);
  EXPECT_NE(run([](const Tensor& x) { return x; }, Tensor()).find("empty tensor"), std::string::npos);
  EXPECT_EQ(fixed_point([](const Tensor& x) { return x * 0.5; }, zeros({0}, float64)).size(), 0);
  EXPECT_NEAR(fixed_point([](const Tensor& x) { return cos(x); }, constant(1.0f)).item<double>(), 0.739085, 1e-5);
}

TEST(Root, SquareRoots) {
  const auto f = [](const Tensor& a) { return root([a](const Tensor& x) { return x * x - a; }, ones_like(a)); };
  const Tensor a = vector64({0.25, 2.0, 9.0});
  const Inputs got = three_orders(f, a);
  expect_near(got[0], sqrt(a), 1e-14, "value ");
  expect_near(got[1], 0.5 / sqrt(a), 1e-12, "first ");
  expect_near(got[2], -0.25 / (a * sqrt(a)), 1e-11, "second ");
}

TEST(Root, ASystemAgainstDifferences) {
  // x^3 + y = p, exp(y) - x = q, in another shape than that of the unknowns.
  const auto f = [](const Inputs& in) {
    const auto residual = [in](const Tensor& v) {
      const std::vector<Tensor> parts = unstack(v);
      return reshape(stack({pow(parts[0], 3) + parts[1] - in[0], exp(parts[1]) - parts[0] - in[1]}), {2, 1});
    };
    return root(residual, zeros({2}, float64));
  };
  check_gradients(f, {constant(1.5, float64), constant(0.5, float64)}, {.order = 2});
}

TEST(Root, ShortensStepsAndSaysWhatItCannotSolve) {
  // Newton's whole steps run away from here.
  const Tensor x = root([](const Tensor& v) { return atan(v); }, constant(5.0, float64));
  EXPECT_NEAR(x.item<double>(), 0, 1e-12);
  const auto run = [](const auto& f, const Tensor& x0) { return message_of([&] { root(f, x0); }); };
  const Tensor one = constant(1.0, float64);
  EXPECT_NE(run([](const Tensor& v) { return v * v + 1.0; }, one * 0.3).find("root: "), std::string::npos);
  EXPECT_NE(run([](const Tensor& v) { return stack({v, v}); }, one).find("gives 2 elements for 1"), std::string::npos);
  EXPECT_NE(run([](const Tensor& v) { return log(v - 2.0); }, one).find("NaN or infinity"), std::string::npos);
  EXPECT_EQ(root([](const Tensor& v) { return v * v; }, zeros({0}, float64)).size(), 0);
}

constexpr OdeOptions kExact = {.relative = 1e-11, .absolute = 1e-13};
const std::vector<double> kTimes = {0.0, 0.3, 1.0, 2.0};

OdeOptions exact(OdeGradient gradient) {
  OdeOptions options = kExact;
  options.gradient = gradient;
  return options;
}

class Odeint : public ::testing::TestWithParam<OdeGradient> {};
INSTANTIATE_TEST_SUITE_P(Both, Odeint, ::testing::Values(OdeGradient::kAdjoint, OdeGradient::kDirect));

TEST_P(Odeint, Decay) {
  const Tensor y0 = vector64({1.0, -2.0}), t = constant(kTimes);
  const auto solve_for = [&](const Tensor& k) {
    return odeint([k](const Tensor&, const Tensor& y) { return -k * y; }, y0, kTimes, exact(GetParam()));
  };
  const Tensor k = constant(1.5, float64);
  const Inputs got = three_orders(solve_for, k);
  const Tensor factor = exp(-k * t);
  expect_near(got[0], expand_dims(factor, 1) * y0, 1e-9, "value ");
  expect_near(got[1], reduce_sum(-t * factor) * -1.0, 1e-8, "first ");
  expect_near(got[2], reduce_sum(t * t * factor) * -1.0, 1e-7, "second ");
  GradientTape tape;
  tape.watch(y0);
  const Tensor dy0 = tape.gradient(solve_for(k), y0);
  expect_near(dy0, ones({2}, float64) * reduce_sum(factor), 1e-8, "by the initial value ");
}

TEST_P(Odeint, TimeVariablesAndBackwards) {
  const Variable w(constant({2.0, 3.0}, float64));
  const Tensor y0 = vector64({0.5, 1.0});
  for (const std::vector<double>& times : {std::vector<double>{0.5, 1.0, 2.5}, std::vector<double>{2.5, 1.0, 0.5}}) {
    GradientTape tape;
    tape.watch(y0);
    const Tensor y = odeint([&](const Tensor& t, const Tensor& y) { return cos(t * w) * w + 0.0 * y; }, y0, times,
                            exact(GetParam()));
    Tensor want = zeros({2}, float64), slope = zeros({2}, float64);
    for (const double t : times) {
      const Tensor end = y0 + sin(t * w) - sin(times[0] * w);
      want = end;
      slope = slope + t * cos(t * w) - times[0] * cos(times[0] * w);
    }
    expect_near(y(2), want, 1e-9, "value ");
    const auto [dw, dy0] = tape.gradient(y, std::pair(w, y0));
    expect_near(dw, slope, 1e-8, "by the variable ");
    expect_near(dy0, ones({2}, float64) * 3.0, 1e-8, "by the initial value ");
  }
}

TEST_P(Odeint, ANonlinearEquationAgainstDifferences) {
  const auto f = [&](const Inputs& in) {
    const auto field = [in](const Tensor& t, const Tensor& y) {
      const std::vector<Tensor> parts = unstack(y);
      return stack({parts[0] * (in[1] - parts[1]), parts[1] * (parts[0] - 1.0) + sin(t)});
    };
    return odeint(field, in[0], {0.0, 0.7, 1.5}, exact(GetParam()));
  };
  check_gradients(f, {vector64({1.2, 0.8}), constant(1.1, float64)}, {.order = 2, .first_order = 1e-5});
}

TEST(OdeintValues, StartsAtZero) {
  const auto constant_slope = [](const Tensor&, const Tensor& y) { return ones_like(y) * 0.3; };
  OdeOptions options;
  options.absolute = 1e-12;
  EXPECT_NEAR(odeint(constant_slope, constant(0.0, float64), {0.0, 0.2}, options)[1].item<double>(), 0.06, 1e-12);
}

// Nothing has been recorded on the thread, so that no tensor has a number.
TEST(OdeintValues, CapturesAreKnownOnAThreadThatHasRecordedNothing) {
  const Tensor y0 = constant(0.75, float64);
  const Tensor rate = constant(0.4, float64);
  double tangent = 0;
  std::thread([&] {
    const ForwardAccumulator accumulator(rate, constant(1.0, float64));
    const Tensor y = odeint([&](const Tensor&, const Tensor& state) { return state * rate; }, y0, {0.0, 0.5});
    const Tensor found = accumulator.jvp(y);
    if (found.has_value()) tangent = found[1].item<double>();
  }).join();
  EXPECT_NEAR(tangent, 0.75 * 0.5 * std::exp(0.2), 1e-5);
}

TEST(OdeintValues, Float32AndOneTime) {
  const Tensor y0 = constant({1.0f, 2.0f});
  const auto decay = [](const Tensor&, const Tensor& y) { return -y; };
  const Tensor y = odeint(decay, y0, {0.0, 1.0});
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_NEAR(numbers(y)[2], std::exp(-1.0), 1e-5);
  EXPECT_EQ(odeint(decay, y0, {1.0}).shape(), Shape({1, 2}));
}

TEST(OdeintValues, Errors) {
  const Tensor y0 = constant(1.0, float64);
  const auto run = [&](const auto& f, const std::vector<double>& times, const OdeOptions& options = {}) {
    return message_of([&] { odeint(f, y0, times, options); });
  };
  const auto decay = [](const Tensor&, const Tensor& y) { return -y; };
  EXPECT_NE(run(decay, {}).find("there are no times"), std::string::npos);
  EXPECT_NE(run(decay, {0.0, 1.0, 0.5}).find("the times neither rise nor fall, 1 and 0.5 at 2"), std::string::npos);
  EXPECT_NE(run(decay, {0.0, 0.0}).find("neither rise nor fall"), std::string::npos);
  EXPECT_NE(run(decay, {0.0, 1e3}, {.max_steps = 5}).find("more than 5 steps from t = 0 to 1000"), std::string::npos);
  EXPECT_NE(run([](const Tensor&, const Tensor& y) { return y * y; }, {0.0, 2.0}).find("odeint: "), std::string::npos);
  EXPECT_NE(run(
                [](const Tensor&, const Tensor& y) {
                  return stack({y, y});
                },
                {0.0, 2.0})
                .find("gives shape [2] for []"),
            std::string::npos);
  EXPECT_NE(run(decay, {0.0, 1.0}, {.relative = 0, .absolute = 0}).find("the errors allowed"), std::string::npos);
}

}  // namespace
}  // namespace capstan::testing
