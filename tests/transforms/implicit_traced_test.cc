// Fixed points, roots and differential equations in traces: the same values and derivatives as outside, and the same
// errors at run time.
#include <cmath>

#include "capstan/implicit.h"
#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

using Inputs = std::vector<Tensor>;

constexpr OdeOptions kExact = {.relative = 1e-11, .absolute = 1e-13};
constexpr OdeOptions kExactSteps = {.relative = 1e-11, .absolute = 1e-13, .gradient = OdeGradient::kDirect};

Tensor heron(const Tensor& a) {
  return fixed_point([a](const Tensor& x) { return (x + a / x) / 2.0; }, ones_like(a));
}
Tensor newton(const Tensor& a) {
  return root([a](const Tensor& x) { return x * x - a; }, ones_like(a));
}
// The solution of y' = -k y at one time, up to the scale that y0 is.
Tensor decay(const Tensor& k, const Tensor& y0, const OdeOptions& options) {
  return odeint([k](const Tensor&, const Tensor& y) { return -k * y; }, y0, {0.0, 0.5, 1.0}, options);
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  const std::vector<double> a = numbers(got), b = numbers(want);
  ASSERT_EQ(got.shape(), want.shape());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(b[i]))) << i;
}

TEST(ImplicitInTraces, RootsOfNumbersInEveryOrderAndPlace) {
  const Inputs in = {vector64({0.25, 2.0, 9.0})};
  const std::vector<double> want = orders([](const Inputs& x) { return sqrt(x[0]); }, in);
  for (const auto& solve_for : {heron, newton}) {
    const auto f = [&](const Inputs& x) { return solve_for(x[0]); };
    expect_close(orders(f, in), want, "eager");
    expect_same_everywhere(f, in);
  }
}

TEST(ImplicitInTraces, Systems) {
  const Inputs in = {constant(Literal{{0.2, -0.3}, {0.4, 0.1}}, float64), vector64({1.0, -2.0})};
  expect_same_everywhere(
      [](const Inputs& x) {
        return fixed_point([x](const Tensor& z) { return matvec(x[0], tanh(z)) + x[1]; }, zeros_like(x[1]));
      },
      in);
  // In another shape than that of the unknowns.
  const auto system = [](const Inputs& x) {
    const auto residual = [x](const Tensor& v) {
      const std::vector<Tensor> parts = unstack(v);
      return reshape(stack({pow(parts[0], 3) + parts[1] - x[0], exp(parts[1]) - parts[0] - x[1]}), {2, 1});
    };
    return root(residual, zeros({2}, float64));
  };
  expect_same_everywhere(system, {constant(1.5, float64), constant(0.5, float64)});
}

TEST(ImplicitInTraces, DifferentialEquations) {
  const Inputs in = {constant(1.5, float64), vector64({1.0, -2.0})};
  for (const OdeOptions& options : {kExact, kExactSteps}) {
    const auto f = [&](const Inputs& x) { return decay(x[0], x[1], options); };
    const Tensor t = constant({0.0, 0.5, 1.0}, float64);
    const auto closed = [&](const Inputs& x) { return expand_dims(exp(-x[0] * t), 1) * x[1]; };
    const std::vector<double> eager = orders(f, in), want = orders(closed, in);
    ASSERT_EQ(eager.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(eager[i], want[i], 1e-7 * (1 + std::fabs(want[i]))) << i;
    auto compiled = function([&](const Inputs& x) { return f(x); });
    expect_close(orders(compiled, in), eager, "tapes around a function");
    expect_close(traced_orders(f, in), eager, "tapes inside of a function");
    const std::vector<double> forward = numbers(tangents_of_orders(f, in));
    for (const double zero : {forward.end()[-2], forward.end()[-1]}) EXPECT_NEAR(zero, 0, 1e-6);
    const std::vector<double> around = numbers(tangents_of_orders(compiled, in));
    ASSERT_EQ(around.size(), forward.size());
    for (std::size_t i = 0; i < around.size(); ++i) EXPECT_NEAR(around[i], forward[i], 1e-7) << i;
  }
}

TEST(ImplicitInTraces, CapturedVariablesAndTensorsHaveGradients) {
  const Variable c(constant(0.5, float64)), unused(constant(1.0, float64));
  const auto by_variables = [&](auto& f) {
    GradientTape tape;
    const Tensor x = f(constant(2.0, float64));
    const std::vector<Tensor> found = tape.gradient(x, std::vector{c, unused});
    EXPECT_FALSE(found[1].has_value());
    return found[0].item<double>();
  };
  const auto solve_for = [&](const Tensor& p) {
    return fixed_point([&, p](const Tensor& x) { return cos(x) * c + p * 0.1; }, zeros_like(p));
  };
  auto traced = function([&](const Tensor& p) { return solve_for(p); });
  EXPECT_NEAR(by_variables(traced), by_variables(solve_for), 1e-12);
  c.assign(constant(0.25, float64));
  EXPECT_NEAR(by_variables(traced), by_variables(solve_for), 1e-12);
  const auto along = [&](const Tensor& p) {
    return odeint([&, p](const Tensor& t, const Tensor& y) { return cos(t * c) * y * p; }, p, {0.0, 1.0}, kExact);
  };
  auto traced_along = function([&](const Tensor& p) { return along(p); });
  EXPECT_NEAR(by_variables(traced_along), by_variables(along), 1e-9);
}

// A row of results at a time, all of them at once, and in a trace.
template <class F>
void expect_jacobians(const F& f, const Tensor& x, double tolerance) {
  const auto jacobian_of = [&](bool at_once) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);
    return tape.jacobian(y, x, {.experimental_use_pfor = at_once});
  };
  const Tensor want = jacobian_of(false);
  expect_near(jacobian_of(true), want, tolerance);
  auto traced = function([&](const Tensor& in) { return f(in); });
  GradientTape around;
  around.watch(x);
  const Tensor y = traced(x);
  expect_near(around.jacobian(y, x), want, tolerance);
  auto inside = function([&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    const Tensor z = f(in);
    return tape.jacobian(z, in);
  });
  expect_near(inside(x), want, tolerance);
  expect_near(hessian([&](const Tensor& in) { return reduce_sum(f(in)); }, x),
              hessian([&](const Tensor& in) { return reduce_sum(traced(in)); }, x), tolerance);
}

