// Calls of functions of functions that make little sense: strange tensors, and functions that give nothing, something
// of another kind, or throw. Each call gives a right answer or throws an error of the library (or what the function has
// thrown); then the thread is as it was, and a gradient is right.
//
// An answer is right if another way to compute it agrees: row by row, in reverse instead of forward mode, traced.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "capstan/implicit.h"
#include "capstan/recompute.h"
#include "src/core/context.h"
#include "tests/support/limits.h"
#include "tests/support/strange.h"
#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

using F = std::function<Tensor(const Tensor&)>;
using Inputs = std::vector<Tensor>;
constexpr auto kZero = UnconnectedGradients::kZero;

struct OfTheUser {};

// A number of calls, or that in the environment.
int calls() {
  const char* asked = std::getenv("CAPSTAN_CALLS");
  return asked != nullptr ? std::atoi(asked) : CAPSTAN_SANITIZED ? 100 : 600;
}

Tensor strange_argument(Random& random) {
  static const Inputs samples = {vector64({0.5, -0.25, 1.5}), constant(0.75, float64), constant({0.5f, 2.0f}),
                                 constant(Literal{{0.5, -1.0, 0.25}, {1.5, 0.75, -0.5}}, float64)};
  const Tensor& sample = samples[static_cast<std::size_t>(random.integer(0, 3))];
  const std::int64_t kind = random.integer(0, 9);
  if (kind == 0) return {};
  return kind < 4 ? strange_tensor(random, sample) : sample;
}

// Those up to kPlain are differentiable functions of anything that floats, elementwise.
constexpr int kPlain = 5;
F strange_function(Random& random, int most = 24) {
  static const Variable variable(constant(0.5, float64));
  static const Tensor outside = constant({1.0, 2.0, 3.0}, float64);
  switch (random.integer(0, most)) {
    case 0:
      return [](const Tensor& x) { return sin(x) * 0.25 + 0.1; };
    case 1:
      return [](const Tensor& x) { return x * x * 0.125; };
    case 2:
      return [](const Tensor& x) { return tanh(x) * exp(x * 0.1) * 0.25; };
    case 3:
      return recompute_grad([](const Tensor& x) { return cos(x) * 0.5; });
    case 4: {
      auto traced = function([](const Tensor& x) { return x * 0.5 - sin(x) * 0.25; });
      return [traced](const Tensor& x) mutable { return traced(x); };
    }
    case 5:
      return [](const Tensor& x) { return x; };
    case 6:
      return [](const Tensor&) { return Tensor(); };
    case 7:
      return [](const Tensor&) { return zeros({0}, float64); };
    case 8:
      return [](const Tensor&) { return outside; };
    case 9:
      return [](const Tensor& x) { return x * variable; };
    case 10:
      return [](const Tensor& x) { return stack({x, x}); };
    case 11:
      return [](const Tensor& x) { return cast(x, int32); };
    case 12:
      return [](const Tensor& x) { return cast(x, float32); };
    case 13:
      return [](const Tensor& x) { return reduce_sum(x * x); };
    case 14:
      return [](const Tensor&) -> Tensor { throw OfTheUser(); };
    case 15:
      return [](const Tensor& x) { return x.item<double>() > 0 ? x : -x; };
    case 16:
      return [](const Tensor& x) { return log(x); };
    case 17:
      return [](const Tensor& x) { return matmul(x, x); };
    case 18:
      return [](const Tensor& x) { return x > 0.0; };
    case 19:
      return [](const Tensor& x) { return x(0); };
    case 20:
      return [](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = sin(x);
        return tape.gradient(y, x);
      };
    case 21:
      return [](const Tensor& x) { return sqrt(x - x); };
    case 22:
      return [](const Tensor& x) {
        return cond(
            reduce_sum(x) > 0.0, [&] { return x * 2.0; }, [&] { return -x; });
      };
    case 23:
      return [](const Tensor& x) {
        variable.assign(variable * 1.0);
        return x * outside;
      };
    default:
      return nullptr;
  }
}

