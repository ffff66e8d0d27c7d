// The tests of TensorFlow's gradients_test, gradient_correctness_test and record_test that have a
// meaning in C++, each named after it. Those that have none are listed in docs/conformance.md.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "capstan/recompute.h"
#include "capstan/testing.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;
using Variables = std::span<const Variable>;

Tensor one_custom(const std::function<CustomGradientResult(In)>& f, const Operands& arguments) {
  return custom_gradient(f, arguments)[0];
}

TEST(CustomGradientTest, CustomGradientTrivial) {
  const auto triple = [](const Tensor& x) {
    return one_custom(
        [](In in) -> CustomGradientResult {
          return {{identity(in[0])}, [](In g) -> Out { return {3 * g[0]}; }};
        },
        {x});
  };
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = triple(triple(x));
  EXPECT_EQ(value(y), 3);
  expect_values(tape.gradient(y, x), {9});
}

CustomGradientResult swapped_multiply(In in) {
  const Tensor a = in[0], b = in[1];
  return {{a * b}, [a, b](In g) -> Out { return {g[0] * a, g[0] * b}; }};
}

TEST(CustomGradientTest, CustomGradient) {
  const Tensor x = constant(3.0), y = constant(5.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = one_custom(swapped_multiply, {x, y});
  const auto g = tape.gradient(z, {x, y});
  expect_values(g[0], {3});
  expect_values(g[1], {5});
}

TEST(CustomGradientTest, CustomGradientClass) {
  struct Model {
    Tensor multiply(const Tensor& a, const Tensor& b) {
      return custom_gradient([this](In in) { return this->rule(in); }, {a, b})[0];
    }
    CustomGradientResult rule(In in) {
      ++calls;
      return swapped_multiply(in);
    }
    int calls = 0;
  } model;
  const Tensor x = constant(3.0), y = constant(5.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = model.multiply(x, y);
  const auto g = tape.gradient(z, {x, y});
  expect_values(g[0], {3});
  expect_values(g[1], {5});
  EXPECT_EQ(model.calls, 1);
}

TEST(CustomGradientTest, CustomGradientErrors) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = one_custom(
      [](In in) -> CustomGradientResult {
        return {{in[0] * 2}, [](In) -> Out { throw std::runtime_error("mine"); }};
      },
      {x});
  EXPECT_THROW(tape.gradient(y, x), std::runtime_error);
}

TEST(CustomGradientTest, CustomGradientWithVariables) {
  const Tensor x = ones({2, 4});
  const Variable kernel(ones({4, 3}));
  GradientTape tape;
  tape.watch(x);
  std::size_t seen = 0;
  const Tensor y = one_custom(
      [&](In in) -> CustomGradientResult {
        return {{matmul(in[0], kernel)},
                [](In) -> Out {
                  return {4 * ones({2, 4})};
                },
                [&seen](In, Variables variables) -> Out {
                  seen = variables.size();
                  return {ones({4, 3})};
                }};
      },
      {x});
  const auto g = tape.gradient(y, {x, kernel});
  EXPECT_EQ(seen, 1u);
  expect_values(reduce_sum(g[0]), {32});
  expect_values(reduce_sum(g[1]), {12});
}

TEST(CustomGradientTest, CustomGradientWithCapture) {
  const Tensor x = constant(3.0), captured = constant(5.0);
  GradientTape tape;
  tape.watch(std::vector{x, captured});
  const Tensor y = one_custom(
      [&](In in) -> CustomGradientResult {
        return {{in[0] * captured}, [&](In g) -> Out { return {g[0] * captured}; }};
      },
      {x});
  const auto g = tape.gradient(y, {x, captured});
  expect_values(g[0], {5});
  expect_missing(g[1]);
}

TEST(CustomGradientTest, CustomGradientWithVariablesNoFalsePositives) {
  // A variable that is an argument, one that exists, one that is not trainable: none of them is
  // captured.
  const Variable argument(3.0), other(4.0), frozen(2.0, {.trainable = false});
  GradientTape tape;
  const Tensor before = other * 1;
  const Tensor y = one_custom(
      [&](In in) -> CustomGradientResult {
        return {{in[0] * frozen}, [](In g) -> Out { return {9 * g[0]}; }};
      },
      {argument});
  EXPECT_EQ(value(y), 6);
  expect_values(tape.gradient(y, argument), {9});
}

TEST(CustomGradientTest, CustomGradientWithVariablesEager) {
  const Variable w(ones({2}));
  const Tensor x = constant({1.0, 2.0, 3.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = one_custom(
      [&](In in) -> CustomGradientResult {
        return {{in[0] * w(0) + w(1)},
                [](In g) -> Out { return {2 * g[0]}; },
                [](In, Variables) -> Out {
                  return {constant({4.0, 4.0})};
                }};
      },
      {x});
  const auto g = tape.gradient(y, {x, w});
  expect_values(reduce_sum(g[0]), {6});
  expect_values(reduce_sum(g[1]), {8});
}

TEST(CustomGradientTest, RecursiveCustomGradient) {
  const Tensor x = ones({2, 4});
  const Variable kernel(ones({4, 3}));
  const auto inner = [&](const Tensor& at) {
    return custom_gradient(
        [&](In in) -> CustomGradientResult {
          return {{matmul(in[0], kernel)},
                  [](In) -> Out {
                    return {ones({2, 4})};
                  },
                  [](In, Variables) -> Out {
                    return {ones({4, 3})};
                  }};
        },
        {at})[0];
  };
  GradientTape tape;
  tape.watch(x);
  const Tensor y = one_custom(
      [&](In in) -> CustomGradientResult {
        return {{inner(in[0])},
                [](In) -> Out {
                  return {3 * ones({2, 4})};
                },
                [](In, Variables variables) -> Out {
                  EXPECT_EQ(variables.size(), 1u);
                  return {ones({4, 3})};
                }};
      },
      {x});
  const auto g = tape.gradient(y, {x, kernel});
  expect_values(reduce_sum(g[0]), {24});
  expect_values(reduce_sum(g[1]), {12});
}

TEST(CustomGradientTest, CustomGradientStructuralInputOutput) {
  // Structures are flat lists here; an output may be unused.
  const Tensor a = constant(1.0), b = constant(2.0), c = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{a, b, c});
  const Out y = custom_gradient(
      [](In in) -> CustomGradientResult {
        return {{in[0] * 2, in[1] * 3, in[2] * 4}, [](In g) -> Out { return {g[0] * 20, g[1] * 30, g[2] * 40}; }};
      },
      {a, b, c});
  ASSERT_EQ(y.size(), 3u);
  const auto g = tape.gradient(y, {a, b, c});
  expect_values(g[0], {20});
  expect_values(g[1], {30});
  expect_values(g[2], {40});
  // Unused outputs arrive as zeros.
  const auto first = tape.gradient(y[0], {a, b, c});
  expect_values(first[0], {20});
  expect_values(first[1], {0});
  expect_values(first[2], {0});
}

TEST(GradPassThroughTest, AssignAloneAndThroughIt) {
  const Variable x(1.0);
  const Tensor z = constant(3.0);
  {
    GradientTape tape;
    tape.watch(z);
    x.assign(z * z);
    expect_missing(tape.gradient(x, z));
  }
  GradientTape tape;
  tape.watch(z);
  const Tensor y = grad_pass_through(
      [&](In in) -> Out {
        x.assign(in[0]);
        return {x.value()};
      },
      {z * z})[0];
  EXPECT_EQ(value(y), 9);
  expect_values(tape.gradient(y, z), {6});
}

TEST(GradPassThroughTest, CapturedVariableIsMissing) {
  const Variable x(1.0);
  const Tensor z = constant(3.0);
  GradientTape tape;
  tape.watch(z);
  const Tensor y = grad_pass_through([&](In in) -> Out { return {in[0] * x}; }, {z})[0];
  const auto g = tape.gradient(y, {z, x});
  expect_values(g[0], {1});
  expect_missing(g[1]);
}

TEST(RecomputeGradTest, RecomputeGradWrapped) {
  const auto f = [](const Tensor& x) { return 2 * x; };
  EXPECT_EQ(value(recompute_grad(f).wrapped()(constant(1.0))), 2);
}

TEST(RecomputeGradTest, RecomputeGradZeroSizeInput) {
  const auto f = recompute_grad([](const Tensor& x) { return x + 1; });
  const Tensor x = zeros({0, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(tape.gradient(y, x).shape(), Shape({0, 3}));
}

TEST(RecomputeGradTest, RecomputeGradDifferentDtypesInputs) {
  const auto f = [](const Tensor& i, const Tensor& x) { return cast(i, float32) * x + 1; };
  const Tensor i = constant({1, 2}), x = constant({3.0, 4.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto plain = tape.gradient(f(i, x), {i, x});
  const auto again = tape.gradient(recompute_grad(f)(i, x), {i, x});
  expect_missing(again[0]);
  expect_values(again[1], plain[1].to_vector<double>());
}

TEST(RecomputeGradTest, CustomGradientRecomputeGradHigherOrder) {
  const auto f = recompute_grad([](const Tensor& x) { return reduce_prod(pow(tanh(x), 2)); });
  check_gradients(
      [&](const std::vector<Tensor>& in) {
        GradientTape tape;
        tape.watch(in[0]);
        return tape.gradient(f(in[0]), in[0]);
      },
      {constant({0.3, -0.7, 1.1}, float64)}, {.order = 2});
}

TEST(RecomputeGradTest, FnRecompute) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  const Variable w(constant({{0.5, -1.0}, {0.25, 2.0}}));
  const auto layers = [&](const Tensor& in) {
    return std::pair(tanh(matmul(in, w)), std::vector{matmul(in, w), in * 2});
  };
  const auto gradients = [&](const auto& f) {
    GradientTape tape;
    tape.watch(x);
    const auto [y, more] = f(x);
    return tape.gradient({y, more[0], more[1]}, {x, w});
  };
  const auto plain = gradients(layers), again = gradients(recompute_grad(layers));
  for (std::size_t i = 0; i < 2; ++i) expect_values(again[i], plain[i].to_vector<double>());
}

TEST(RecomputeGradTest, FnRecomputeSameTensor) {
  const auto f = [](const Tensor& a, const Tensor& b) { return a * a * b; };
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad(f)(x, x);
  expect_values(tape.gradient(y, x), {27});
}

TEST(GradPassThroughTest, TakesAsManyAsItReturns) {
  const Tensor a = constant(1.0), b = constant(2.0);
  GradientTape tape;
  tape.watch(std::vector{a, b});
  const Tensor y = grad_pass_through([](In in) -> Out { return {in[0] * in[1]}; }, {a, b})[0];
  expect_error<GradientError>([&] { tape.gradient(y, a); }, "expected 2 gradients, not 1");
}

TEST(GradientsTest, DependentYs) {
  const Tensor x = constant(3.0, float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor z = pow(y, 4);
  expect_values(tape.gradient({y, z}, x), {17502}, 1e-12);
}

TEST(GradientsTest, PartialDerivatives) {
  const Tensor x = constant(1.0);
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = 2 * x, z = x + y;
    const auto g = tape.gradient(z, {x, y});
    expect_values(g[0], {3});
    expect_values(g[1], {1});
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor y = stop_gradient(2 * x);
  tape.watch(y);
  const Tensor z = x + y;
  const auto g = tape.gradient(z, {x, y});
  expect_values(g[0], {1});
  expect_values(g[1], {1});
}

TEST(GradientsTest, UnconnectedGradientsNone) {
  const Tensor x = constant(1.0), y = constant(3.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = y * 2;
  expect_missing(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients::kNone}));
}

TEST(GradientsTest, UnconnectedGradientsZeros) {
  const Tensor x = constant(1.0), y = constant(3.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = y * 2;
  expect_values(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients::kZero}), {0});
}

// The rows of the second derivative of f at x.
std::vector<double> hessian_elements(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = f(x);
  const Tensor g = inner.gradient(y, x);
  outer.stop();
  std::vector<double> rows;
  for (std::int64_t i = 0; i < g.size(); ++i) {
    const Tensor weight = reshape(one_hot(constant(static_cast<int>(i)), g.size(), 1, 0, -1, x.dtype()), g.shape());
    const Tensor row = outer.gradient(g, x, {.output_gradients = {weight}});
    for (const double element : row.to_vector<double>()) rows.push_back(element);
  }
  return rows;
}

TEST(HessianTest, Hessian1D) {
  const Tensor a = constant({{1, 2, 3}, {4, 5, 6}, {7, 8, 10}}, float64);
  const Tensor x = constant({0.5, -1, 2}, float64);
  const std::vector<double> want = (a + transpose(a)).to_vector<double>();
  const auto got = hessian_elements([&](const Tensor& at) { return reduce_sum(at * matvec(a, at)); }, x);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12);
}

TEST(HessianTest, Hessian2D) {
  const Tensor x = constant({{0.5, -1}, {2, 3}}, float64);
  const auto got = hessian_elements([](const Tensor& at) { return reduce_sum(at * at) / 2; }, x);
  const std::vector<double> want = eye(4, 4, float64).to_vector<double>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12);
}

TEST(HessianTest, HessianVectorProduct) {
  const Tensor a = constant({{1, 2}, {4, 5}}, float64), x = constant({0.5, -1}, float64), v = constant({3, 7}, float64);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = reduce_sum(x * matvec(a, x));
  const Tensor g = inner.gradient(y, x);
  const Tensor product = outer.gradient(g, x, {.output_gradients = {v}});
  expect_values(product, matvec(a + transpose(a), v).to_vector<double>(), 1e-12);
}

TEST(IndexedSlicesToTensorTest, IndexedSlicesToTensor) {
  for (const DType dtype : {int32, int64}) {
    const Tensor x = zeros({4, 2});
    GradientTape tape;
    tape.watch(x);
    const Tensor rows = constant({{1, 2}, {3, 4}, {5, 6}}, float32);
    const Tensor y = gather(x, cast(constant({3, 1, 3}), dtype)) * rows;
    const Tensor g = tape.gradient(y, x);
    ASSERT_TRUE(g.is_row_sparse());
    EXPECT_EQ(g.indices().dtype(), dtype);
    expect_values(g.to_dense(), {0, 0, 3, 4, 0, 0, 6, 8});
  }
}

TEST(GradientCorrectnessTest, Identity) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  expect_values(tape.gradient(x, x), {1});
}

TEST(GradientCorrectnessTest, IntegerIdentityGradient) {
  const Tensor x = constant(3);
  GradientTape tape;
  tape.watch(x);
  const Tensor g = tape.gradient(x, x);
  EXPECT_EQ(g.dtype(), int32);
  expect_values(g, {1});
}

TEST(GradientCorrectnessTest, GradientWithIntegerPath) {
  const Tensor x = constant({3.9, 4.1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * cast(cast(x, int32), float32);
  expect_values(tape.gradient(y, x), {3, 4});
}

TEST(GradientCorrectnessTest, NoIntegerGradient) {
  // Six ways through integers; none of them carries a gradient.
  const Tensor x = constant({3.9, 4.1});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor k = cast(cast(x, int32), float32);
  const Tensor y1 = k * k;
  const Tensor y2 = k * constant({3.9, 4.1});
  const Tensor integers = cast(x, int32);
  const Tensor y3 = integers * integers;
  const Tensor y4 = reduce_sum(integers);
  const Tensor y5 = cast(y3, float32);
  for (const Tensor& y : {y1, y2, integers, y3, y4, y5}) expect_missing(tape.gradient(y, x));
  const Tensor source = constant({3, 4});
  tape.watch(source);
  const Tensor y6 = cast(source, float32) * 2;
  expect_missing(tape.gradient(y6, source));
}

TEST(GradientCorrectnessTest, MultipleOutputChainedGradients) {
  const Tensor x = constant(1.0, float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = exp(x), z = log(y);
  expect_values(tape.gradient({y, z}, x), {std::exp(1.0) + 1}, 1e-12);
}

TEST(RecordTest, MultiOutput) {
  const Tensor x = constant({{1.0, 2.0, 3.0, 4.0}});
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> parts = split(x, 2, 1);
  const Tensor y = reduce_sum(parts[0] * 2) + reduce_sum(parts[1] * parts[0]);
  expect_values(tape.gradient(y, x), {5, 6, 1, 2});
}

TEST(RecordTest, TapeGradientOfMatmulAndSum) {
  const Tensor a = constant({{1, 2}, {3, 4}}, float32), b = constant({{5, 6}, {7, 8}}, float32);
  GradientTape tape;
  tape.watch(a);
  const Tensor y = reduce_sum(matmul(a, b));
  expect_values(tape.gradient(y, a), matmul(ones({2, 2}), b, {.transpose_b = true}).to_vector<double>());
}

TEST(RecordTest, SparseCrossEntropyOfOneClass) {
  const Tensor logits = constant({{1.5}, {-2.0}});
  GradientTape tape;
  tape.watch(logits);
  const Tensor loss = sparse_softmax_cross_entropy_with_logits(constant({0, 0}), logits);
  expect_values(tape.gradient(loss, logits), {0, 0});
}

TEST(VariableWatcherTest, OrderNestingAndTrainable) {
  const Variable v0(1.0), v1(2.0), frozen(3.0, {.trainable = false});
  GradientTape outer;
  v1.assign_add(1.0);
  {
    GradientTape inner;
    v0.read_value();
    frozen.read_value();
    ASSERT_EQ(inner.watched_variables().size(), 1u);
    EXPECT_TRUE(inner.watched_variables()[0] == v0);
  }
  const std::vector<Variable> watched = outer.watched_variables();
  ASSERT_EQ(watched.size(), 2u);
  EXPECT_TRUE(watched[0] == v0);
  EXPECT_TRUE(watched[1] == v1);
}

}  // namespace
}  // namespace capstan::testing