TEST(ImplicitInTraces, Jacobians) {
  const Tensor x = vector64({0.5, 1.25});
  const Tensor a = constant(Literal{{0.2, -0.3}, {0.4, 0.1}}, float64);
  expect_jacobians(
      [&](const Tensor& p) { return fixed_point([&, p](const Tensor& z) { return matvec(a, sin(z * p)) + p; }, p); }, x,
      1e-10);
  expect_jacobians(
      [&](const Tensor& p) { return root([&, p](const Tensor& z) { return z * z * z + matvec(a, z) - p; }, p); }, x,
      1e-10);
  for (const OdeOptions& options : {kExact, kExactSteps}) {
    expect_jacobians(
        [&](const Tensor& p) {
          return odeint([&, p](const Tensor& t, const Tensor& y) { return matvec(a, y) * p + t; }, p, {0.0, 1.0},
                        options);
        },
        x, 1e-7);
  }
}

TEST(ImplicitInTraces, JacobiansUseWhatVariablesHeld) {
  const Variable c(constant(0.5, float64));
  for (int kind = 0; kind < 3; ++kind) {
    const Tensor p = vector64({1.0, 2.0});
    const auto f = [&](const Tensor& x) {
      if (kind == 0) return fixed_point([&, x](const Tensor& z) { return z * c * 0.5 + x * c; }, x);
      if (kind == 1) return root([&, x](const Tensor& z) { return z - x * c; }, x);
      return odeint([&](const Tensor&, const Tensor& y) { return y * c; }, x, {0.0, 1.0}, kExact);
    };
    GradientTape tape({.persistent = true});
    tape.watch(p);
    const Tensor y = f(p);
    const auto [before_p, before_c] = tape.jacobian(y, std::pair(p, c));
    c.assign(constant(0.75, float64));
    const auto [after_p, after_c] = tape.jacobian(y, std::pair(p, c));
    c.assign(constant(0.5, float64));
    expect_near(after_p, before_p, 1e-12);
    expect_near(after_c, before_c, 1e-12);
    EXPECT_EQ(c.value().item<double>(), 0.5);
  }
}

TEST(ImplicitInTraces, RowByRow) {
  const Tensor rows = constant(Literal{{0.5, 1.0}, {2.0, 0.25}, {1.5, 3.0}}, float64), c = constant(0.25, float64);
  const auto of_row = [&](const Tensor& p) {
    const Tensor x = fixed_point([&, p](const Tensor& z) { return cos(z) * c + p; }, zeros_like(p));
    const Tensor y = root([p](const Tensor& z) { return z * z - p; }, ones_like(p));
    return x + y + odeint([&, p](const Tensor&, const Tensor& z) { return -z * p * c; }, p, {0.0, 1.0}, kExact)(1);
  };
  const auto all = [&](const auto& map) {
    GradientTape tape;
    tape.watch(Inputs{rows, c});
    const Tensor y = map();
    const auto [by_rows, by_c] = tape.gradient(reduce_sum(y * y), std::pair(rows, c));
    return numbers(Inputs{y, by_rows, by_c});
  };
  const std::vector<double> want = all([&] {
    Inputs found;
    for (const Tensor& row : unstack(rows)) found.push_back(of_row(row));
    return stack(found);
  });
  const std::vector<double> got = all([&] { return vectorized_map(of_row, rows); });
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-9) << i;
  auto traced = function([&](const Tensor& in) { return vectorized_map(of_row, in); });
  const std::vector<double> inside = numbers(traced(rows));
  for (std::size_t i = 0; i < inside.size(); ++i) EXPECT_NEAR(inside[i], want[i], 1e-9) << i;
}

