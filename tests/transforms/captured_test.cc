// Tensors from outside that a nested function uses: every kind of nesting, alone and two deep, eager and traced, known
// to tapes and accumulators inside and outside, before and after the trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/tape/expect.h"
#include "tests/transforms/captured_kinds.h"

namespace capstan::testing {
namespace {

constexpr double kX = 0.7;
constexpr double kE = 0.4;

// What is in the innermost body: the captured tensor alone, and together with the argument.
Tensor leaf(const Tensor& q, const Tensor& x) { return q * x + sin(x) * exp(-x); }
double leaf(double q, double x) { return q * x + std::sin(x) * std::exp(-x); }

// By the captured number.
struct Expected {
  double value, first, second;
};
Expected expected(const std::function<double(double x)>& p) {
  const double h = 1e-3;
  const double a = p(kX - 2 * h), b = p(kX - h), c = p(kX), d = p(kX + h), e = p(kX + 2 * h);
  return {c, (a - 8 * b + 8 * d - e) / (12 * h), (-a + 16 * b - 30 * c + 16 * d - e) / (12 * h * h)};
}

void expect_number(const Tensor& tensor, double want, double tolerance, const std::string& what) {
  if (!tensor.has_value()) {
    ADD_FAILURE() << what << " is missing, want " << want;
    return;
  }
  EXPECT_NEAR(tensor.to_dense().item<double>(), want, tolerance * std::max(1.0, std::abs(want))) << what;
}

// The derivatives by x of a call of f, taken around it.
template <class F>
void expect_outside(F&& f, const Tensor& e, const Tensor& x, const Expected& want, const std::string& how) {
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(e);
    expect_number(y, want.value, 1e-7, how + ": the value");
    expect_number(tape.gradient(y, x), want.first, 1e-6, how + ": reverse");
  }
  {
    const ForwardAccumulator accumulator(x, ones(x.shape(), float64));
    expect_number(accumulator.jvp(f(e)), want.first, 1e-6, how + ": forward");
  }
  {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = f(e);
    const Tensor g = inner.gradient(y, x);
    if (g.has_value()) expect_number(outer.gradient(g, x), want.second, 1e-5, how + ": reverse over reverse");
  }
  {
    const ForwardAccumulator accumulator(x, ones(x.shape(), float64));
    GradientTape inner;
    inner.watch(x);
    const Tensor g = inner.gradient(f(e), x);
    if (g.has_value()) expect_number(accumulator.jvp(g), want.second, 1e-5, how + ": forward over reverse");
  }
}

// The same with tapes within the traced function.
void expect_inside(const Map& body, const Tensor& e, const Tensor& x, const Expected& want, const std::string& how) {
  auto first = function([&](const Tensor& q) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = body(q);
    return tape.gradient(y, x);
  });
  expect_number(first(e), want.first, 1e-6, how + ": reverse inside");
  auto second = function([&](const Tensor& q) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = body(q);
    return outer.gradient(inner.gradient(y, x), x);
  });
  expect_number(second(e), want.second, 1e-5, how + ": reverse over reverse inside");
  auto forward = function([&](const Tensor& q) {
    const ForwardAccumulator accumulator(x, ones(x.shape(), float64));
    return accumulator.jvp(body(q));
  });
  expect_number(forward(e), want.first, 1e-6, how + ": forward inside");
  {  // one derivative inside, the next around
    GradientTape tape;
    tape.watch(x);
    expect_number(tape.gradient(first(e), x), want.second, 1e-5, how + ": reverse over reverse, one inside");
  }
}

void expect_all(const Map& body, const Tensor& x, const std::function<double(double)>& plain, const std::string& what) {
  const Tensor e = constant(kE, float64);
  const Expected want = expected(plain);
  try {
    expect_outside(body, e, x, want, what + ", eager");
    auto known = function([&](const Tensor& q) { return body(q); });
    expect_outside(known, e, x, want, what + ", traced under a tape");
    auto before = function([&](const Tensor& q) { return body(q); });
    const Tensor other = x;
    before(e);
    expect_outside(before, e, x, want, what + ", traced before");
    expect_inside(body, e, x, want, what);
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << " throws " << error.what();
  }
}

class Captured : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Captured, TensorIsConnectedInEveryNesting) {
  const Nesting nesting = nestings()[GetParam()];
  const Tensor x = constant(kX, float64);
  const Map body = [&](const Tensor& e) { return nesting.tensors([&](const Tensor& q) { return leaf(q, x); }, e); };
  const auto plain = [&](double number) { return nesting.numbers([&](double q) { return leaf(q, number); }, kE); };
  expect_all(body, x, plain, nesting.name);
}