double largest(const Tensor& x) {
  double found = 0;
  for (const double number : numbers(x)) found = std::max(found, std::fabs(number));
  return found;
}

// NaN and infinity count as equal to each other: an exact order of operations is nobody's promise.
void expect_agree(const Tensor& got, const Tensor& want, const char* what, double tolerance = 1e-9) {
  ASSERT_EQ(got.has_value(), want.has_value()) << what;
  if (!want.has_value()) return;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  if (want.dtype() == float32 || want.dtype() == bfloat16) tolerance = 0.03;
  const std::vector<double> a = numbers(got.to_dense()), b = numbers(want.to_dense());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(b[i]))) << what << ", element " << i;
  }
}

// What a call gives, or nothing if it throws what it may.
template <class Call>
std::optional<std::invoke_result_t<Call&>> tried(const Call& call) {
  try {
    return call();
  } catch (const Error&) {
  } catch (const OfTheUser&) {
  } catch (const std::bad_function_call&) {  // of an empty one
  }
  return std::nullopt;
}

void expect_all_is_well(int call) {
  ASSERT_EQ(context.observers, nullptr) << "behind call " << call;
  ASSERT_EQ(context.tracer, nullptr) << "behind call " << call;
  ASSERT_EQ(context.keys, nullptr) << "behind call " << call;
  const Tensor x = constant(2.0, float64);
  GradientTape outer, inner;
  outer.watch(x);
  inner.watch(x);
  const Tensor first = inner.gradient(x * x * x, x);
  ASSERT_EQ(first.item<double>(), 12) << "behind call " << call;
  ASSERT_EQ(outer.gradient(first, x).item<double>(), 12) << "behind call " << call;
}

// Runs `call`, which has a random number of its own, many times. At least one in twenty has to give something.
template <class Call>
void fuzz(const char* name, const Call& call) {
  Random random(std::string_view{name});
  int worked = 0;
  const int count = calls();
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(std::string(name) + ", call " + std::to_string(i));
    Random own(random.bits());
    worked += tried([&] { return call(own); }).value_or(false) ? 1 : 0;
    expect_all_is_well(i);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(worked, count / 20) << name;
}

TEST(BadCalls, Jacobians) {
  fuzz("jacobian", [](Random& random) {
    const F f = strange_function(random);
    const Tensor x = strange_argument(random);
    const auto rows = [&](bool at_once) {
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor y = f(x);
      return tape.jacobian(y, x, {.experimental_use_pfor = at_once});
    };
    const auto got = tried([&] { return rows(true); });
    const auto want = tried([&] { return rows(false); });
    if (got) {
      EXPECT_TRUE(want.has_value());
      if (want) expect_agree(*got, *want, "row by row");
    }
    tried([&] { return jacobian(f, x); });
    tried([&] { return hessian(f, x); });
    return got.has_value();
  });
  fuzz("batch_jacobian", [](Random& random) {
    const F f = strange_function(random);
    const Tensor x = strange_argument(random);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);
    const Tensor got = tape.batch_jacobian(y, x);
    expect_agree(got, tape.batch_jacobian(y, x, {.experimental_use_pfor = false}), "row by row");
    return true;
  });
}

