// What is special to the special functions: gradients of parameters, and gradients that are missing on purpose.
#include "capstan/ops/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "src/kernels/special/special_math.h"

namespace capstan {
namespace {

TEST(Igamma, HasAGradientForItsParameter) {
  for (const auto& [a, x] : {std::pair(0.3, 0.1), std::pair(2.0, 1.5), std::pair(2.0, 7.0), std::pair(50.0, 60.0)}) {
    const Tensor parameter = constant(a, float64);
    GradientTape tape(GradientTapeOptions{.persistent = true});
    tape.watch(parameter);
    const Tensor lower = igamma(parameter, x);
    const Tensor upper = igammac(parameter, x);
    const double h = 1e-4 * a;
    const double slope = (8 * (special::igamma(a + h, x) - special::igamma(a - h, x)) -
                          (special::igamma(a + 2 * h, x) - special::igamma(a - 2 * h, x))) /
                         (12 * h);
    EXPECT_NEAR(tape.gradient(lower, parameter).item<double>() / slope, 1, 1e-8) << a;
    EXPECT_NEAR(tape.gradient(upper, parameter).item<double>() / slope, -1, 1e-8) << a;
  }
}

TEST(Igamma, HasMixedSecondDerivatives) {
  const Tensor a = constant(2.5, float64);
  const Tensor x = constant(1.75, float64);
  const auto slope_for_x = [](double a_value) {
    return std::exp((a_value - 1) * std::log(1.75) - 1.75 - special::lgamma(a_value));
  };
  const double mixed = (slope_for_x(2.5 + 1e-5) - slope_for_x(2.5 - 1e-5)) / 2e-5;
  for (const bool x_first : {true, false}) {
    GradientTape outer;
    outer.watch(std::vector<Tensor>{a, x});
    GradientTape inner;
    inner.watch(std::vector<Tensor>{a, x});
    const Tensor y = igamma(a, x);
    const Tensor first = inner.gradient(y, x_first ? x : a);
    EXPECT_NEAR(outer.gradient(first, x_first ? a : x).item<double>(), mixed, 1e-8);
  }
}

TEST(SpecialFunctions, LeaveOutGradientsThatDoNotExist) {
  const Tensor a = constant(2.0);
  const Tensor b = constant(3.0);
  const Tensor x = constant(0.5);
  GradientTape tape(GradientTapeOptions{.persistent = true});
  tape.watch(std::vector<Tensor>{a, b, x});
  const Tensor derivative = polygamma(a, b);
  EXPECT_FALSE(tape.gradient(derivative, a).has_value());
  EXPECT_TRUE(tape.gradient(derivative, b).has_value());
  const Tensor sum = zeta(a, b);
  EXPECT_FALSE(tape.gradient(sum, a).has_value());
  EXPECT_TRUE(tape.gradient(sum, b).has_value());
  const Tensor part = betainc(a, b, x);
  EXPECT_FALSE(tape.gradient(part, a).has_value());
  EXPECT_FALSE(tape.gradient(part, b).has_value());
  EXPECT_NEAR(tape.gradient(part, x).item<float>(), 12 * 0.5 * 0.25, 1e-6);
}

TEST(SpecialFunctions, TakeNumbersInAnyPlace) {
  const Tensor x = constant({0.25, 0.5}, float64);
  EXPECT_EQ(polygamma(1, x).dtype(), float64);
  EXPECT_EQ(zeta(2.0, x).dtype(), float64);
  EXPECT_EQ(betainc(2.0, 3.0, x).dtype(), float64);
  EXPECT_EQ(igamma(2.0, x).dtype(), float64);
  EXPECT_EQ(igamma_grad_a(2.0, x).dtype(), float64);
}

TEST(CtcLoss, OfASequenceThatIsTooShortIsInfinite) {
  const Tensor logits = constant({{{0.5, 1.0, -1.0}, {0.0, 0.25, 1.0}}});
  GradientTape tape;
  tape.watch(logits);
  const Tensor loss = ctc_loss(constant({{1, 1}}), logits, constant({2}), constant({2}), {.logits_time_major = false});
  EXPECT_EQ(loss.to_vector<double>()[0], INFINITY);
  EXPECT_TRUE(equal_tensors(tape.gradient(loss, logits), zeros_like(logits)));
}

TEST(CtcLoss, OfManySequencesIsThatOfEach) {
  const std::int64_t batch = 40;
  std::vector<float> values;
  for (std::int64_t i = 0; i < batch * 6 * 5; ++i) values.push_back(static_cast<float>(std::sin(1.7 * i)));
  const Tensor logits = reshape(constant(values), {batch, 6, 5});
  const Tensor labels = broadcast_to(constant({{1, 4, 4}}), {batch, 3});
  const Tensor lengths = broadcast_to(constant({3}), {batch});
  const Tensor frames = broadcast_to(constant({6}), {batch});
  const CtcLoss together = ctc_loss_and_gradient(labels, logits, lengths, frames);
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{17}, batch - 1}) {
    const auto one = [&](const Tensor& x) {
      Shape begin;
      Shape size;
      for (int axis = 0; axis < x.rank(); ++axis) {
        begin.push_back(axis == 0 ? i : 0);
        size.push_back(axis == 0 ? 1 : x.dim(axis));
      }
      return slice(x, begin, size);
    };
    const CtcLoss alone = ctc_loss_and_gradient(one(labels), one(logits), one(lengths), one(frames));
    EXPECT_TRUE(equal_tensors(one(together.loss), alone.loss));
    EXPECT_TRUE(equal_tensors(one(together.gradient), alone.gradient));
  }
}

}  // namespace
}  // namespace capstan
