// What a tape is told to watch: tensors that other tapes have recorded, row-sparse tensors.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "capstan/capstan.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

Tensor x64(double value) { return constant(value, float64); }

// --- Results of other tapes ---

TEST(WatchedResult, OfAnOuterTapeIsASource) {
  const Tensor x = x64(3);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner({.persistent = true});
  const Tensor y = x * x;  // recorded by the outer tape, with a number that is one of the inner tape's as well
  inner.watch(y);
  const Tensor z = 2 * y * y;
  expect_values(inner.gradient(z, y), {36});
  EXPECT_EQ(inner.explain(z, y), "connected");
  expect_values(outer.gradient(z, x), {216});
  EXPECT_FALSE(inner.gradient(z, x).has_value());
}

TEST(WatchedResult, CarriesSecondDerivatives) {
  const Tensor x = x64(3);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  const Tensor y = x * x;
  inner.watch(y);
  const Tensor g = inner.gradient(y * y * y, y);  // 3 y^2 = 3 x^4
  expect_values(g, {243});
  expect_values(outer.gradient(g, x), {324});
}

TEST(WatchedResult, MayBeOfASiblingOrAStoppedTape) {
  const Tensor x = x64(3);
  GradientTape first({.persistent = true});
  first.watch(x);
  GradientTape second({.persistent = true});
  const Tensor y = x * x;
  first.stop();
  second.watch(y);
  expect_values(second.gradient(y * 5, y), {5});
  expect_values(first.gradient(y, x), {6});
}

TEST(WatchedResult, MayBeACopyAPartOrWithoutAGradient) {
  const Tensor x = constant({3.0, 4.0}, float64);
  const std::function<Tensor(const Tensor&)> ways[] = {
      [](const Tensor& a) { return identity(a); }, [](const Tensor& a) { return floor(a); },
      [](const Tensor& a) { return stop_gradient(a * a); }, [](const Tensor& a) { return split(a * a, 2)[1]; }};
  for (const auto& way : ways) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    const Tensor y = way(x);
    inner.watch(y);
    const Tensor g = inner.gradient(reduce_sum(y * 3), y);
    ASSERT_TRUE(g.has_value());
    EXPECT_EQ(g.shape(), y.shape());
    expect_values(g, std::vector<double>(static_cast<std::size_t>(y.size()), 3));
  }
}

TEST(WatchedResult, IsRightInFunctionsToo) {
  auto f = function([](const Tensor& x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    const Tensor y = x * x;
    inner.watch(y);
    const Tensor g = inner.gradient(y * y * y, y);
    return outer.gradient(g, x);
  });
  expect_values(f(x64(3)), {324});
}

TEST(WatchedResult, OfAModelThatATrainingTapeRecords) {  // as class activation maps want it
  Variable w(2.0, {.dtype = float64});
  GradientTape training({.persistent = true});
  GradientTape inner({.watch_accessed_variables = false});
  const Tensor activation = w * x64(3);
  inner.watch(activation);
  const Tensor score = activation * activation;
  expect_values(inner.gradient(score, activation), {12});
  expect_values(training.gradient(score, w), {36});
}