TEST(BadCalls, ForwardAndReverse) {
  fuzz("jvp", [](Random& random) {
    const F f = strange_function(random);
    const Tensor x = strange_argument(random);
    const Tensor v = random.integer(0, 2) == 0 ? strange_argument(random) : ones_like(x);
    const auto [y, dy] = jvp(f, x, {v});
    const auto [again, pullback] = vjp(f, x);
    const Tensor u = random.integer(0, 2) == 0 ? strange_argument(random) : ones_like(y);
    const Tensor dx = pullback(u);
    expect_agree(y, again, "values");
    if (is_floating(x.dtype()) && y.dtype() == x.dtype()) {
      expect_agree(reduce_sum(cast(dx * v, float64)), reduce_sum(cast(dy * u, float64)), "both modes",
                   x.dtype() == float64 ? 1e-7 : 0.03);
    }
    return true;
  });
  fuzz("hvp", [](Random& random) {
    const F f = strange_function(random);
    const Tensor x = strange_argument(random);
    const F sum = [f](const Tensor& at) { return reduce_sum(f(at)); };
    const Tensor got = hvp(sum, x, {ones_like(x)});
    const auto full = tried([&] { return hessian(sum, x); });
    if (full && x.rank() == 1) expect_agree(got, reduce_sum(*full, 1), "from the hessian", 1e-7);
    return true;
  });
  fuzz("accumulator", [](Random& random) {
    const F f = strange_function(random), g = strange_function(random);
    const Tensor x = strange_argument(random);
    ForwardAccumulator outer({x}, {random.integer(0, 3) == 0 ? strange_argument(random) : ones_like(x)});
    ForwardAccumulator inner({x}, {ones_like(x)});
    const Tensor y = f(x);
    const Tensor first = inner.jvp(y, kZero);
    tried([&] { return g(y); });
    outer.jvp(first);
    return true;
  });
}

TEST(BadCalls, ManyAtOnce) {
  fuzz("vectorized_map", [](Random& random) {
    const F f = strange_function(random);
    const Tensor x = strange_argument(random);
    const auto got = tried([&] { return vectorized_map(f, x); });
    if (!got || x.dim(0) == 0) return got.has_value();
    Inputs rows;
    for (const Tensor& row : unstack(x.to_dense())) rows.push_back(f(row));
    expect_agree(*got, stack(rows), "one by one");
    return true;
  });
  fuzz("per_example_gradients", [](Random& random) {
    const F f = strange_function(random);
    const Tensor x = strange_argument(random), w = strange_argument(random);
    const auto loss = [&](const Tensor& row) { return reduce_sum(f(row * w)); };
    const auto got = tried([&] { return per_example_gradients(loss, x, w); });
    if (!got || !got->has_value() || x.dim(0) == 0) return got.has_value();
    Inputs rows;
    for (const Tensor& row : unstack(x.to_dense())) {
      GradientTape tape;
      tape.watch(w);
      const Tensor y = loss(row);
      rows.push_back(tape.gradient(y, w, {.unconnected_gradients = kZero}).to_dense());
    }
    expect_agree(*got, stack(rows), "one by one");
    return true;
  });
}

// The gradients of f by x and by what it captures.
Inputs gradients(const F& f, const Tensor& x, const Tensor& captured) {
  GradientTape tape;
  tape.watch(Inputs{x, captured});
  const Tensor y = f(x);
  return tape.gradient(y, Inputs{x, captured});
}

TEST(BadCalls, FunctionsWithRulesOfTheirOwn) {
  fuzz("recompute_grad", [](Random& random) {
    const F f = strange_function(random), g = strange_function(random, kPlain);
    const Tensor x = strange_argument(random);
    const Tensor c = random.integer(0, 3) == 0 ? x : constant(1.5, float64);
    const F plain = [=](const Tensor& at) { return f(g(at) * c); };
    const auto got = tried([&] { return gradients(recompute_grad(plain), x, c); });
    const auto want = tried([&] { return gradients(plain, x, c); });
    if (!got || x.is_row_sparse()) return got.has_value();
    for (std::size_t i = 0; want && i < 2; ++i) expect_agree((*got)[i], (*want)[i], "as the function", 1e-7);
    auto traced = function(recompute_grad(plain));
    tried([&] { return gradients(traced, x, c); });
    return true;
  });
  fuzz("custom_gradient", [](Random& random) {
    const F f = strange_function(random), rule = strange_function(random);
    const bool forward = random.integer(0, 3) == 0;
    const Tensor x = strange_argument(random);
    const F own = [=](const Tensor& at) {
      return custom_gradient(
          [=](std::span<const Tensor> in) {
            CustomGradientResult result;
            result.outputs = {f(in[0])};
            result.gradient = [=](std::span<const Tensor> g) { return Inputs{rule(g[0])}; };
            if (forward) result.jvp = result.gradient;
            return result;
          },
          {at})[0];
    };
    const Tensor value = own(x);
    const auto got = tried([&] { return gradients(own, x, value)[0]; });
    auto traced = function(own);
    tried([&] { return gradients(traced, x, value); });
    tried([&] { return jacobian(own, x); });
    tried([&] { return jvp(own, x, {ones_like(x)}); });
    if (got && got->has_value() && is_floating(value.dtype())) expect_agree(*got, rule(ones_like(value)), "the rule");
    return true;
  });
}