TEST(ImplicitInTraces, NestedOnesAndOneThatUsesNothing) {
  const Inputs in = {vector64({0.5, 2.0})};
  expect_same_everywhere(
      [](const Inputs& x) {
        return fixed_point([x](const Tensor& z) { return newton(x[0] + 0.25 * z * z / (1.0 + z * z)); }, x[0]);
      },
      in);
  auto f = function(
      [](const Tensor& x) { return fixed_point([](const Tensor& z) { return cos(z); }, constant(1.0, float64)) * x; });
  EXPECT_NEAR(f(constant(1.0, float64)).item<double>(), 0.7390851332151607, 1e-12);
  // A function that is no op.
  GradientTape tape;
  const Tensor a = constant(2.0, float64);
  tape.watch(a);
  const Tensor x = fixed_point([a](const Tensor&) { return a; }, constant(0.0, float64));
  EXPECT_EQ(tape.gradient(x, a).item<double>(), 1);
}

TEST(ImplicitInTraces, OneTraceServesOtherLengths) {
  auto f = function(
      [](const Tensor& a) {
        return heron(a) + odeint([a](const Tensor&, const Tensor& y) { return -a * y; }, a, {0.0, 1.0}, kExact)(1);
      },
      {.input_signature = {TensorSpec({-1}, float64)}});
  for (const int n : {2, 5, 8, 11}) {
    const Tensor a = cast(range(1, n + 1), float64);
    expect_near(f(a), sqrt(a) + a * exp(-a), 1e-9);
    GradientTape tape;
    tape.watch(a);
    const Tensor y = f(a);
    expect_near(tape.gradient(y, a), 0.5 / sqrt(a) + (1.0 - a) * exp(-a), 1e-8);
  }
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(ImplicitInTraces, DrawsAndAssignments) {
  const Variable calls(constant(0.0, float64), {.trainable = false});
  auto f = function([&](const Tensor& p) {
    return fixed_point(
        [&](const Tensor& x) {
          calls.assign_add(constant(1.0, float64));
          return 0.5 * x + p + 0.0 * random::uniform(Shape(), 0.0, 1.0, float64);
        },
        zeros_like(p));
  });
  const Tensor p = constant(1.0, float64);
  GradientTape tape;
  tape.watch(p);
  const Tensor x = f(p);
  EXPECT_NEAR(x.item<double>(), 2, 1e-12);
  const double before = calls.value().item<double>();
  EXPECT_GT(before, 10);
  EXPECT_NEAR(tape.gradient(x, p).item<double>(), 2, 1e-12);
  EXPECT_EQ(calls.value().item<double>(), before);
}

TEST(ImplicitInTraces, ErrorsAtRunTimeAreThoseOfPlainCalls) {
  const auto explode = [](const Tensor& x) {
    return fixed_point([](const Tensor& z) { return z * z * 4.0; }, x, {.max_iterations = 9});
  };
  const auto too_long = [](const Tensor& k) { return decay(k, ones_like(k), {.max_steps = 3}); };
  const auto expect_same = [](const auto& f, double good, double bad, const std::string& part) {
    auto traced = function(f);
    const Tensor x = constant(good, float64), y = constant(bad, float64);
    EXPECT_EQ(numbers(traced(x)), numbers(f(x)));
    const std::string want = message_of<ValueError>([&] { f(y); });
    EXPECT_NE(want.find(part), std::string::npos) << want;
    EXPECT_EQ(message_of<ValueError>([&] { traced(y); }), want);
    GradientTape tape;
    tape.watch(y);
    EXPECT_EQ(message_of<ValueError>([&] { traced(y); }), want);
    EXPECT_EQ(numbers(traced(x)), numbers(f(x)));
  };
  expect_same(explode, 0.0, 1.0, "not converged after 9 iterations");
  expect_same(newton, 4.0, -1.0, "");
  expect_same(too_long, 1e-3, 1e4, "odeint: more than 3 steps");
  // What is known when it is traced is said then.
  const Tensor one = constant(1.0, float64);
  const auto traced = [](const auto& f, const Tensor& x) { return function(f)(x); };
  EXPECT_NE(
      message_of<ShapeError>([&] {
        traced([](const Tensor& x) { return fixed_point([](const Tensor& z) { return stack({z, z}); }, x); }, one);
      }).find("fixed_point: the function gives shape [2] for []"),
      std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] {
              traced([](const Tensor& x) { return root([](const Tensor&) { return Tensor(); }, x); }, one);
            }).find("root: the function gives an empty tensor"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan::testing
