// Random graphs: the roads to a gradient agree. A tape for one use runs fused loops over raw
// memory; under an outer tape the same rules run as ops; a persistent tape keeps everything; and
// differences know nothing of tapes.
#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/testing.h"
#include "tests/support/random.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

Tensor draw(Random& random, const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(shape.size()));
  for (double& number : numbers) number = random.uniform(-1, 1);
  return constant(numbers, shape);
}

// A scalar made of the inputs (all [3, 2]) by `steps` ops drawn at random; the same for the same
// seed. With `stops` some of the ops hide an operand, so that differences are something else than
// gradients.
Tensor graph(std::uint64_t seed, int steps, const std::vector<Tensor>& inputs, bool stops = true) {
  Random random(seed);
  std::vector<Tensor> pool = inputs;
  const auto any = [&]() -> const Tensor& {
    return pool[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(pool.size()) - 1))];
  };
  const Tensor rows = constant({2, 0, 2});
  for (int i = 0; i < steps; ++i) {
    const Tensor &a = any(), &b = any();
    Tensor next;
    switch (random.integer(0, 12)) {
      case 0:
        next = a + b;
        break;
      case 1:
        next = a * b;
        break;
      case 2:
        next = a - 2 * b;
        break;
      case 3:
        next = tanh(a);
        break;
      case 4:
        next = sin(a) + exp(b * 0.1);
        break;
      case 5:
        next = gather(a, rows);
        break;
      case 6:
        next = -gather(identity(a), rows) + b;
        break;
      case 7:
        next = split(concat({a, b}, 0), 2)[static_cast<std::size_t>(random.integer(0, 1))];
        break;
      case 8:
        next = a / (2 + square(b));
        break;
      case 9:
        next = a + (stops ? stop_gradient(b) : b) * reduce_mean(a, 0, {.keepdims = true});
        break;
      case 10:
        next = matmul(a, matmul(b, a, {.transpose_a = true})) * 0.2;
        break;
      case 11:
        next = gather(concat({a, b}, 0), constant({5, 1, 4}));
        break;
      default:
        next = concat({a(slice(), slice(0, 1)), b(slice(), slice(1))}, 1);
        break;
    }
    pool.push_back(next);
  }
  Tensor sum = reduce_sum(pool.back());
  for (int i = 0; i < 3; ++i) sum = sum + reduce_sum(any() * any());
  return sum;
}

// A missing gradient as zeros.
std::vector<double> numbers_of(const Tensor& gradient, const Tensor& source) {
  return (gradient.has_value() ? gradient.to_dense() : zeros_like(source)).to_vector<double>();
}

TEST(RandomGraphs, AllRoadsAgree) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 1000);
    const std::vector<Tensor> inputs = {draw(random, {3, 2}), draw(random, {3, 2}), draw(random, {3, 2})};
    const int steps = static_cast<int>(random.integer(1, 25));
    GradientTape single;
    single.watch(inputs);
    const std::vector<Tensor> a = single.gradient(graph(seed, steps, inputs), inputs);

    GradientTape persistent({.persistent = true});
    persistent.watch(inputs);
    const Tensor y = graph(seed, steps, inputs);
    persistent.stop();
    const std::vector<Tensor> b = persistent.gradient(y, inputs);

    GradientTape outer;
    outer.watch(inputs);
    GradientTape inner;
    inner.watch(inputs);
    const std::vector<Tensor> c = inner.gradient(graph(seed, steps, inputs), inputs);
    outer.stop();

    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(a[i].has_value(), b[i].has_value());
      EXPECT_EQ(a[i].has_value(), c[i].has_value());
      const std::vector<double> want = numbers_of(a[i], inputs[i]);
      EXPECT_EQ(want, numbers_of(b[i], inputs[i]));
      const std::vector<double> by_ops = numbers_of(c[i], inputs[i]);
      for (std::size_t k = 0; k < want.size(); ++k) {
        EXPECT_NEAR(by_ops[k], want[k], 1e-11 * std::max(1.0, std::abs(want[k])));
      }
      // One source alone gets what it gets among others.
      EXPECT_EQ(want, numbers_of(persistent.gradient(y, inputs[i]), inputs[i]));
    }
  }
}

TEST(RandomGraphs, DifferencesAgreeToSecondOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 1000);
    const std::vector<Tensor> inputs = {draw(random, {3, 2}), draw(random, {3, 2})};
    EXPECT_NO_THROW(check_gradients([&](const std::vector<Tensor>& x) { return graph(seed, 8, x, false); }, inputs,
                                    {.order = 2, .directions = 3}));
  }
}

}  // namespace
}  // namespace capstan::testing