// A solution in a trace is the one outside of it, and has its gradients.
void expect_traced_agrees(const F& f, const Tensor& x, const Tensor& captured, double tolerance = 1e-6) {
  auto traced = function(f);
  const auto value = tried([&] { return traced(x); });
  if (value) expect_agree(*value, f(x), "traced", 1e-7);
  const auto got = tried([&] { return gradients(traced, x, captured); });
  const auto want = tried([&] { return gradients(f, x, captured); });
  if (!got || !want) return;
  expect_agree((*got)[0], (*want)[0], "a traced gradient", tolerance);
}

TEST(BadCalls, Equations) {
  const ImplicitOptions few = {.max_iterations = 40};
  fuzz("fixed_point", [&](Random& random) {
    const F f = strange_function(random, random.integer(0, 1) == 0 ? kPlain : 24);
    const Tensor x0 = strange_argument(random), p = strange_argument(random);
    const F at = [=](const Tensor& c) { return fixed_point([=](const Tensor& x) { return f(x) + c * 0.0; }, x0, few); };
    const Tensor x = fixed_point(f, x0, few);
    EXPECT_LE(largest(f(x) - x), 1e-5 * (1 + largest(x)));
    expect_traced_agrees(at, p, x0);
    tried([&] { return jacobian(at, p); });
    return true;
  });
  fuzz("root", [&](Random& random) {
    const F f = strange_function(random, random.integer(0, 1) == 0 ? kPlain : 24);
    const Tensor x0 = strange_argument(random), p = strange_argument(random);
    const F at = [=](const Tensor& c) { return root([=](const Tensor& x) { return f(x) + x - c; }, x0, few); };
    const Tensor x = at(p);
    EXPECT_LE(largest(f(x) + x - p), 1e-4 * (1 + largest(p) + largest(x)));
    // Of numbers that large only a rounding error is known of a sine.
    if (largest(x) < 1e6) expect_traced_agrees(at, p, x0);
    tried([&] { return jacobian(at, p); });
    return true;
  });
  fuzz("odeint", [&](Random& random) {
    const F f = strange_function(random, random.integer(0, 1) == 0 ? kPlain : 24);
    const Tensor y0 = strange_argument(random);
    std::vector<double> times = {0.0, 0.5};
    if (random.integer(0, 3) == 0) times.push_back(strange_number(random));
    OdeOptions options = {.relative = 1e-4, .absolute = 1e-5, .max_steps = 20};
    if (random.integer(0, 1) == 0) options.gradient = OdeGradient::kDirect;
    if (random.integer(0, 9) == 0) options.relative = strange_number(random);
    const F from = [=](const Tensor& y) {
      return odeint([=](const Tensor&, const Tensor& at) { return f(at); }, y, times, options);
    };
    const Tensor y = from(y0);
    EXPECT_EQ(y.dim(0), static_cast<std::int64_t>(times.size()));
    // The steps of an adjoint equation depend on how many gradients there are.
    expect_traced_agrees(from, y0, constant(1.0, float64), 1e-3);
    return true;
  });
}

}  // namespace
}  // namespace capstan::testing
