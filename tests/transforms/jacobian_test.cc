#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/transforms/control_cases.h"

namespace capstan {
namespace {

using testing::message_of;
using testing::numbers;

using Numbers = std::vector<double>;

TEST(Jacobian, OfAProduct) {
  for (const bool pfor : {true, false}) {
    for (const bool inside : {false, true}) {
      const auto both = [&](const Tensor& x, const Tensor& y) {
        GradientTape tape({.persistent = true});
        tape.watch(std::tie(x, y));
        const Tensor z = x * x * y;
        return tape.jacobian(z, std::tie(x, y), {.experimental_use_pfor = pfor});
      };
      const Tensor x = constant({1.0, 2.0}, float64);
      const Tensor y = constant({3.0, 4.0}, float64);
      const auto [by_x, by_y] = inside ? function(both)(x, y) : both(x, y);
      EXPECT_EQ(by_x.shape(), (Shape{2, 2}));
      EXPECT_EQ(numbers(by_x), (Numbers{6, 0, 0, 16}));
      EXPECT_EQ(numbers(by_y), (Numbers{1, 0, 0, 4}));
    }
  }
}

TEST(Jacobian, HasTheShapesOfTargetAndSource) {
  const Variable w(linspace(constant(0.1, float64), constant(0.7, float64), 6)(slice()));
  GradientTape tape;
  const Tensor x = reshape(w.value() * 1.0, {2, 3});
  const Tensor y = matmul(x, x, {.transpose_b = true});
  const Tensor j = tape.jacobian(y, w);
  EXPECT_EQ(j.shape(), (Shape{2, 2, 6}));
  const std::vector<double> v = numbers(w.value());
  // y[0][1] = sum of v[k] v[k + 3].
  const std::vector<double> row = numbers(j(0, 1));
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(row[k], v[k + 3], 1e-15);
    EXPECT_NEAR(row[k + 3], v[k], 1e-15);
  }
}

TEST(Jacobian, OfAScalarIsTheGradientAndOfAScalarSourceHasTheShapeOfTheTarget) {
  const Tensor x = constant({1.0, 2.0, 3.0}, float64);
  const Tensor s = constant(2.0, float64);
  GradientTape tape({.persistent = true});
  tape.watch(std::tie(x, s));
  EXPECT_EQ(numbers(tape.jacobian(reduce_sum(x * x), x)), (Numbers{2, 4, 6}));
  const Tensor j = tape.jacobian(x * s, s);
  EXPECT_EQ(j.shape(), (Shape{3}));
  EXPECT_EQ(numbers(j), (Numbers{1, 2, 3}));
}

TEST(Jacobian, ReadsAVariableThatIsTheTarget) {
  const Variable v(constant({{2.0, 3.0}}));
  GradientTape tape({.persistent = true});
  EXPECT_EQ(tape.jacobian(v, v).to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(tape.batch_jacobian(v, v).to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  GradientTape other({.persistent = true, .watch_accessed_variables = false});
  EXPECT_FALSE(other.jacobian(v, v).has_value());
  EXPECT_EQ(other.batch_jacobian(v, v).to_vector<float>(), (std::vector<float>(4)));
}

TEST(Jacobian, TakesStructuresOfTargets) {
  const Tensor x = constant({1.0, 2.0}, float64);
  GradientTape tape;
  tape.watch(x);
  const std::map<std::string, Tensor> targets = {{"cube", x * x * x}, {"square", x * x}};
  const auto jacobians = tape.jacobian(targets, std::tuple(x));
  EXPECT_EQ(numbers(std::get<0>(jacobians.at("cube"))), (Numbers{3, 0, 0, 12}));
  EXPECT_EQ(numbers(std::get<0>(jacobians.at("square"))), (Numbers{2, 0, 0, 4}));
  EXPECT_THROW(tape.jacobian(x, x), GradientError);
}

TEST(Jacobian, InBlocksIsTheSame) {
  const Tensor x = reshape(linspace(constant(-1.0, float64), constant(1.0, float64), 12)(slice()), {4, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tanh(matmul(x, x, {.transpose_b = true}));
  const std::vector<double> all = numbers(tape.jacobian(y, x));
  EXPECT_EQ(numbers(tape.jacobian(y, x, {.parallel_iterations = 2})), all);
  EXPECT_EQ(numbers(tape.jacobian(y, x, {.parallel_iterations = 3})), all);
  EXPECT_EQ(numbers(tape.jacobian(y, x, {.parallel_iterations = 100})), all);
  EXPECT_EQ(numbers(tape.jacobian(y, x, {.memory_budget = 0})), all);
  EXPECT_NE(message_of([&] { tape.jacobian(y, x, {.parallel_iterations = 1}); }).find("parallel_iterations is 1"),
            std::string::npos);
}

TEST(Jacobian, MissingOnesAreEmptyOrZeros) {
  const Tensor x = constant({1.0, 2.0}, float64);
  const Tensor other = constant({{1.0}, {2.0}}, float64);
  GradientTape tape({.persistent = true});
  tape.watch(std::tie(x, other));
  const Tensor y = x * x;
  EXPECT_FALSE(tape.jacobian(y, other).has_value());
  const Tensor zero = tape.jacobian(y, other, {.unconnected_gradients = UnconnectedGradients::kZero});
  EXPECT_EQ(zero.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(numbers(zero), (Numbers{0, 0, 0, 0}));
  // The identity for what the tape knows, nothing for what it never saw.
  EXPECT_EQ(numbers(tape.jacobian(x, x)), (Numbers{1, 0, 0, 1}));
  const Tensor unseen = constant({1.0, 2.0}, float64);
  EXPECT_FALSE(tape.jacobian(unseen, unseen).has_value());
  EXPECT_FALSE(tape.jacobian(cast(y, int32), x).has_value());
}

TEST(Jacobian, OfNothingHasNoRows) {
  const Tensor x = zeros({0, 3}, float64);
  const Tensor s = constant(2.0, float64);
  GradientTape tape({.persistent = true});
  tape.watch(std::tie(x, s));
  EXPECT_EQ(tape.jacobian(x * s, s).shape(), (Shape{0, 3}));
  EXPECT_EQ(tape.jacobian(x * s, x).shape(), (Shape{0, 3, 0, 3}));
  EXPECT_EQ(tape.jacobian(reduce_sum(x * s), x).shape(), (Shape{0, 3}));
}

TEST(Jacobian, OfAComplexTargetHasTheConjugateOfTheDerivative) {
  const Tensor z = constant({std::complex<double>(1, 2)});
  GradientTape tape;
  tape.watch(z);
  const Tensor j = tape.jacobian(z * z, z);
  EXPECT_EQ(j.shape(), (Shape{1, 1}));
  EXPECT_EQ(j(0, 0).item<std::complex<double>>(), std::complex<double>(2, -4));
}

TEST(Jacobian, ServesTheOneCallOfATapeInItsScope) {
  const Tensor x = constant(3.0, float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor z = x * x * x * x;
  EXPECT_EQ(tape.jacobian(z, x).item<double>(), 108);
  EXPECT_FALSE(tape.is_recording());
  EXPECT_EQ(message_of([&] { tape.jacobian(z, x); }).find("jacobian: this tape was already used"), 0u);
  GradientTape looped;
  looped.watch(x);
  const Tensor y = x * x;
  EXPECT_NE(message_of([&] { looped.jacobian(y, x, {.experimental_use_pfor = false}); }).find(".persistent = true"),
            std::string::npos);
  EXPECT_EQ(looped.gradient(y, x).item<double>(), 6);
}

// Of the gradient, by a tape around it: the second derivatives of sum(x0^2 x1 + sin(x1)).
Tensor hessian_of(const Tensor& x) {
  GradientTape outer;
  outer.watch(x);
  Tensor gradient;
  {
    GradientTape inner;
    inner.watch(x);
    gradient = inner.gradient(x(0) * x(0) * x(1) + sin(x(1)), x);
  }
  return outer.jacobian(gradient, x);
}

TEST(Jacobian, OfAGradientIsTheHessian) {
  const Tensor x = constant({1.5, 0.5}, float64);
  const Numbers expected = {2 * 0.5, 2 * 1.5, 2 * 1.5, -std::sin(0.5)};
  const Tensor outside = hessian_of(x);
  const Tensor inside = function(hessian_of)(x);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(numbers(outside)[i], expected[i], 1e-15);
    EXPECT_NEAR(numbers(inside)[i], expected[i], 1e-15);
  }
}

// The derivative of a jacobian by an outer tape, against the loop over rows.
TEST(Jacobian, IsDifferentiatedAgain) {
  const auto sum_of_squares = [](const Tensor& x, bool pfor) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner({.persistent = true});
    inner.watch(x);
    const Tensor y = tanh(matmul(x, x)) * x;
    const Tensor j = inner.jacobian(y, x, {.experimental_use_pfor = pfor});
    inner.stop();
    return outer.gradient(reduce_sum(j * j), x);
  };
  const Tensor x = constant({{0.1, 0.4}, {-0.3, 0.2}}, float64);
  const std::vector<double> looped = numbers(sum_of_squares(x, false));
  const std::vector<double> batched = numbers(sum_of_squares(x, true));
  const std::vector<double> inside = numbers(function([&](const Tensor& in) { return sum_of_squares(in, true); })(x));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(batched[i], looped[i], 1e-13);
    EXPECT_NEAR(inside[i], looped[i], 1e-13);
  }
}

// The exponent and the base are equal, and only one of them is watched.
TEST(Jacobian, TellsEqualTensorsApart) {
  const Tensor x = constant({2.0}, float64);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor j = inner.jacobian(stack({pow(x(0), 2)}), x);
  EXPECT_EQ(numbers(outer.jacobian(j, x)), (Numbers{2}));
}

TEST(Jacobian, OfAnEmbeddingIsDense) {
  const Variable table(constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, float64));
  for (const bool pfor : {true, false}) {
    GradientTape tape({.persistent = true});
    const Tensor rows = gather(table, constant({0, 2, 0}));
    const Tensor y = reduce_sum(rows * rows, 1);
    const Tensor j = tape.jacobian(y, table, {.experimental_use_pfor = pfor});
    EXPECT_EQ(j.shape(), (Shape{3, 3, 2}));
    EXPECT_EQ(numbers(j), (Numbers{2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 10, 12, 2, 4, 0, 0, 0, 0}));
  }
}

TEST(Jacobian, OfWhatControlFlowComputes) {
  const auto f = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = cond(
        reduce_sum(x) > 0, [&] { return x * x * x; }, [&] { return -x; });
    return tape.jacobian(y, x);
  };
  auto traced = function(f);
  for (const double sign : {1.0, -1.0}) {
    const Tensor x = constant({1.0, 2.0}, float64) * sign;
    EXPECT_EQ(numbers(traced(x)), numbers(f(x)));
  }
}

TEST(Jacobian, OfAFunctionTakesATensorThatStandsTwiceForTwo) {
  const Tensor x = constant({1.0, 2.0}, float64);
  const auto [by_a, by_b] = jacobian([](const Tensor& a, const Tensor& b) { return a * b * b; }, std::pair(x, x));
  EXPECT_EQ(numbers(by_a), (Numbers{1, 0, 0, 4}));
  EXPECT_EQ(numbers(by_b), (Numbers{2, 0, 0, 8}));
  const auto [of_a, of_b] =
      hessian([](const Tensor& a, const Tensor& b) { return reduce_sum(a * a * b); }, std::tie(x, x));
  EXPECT_EQ(numbers(std::get<0>(of_a)), (Numbers{2, 0, 0, 4}));
  EXPECT_EQ(numbers(std::get<1>(of_a)), (Numbers{2, 0, 0, 4}));
  EXPECT_EQ(numbers(std::get<0>(of_b)), (Numbers{2, 0, 0, 4}));
  EXPECT_EQ(numbers(std::get<1>(of_b)), (Numbers{0, 0, 0, 0}));
}

// --- Targets with examples, whose rows can be run on one of them ---

// The jacobian by the sources at once, in blocks, in a function, and row by row.
template <class F>
void expect_that_of_a_loop(const F& f, const std::vector<Tensor>& sources) {
  const auto jacobians = [&](const std::vector<Tensor>& by, const JacobianOptions& options) {
    GradientTape tape({.persistent = true});
    tape.watch(by);
    return tape.jacobian(f(by), by, options);
  };
  const std::vector<Tensor> looped = jacobians(sources, {.experimental_use_pfor = false});
  const std::vector<Tensor> all = jacobians(sources, {});
  const std::vector<Tensor> blocks = jacobians(sources, {.parallel_iterations = 5});
  const std::vector<Tensor> inside =
      function([&](const std::vector<Tensor>& by) { return jacobians(by, {.memory_budget = 500}); })(sources);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const std::vector<double> expected = numbers(looped[k]);
    for (const Tensor& found : {all[k], blocks[k], inside[k]}) {
      ASSERT_EQ(found.shape(), looped[k].shape());
      const std::vector<double> values = numbers(found);
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-13) << k << " at " << i;
    }
  }
}