TEST_P(Captured, TensorThatIsAllThatIsUsedIsConnected) {
  const Nesting nesting = nestings()[GetParam()];
  const Tensor x = constant(kX, float64);
  const Map body = [&](const Tensor& e) { return nesting.tensors([&](const Tensor&) { return x * x * x; }, e); };
  const auto plain = [&](double number) {
    return nesting.numbers([&](double) { return number * number * number; }, kE);
  };
  expect_all(body, x, plain, nesting.name);
}

TEST_P(Captured, ResultOfAnotherComputationIsConnected) {
  const Nesting nesting = nestings()[GetParam()];
  const Tensor x = constant(kX, float64);
  const Map body = [&](const Tensor& e) {
    const Tensor y = x * x;  // computed around the nesting, in a trace as well
    return nesting.tensors([y](const Tensor& q) { return leaf(q, y) + y; }, e);
  };
  const auto plain = [&](double number) {
    const double y = number * number;
    return nesting.numbers([&](double q) { return leaf(q, y) + y; }, kE);
  };
  expect_all(body, x, plain, nesting.name);
}

// In a trace they become one value.
TEST_P(Captured, EqualResultsAreConnectedOnceEach) {
  const Nesting nesting = nestings()[GetParam()];
  const Tensor x = constant(kX, float64);
  const Map body = [&](const Tensor& e) {
    const Tensor y = x * x;
    const Tensor z = x * x;
    return nesting.tensors([y, z](const Tensor& q) { return leaf(q, y) + z; }, e);
  };
  const auto plain = [&](double number) {
    const double y = number * number;
    return nesting.numbers([&](double q) { return leaf(q, y) + y; }, kE);
  };
  expect_all(body, x, plain, nesting.name);
}

// A table of one row, as a row-sparse gradient. It has all rows of x.
Tensor row_sparse(const Tensor& row) {
  const Tensor table = zeros({1}, float64);
  GradientTape tape;
  tape.watch(table);
  const Tensor y = reduce_sum(row * gather(table, constant({0})));
  return tape.gradient(y, table);
}

TEST_P(Captured, RowSparseTensorIsConnected) {
  const Nesting nesting = nestings()[GetParam()];
  const Tensor x = row_sparse(constant(kX, float64));
  ASSERT_TRUE(x.is_row_sparse());
  const Map body = [&](const Tensor& e) {
    return nesting.tensors([&](const Tensor& q) { return leaf(q, reduce_sum(x)); }, e);
  };
  const auto plain = [&](double number) { return nesting.numbers([&](double q) { return leaf(q, number); }, kE); };
  expect_all(body, x, plain, nesting.name);
}

TEST_P(Captured, RowSparseResultOfAnotherComputationIsConnected) {
  const Nesting nesting = nestings()[GetParam()];
  const Tensor x = constant(kX, float64);
  const Map body = [&](const Tensor& e) {
    const Tensor rows = row_sparse(x * x);
    EXPECT_TRUE(rows.is_row_sparse());
    return nesting.tensors([rows](const Tensor& q) { return leaf(q, reduce_sum(rows)); }, e);
  };
  const auto plain = [&](double number) {
    return nesting.numbers([&](double q) { return leaf(q, number * number); }, kE);
  };
  expect_all(body, x, plain, nesting.name);
}

TEST_P(Captured, TensorIsConnectedTwoDeep) {
  const std::vector<Nesting> all = nestings();
  const Nesting& outer = all[GetParam()];
  for (const Nesting& inner : all) {
    const Tensor x = constant(kX, float64);
    const Map body = [&](const Tensor& e) {
      const Map middle = [inner, x](const Tensor& q) {
        const Map innermost = [x](const Tensor& r) { return leaf(r, x); };
        return inner.tensors(innermost, q) + x * x;
      };
      return outer.tensors(middle, e);
    };
    const auto plain = [&](double number) {
      const Plain middle = [&](double q) {
        return inner.numbers([&](double r) { return leaf(r, number); }, q) + number * number;
      };
      return outer.numbers(middle, kE);
    };
    expect_all(body, x, plain, outer.name + " of " + inner.name);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Captured, ::testing::Range(std::size_t{0}, nestings().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& info) { return nestings()[info.param].name; });

}  // namespace
}  // namespace capstan::testing