TEST(WatchedResult, IsConnectedOnlyToWhatIsComputedLater) {
  const Tensor y = constant({1.0, 2.0});
  const Variable v(constant({3.0, 4.0}));
  GradientTape outer({.persistent = true, .watch_accessed_variables = false});
  outer.watch(y);
  Tensor square, before;
  {
    const GradientTape inner;  // it is why the outer tape records what does not depend on y
    square = v * v;
    before = square * 5.0;
  }
  outer.watch(square);
  const Tensor after = square * 7.0;
  EXPECT_FALSE(outer.gradient(before, square).has_value());
  EXPECT_EQ(outer.gradient(after, square).to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(outer.gradient({before, after * y}, square).to_vector<float>(), (std::vector<float>{7, 14}));
}

TEST(WatchedResult, KeepsItsOwnRecordOnATapeThatMadeIt) {
  const Tensor x = x64(3);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  tape.watch(y);
  const Tensor z = y * y;
  expect_values(tape.gradient(z, x), {108});
  expect_values(tape.gradient(z, y), {18});
}

// --- Row-sparse tensors ---

const Tensor kRows = constant({2, 0, 2});

Tensor loss(const Tensor& a) { return reduce_sum(pow(gather(a, kRows), 3)); }

// 3 x^2 and 6 x, each times how often a row is read.
std::vector<double> first(const std::vector<double>& x) { return {3 * x[0] * x[0], 0, 6 * x[2] * x[2], 0}; }
std::vector<double> second(const std::vector<double>& x) {
  std::vector<double> all(16);
  all[0] = 6 * x[0];
  all[10] = 12 * x[2];
  return all;
}
const std::vector<double> kX = {1.5, 2, 3, 4};

TEST(RowSparseTarget, HasGradientsAndJacobians) {
  const Tensor x = constant(kX);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor l = loss(x);
  const Tensor g = inner.gradient(l, x);
  ASSERT_TRUE(g.is_row_sparse());
  expect_values(g, first(kX));
  expect_values(outer.gradient(g, x), {9, 0, 36, 0});
  expect_values(outer.jacobian(g, x), second(kX));
  expect_values(outer.jacobian(g, x, {.experimental_use_pfor = false}), second(kX));
  EXPECT_EQ(outer.explain(g, x), "connected");
  expect_values(outer.gradient(g, x, {.output_gradients = {constant({1.0, 2.0, 3.0, 4.0}, float64)}}), {9, 0, 108, 0});
  const Tensor weights[] = {constant({1.0, 2.0, 3.0, 4.0}, float64), Tensor()};
  expect_values(outer.gradient({g, l}, x, {.output_gradients = {weights[0], weights[1]}}),
                {9 + 6.75, 0, 108 + 54.0, 0});
}

TEST(RowSparseTarget, OfATransform) {
  const Tensor x = constant(kX);
  expect_values(hessian(loss, x), second(kX));
  auto traced = function([](const Tensor& a) { return hessian(loss, a); });
  expect_values(traced(x), second(kX));
  expect_values(hvp(loss, x, ones({4}, float64)), {9, 0, 36, 0});
  const auto gradient = [](const Tensor& a) {
    GradientTape tape;
    tape.watch(a);
    return tape.gradient(loss(a), a);
  };
  const auto [value, pullback] = vjp(gradient, x);
  expect_values(value, first(kX));
  expect_values(pullback(ones({4}, float64)), {9, 0, 36, 0});
  expect_values(vectorized_map([](const Tensor& a) { return hessian(loss, a); }, reshape(x, {1, 4})), second(kX));
}

TEST(RowSparseTarget, OfABatch) {
  const Tensor x = reshape(constant({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float64), {3, 2});
  const auto f = [](const Tensor& a) {
    GradientTape outer;
    outer.watch(a);
    GradientTape inner;
    inner.watch(a);
    const Tensor g = inner.gradient(reduce_sum(pow(gather(a, kRows), 3)), a);
    return outer.batch_jacobian(g, a);
  };
  const std::vector<double> expected = {6, 0, 0, 12, 0, 0, 0, 0, 60, 0, 0, 72};
  expect_values(f(x), expected);
  expect_values(function(f)(x), expected);
}

TEST(RowSparseTarget, OfVariablesInAStructure) {
  Variable table(constant(kX));
  Variable scale(x64(2));
  GradientTape outer;
  GradientTape inner;
  const Tensor l = reduce_sum(pow(gather(table, kRows), 3)) * scale;
  const auto g = inner.gradient(l, std::pair(table, scale));
  ASSERT_TRUE(g.first.is_row_sparse());
  const auto h = outer.jacobian(std::vector<Tensor>{g.first, g.second}, std::pair(table, scale));
  std::vector<double> twice = second(kX);
  for (double& number : twice) number *= 2;
  expect_values(h[0].first, twice);
  expect_values(h[0].second, first(kX));
  expect_values(h[1].first, first(kX));
}

TEST(RowSparseSource, CanBeWatched) {
  const Tensor x = constant(kX);
  GradientTape inner;
  inner.watch(x);
  const Tensor g = inner.gradient(loss(x), x);
  GradientTape tape({.persistent = true});
  tape.watch(g);
  const Tensor z = reduce_sum(g * g) + reduce_sum(g);
  std::vector<double> expected = first(kX);
  for (double& number : expected) number = 2 * number + 1;
  expect_values(tape.gradient(z, g), expected);
  EXPECT_EQ(tape.explain(z, g), "connected");
  expect_values(tape.gradient(g, g), {1, 1, 1, 1});
}

TEST(RowSparseSource, HasASecondDerivativeAndATangent) {
  const Tensor x = constant(kX);
  GradientTape inner;
  inner.watch(x);
  const Tensor g = inner.gradient(loss(x), x);
  GradientTape outer;
  outer.watch(g);
  GradientTape tape;
  tape.watch(g);
  const Tensor first_order = tape.gradient(reduce_sum(g * g * g), g);
  std::vector<double> expected = first(kX);
  for (double& number : expected) number *= 6;
  expect_values(outer.gradient(first_order, g), expected);
  const ForwardAccumulator accumulator(g, ones({4}, float64));
  for (double& number : expected) number /= 3;
  expect_values(accumulator.jvp(g * g), expected);
}

}  // namespace
}  // namespace capstan::testing