Tensor some(const Shape& shape, int seed) { return random::stateless_uniform(shape, {seed, 7}, -1, 1, float64); }

TEST(JacobianOfExamples, OfANetworkByItsWeights) {
  const Tensor x = some({6, 4}, 1);
  const auto network = [&](const std::vector<Tensor>& w) {
    const Tensor h = tanh(matmul(x, w[0]) + w[1]);
    const Tensor more = h + sigmoid(matmul(h, w[2]) * w[3]);
    return softmax(matmul(more, w[2], {.transpose_b = true}));
  };
  expect_that_of_a_loop(network, {some({4, 3}, 2), some({3}, 3), some({3, 3}, 4), some({1, 3}, 5)});
}

TEST(JacobianOfExamples, OfLogitsByWeightsAndOfWeightsOnTheLeft) {
  const Tensor x = some({6, 4}, 1);
  expect_that_of_a_loop(
      [&](const std::vector<Tensor>& w) { return matmul(relu(matmul(x, w[0], {.transpose_b = true})), w[1]); },
      {some({5, 4}, 2), some({5, 2}, 3)});
  // The product mixes the examples.
  expect_that_of_a_loop([&](const std::vector<Tensor>& w) { return matmul(w[0], tanh(x)); }, {some({6, 6}, 2)});
}

TEST(JacobianOfExamples, OfImages) {
  const Tensor images = some({3, 6, 6, 1}, 1);
  const auto network = [&](const std::vector<Tensor>& w) {
    const Tensor h = max_pool2d(tanh(conv2d(images, w[0], {1, 1}, "SAME")), {2, 2}, {2, 2}, "VALID");
    return matmul(reshape_like(h, zeros({3, 18}, float64)), w[1]);
  };
  expect_that_of_a_loop(network, {some({3, 3, 1, 2}, 2), some({18, 2}, 3)});
}

TEST(JacobianOfExamples, WhereExamplesMeet) {
  const Tensor x = some({5, 3}, 1);
  expect_that_of_a_loop(
      [&](const std::vector<Tensor>& w) {
        const Tensor h = matmul(x, w[0]);
        return (h - reduce_mean(h, 0)) * w[1];
      },
      {some({3, 3}, 2), some({5, 1}, 3)});
  // By the examples themselves, too, and with as many features as examples.
  expect_that_of_a_loop([](const std::vector<Tensor>& w) { return tanh(matmul(w[0], w[1])); },
                        {some({4, 4}, 2), some({4, 4}, 3)});
  expect_that_of_a_loop([&](const std::vector<Tensor>& w) { return x * w[0] + transpose(w[1]); },
                        {some({3}, 2), some({3, 5}, 3)});
}

TEST(JacobianOfExamples, LeavesInfinityOfOthersWhereItIs) {
  const Tensor x = constant({{1.0}, {std::numeric_limits<double>::infinity()}}, float64);
  const Tensor w = constant({{2.0}}, float64);
  GradientTape tape;
  tape.watch(w);
  const std::vector<double> j = numbers(tape.jacobian(matmul(x, w), w));
  EXPECT_EQ(j, (Numbers{1, std::numeric_limits<double>::infinity()}));
}

TEST(BatchJacobian, IsThatOfEachExample) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}}, float64);
  const auto f = [](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.batch_jacobian(in * in, in);
  };
  EXPECT_EQ(f(x).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(numbers(f(x)), (Numbers{2, 0, 0, 4, 6, 0, 0, 8}));
  EXPECT_EQ(numbers(function(f)(x)), (Numbers{2, 0, 0, 4, 6, 0, 0, 8}));
}

TEST(BatchJacobian, SumsOverTheExamplesIfTheyDependOnEachOther) {
  const Tensor x = constant({{1.0}, {2.0}, {3.0}}, float64);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * reduce_sum(x);
  EXPECT_EQ(numbers(tape.batch_jacobian(y, x)), (Numbers{12, 12, 12}));
  EXPECT_EQ(numbers(tape.batch_jacobian(y, x, {.experimental_use_pfor = false})), (Numbers{12, 12, 12}));
}

TEST(BatchJacobian, RefusesWhatHasNoExamplesAndKnowsEmptyOnes) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}}, float64);
  const Tensor v = constant({1.0, 2.0}, float64);
  const Tensor empty = zeros({1, 0}, float64);
  GradientTape tape({.persistent = true});
  tape.watch(std::tie(x, v, empty));
  EXPECT_NE(message_of([&] { tape.batch_jacobian(v * v, x); }).find("need rank 2 or more, not 1 and 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { tape.batch_jacobian(concat({x, x}, 0), x); }).find("differ, 4 and 2"), std::string::npos);
  EXPECT_EQ(tape.batch_jacobian(empty * 2.0, empty).shape(), (Shape{1, 0, 0}));
  const Tensor zero = tape.batch_jacobian(x * x, constant({{1.0f}, {2.0f}}));
  EXPECT_EQ(zero.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(zero.dtype(), float64);
}

}  // namespace
}  // namespace capstan
