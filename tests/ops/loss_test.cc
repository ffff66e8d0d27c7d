#include <gtest/gtest.h>

#include <vector>

#include "capstan/error.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

void expect_near(const Tensor& x, const std::vector<double>& want) {
  const std::vector<double> values = x.to_vector<double>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-12) << "element " << i;
}

TEST(SoftmaxCrossEntropy, GivesLogitsSoftmaxMinusLabelsWhateverTheLabelsSumTo) {
  GradientTape tape;
  const Tensor labels = constant({{0.5, 0.0, 2.0}}, float64);
  const Tensor logits = constant({{1.0, -1.0, 0.5}}, float64);
  tape.watch(logits);
  const Tensor gradient = tape.gradient(softmax_cross_entropy_with_logits(labels, logits), logits);
  expect_near(gradient, (softmax(logits) - labels).to_vector<double>());
}

TEST(SoftmaxCrossEntropy, GivesLabelsMinusLogSoftmax) {
  GradientTape tape;
  const Tensor labels = constant({{0.25, 0.75, 0.0}}, float64);
  const Tensor logits = constant({{1.0, -1.0, 0.5}}, float64);
  tape.watch(labels);
  const Tensor gradient = tape.gradient(softmax_cross_entropy_with_logits(labels, logits), labels);
  expect_near(gradient, (-log_softmax(logits)).to_vector<double>());
}

// The derivative of softmax - labels in a direction of the logits, through the op's second result.
TEST(SoftmaxCrossEntropy, HasSecondDerivatives) {
  const Tensor labels = constant({{0.25, 0.75, 0.0}}, float64);
  const Tensor logits = constant({{1.0, -1.0, 0.5}}, float64);
  const Tensor direction = constant({{0.3, -0.2, 0.9}}, float64);
  GradientTape outer;
  outer.watch(logits);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(logits);
    first = inner.gradient(softmax_cross_entropy_with_logits(labels, logits), logits);
  }
  const Tensor second = outer.gradient(reduce_sum(first * direction), logits);
  const Tensor p = softmax(logits);
  expect_near(second, ((direction - reduce_sum(direction * p)) * p).to_vector<double>());
}

TEST(SparseSoftmaxCrossEntropy, RefusesLabelsThatAreNoClasses) {
  EXPECT_THROW(sparse_softmax_cross_entropy_with_logits(constant({3}), constant({{1.0, 2.0, 3.0}})), IndexError);
  EXPECT_THROW(sparse_softmax_cross_entropy_with_logits(constant({-1}), constant({{1.0, 2.0, 3.0}})), IndexError);
}

TEST(SigmoidCrossEntropy, HasTheGradientSigmoidMinusLabelAtZero) {
  GradientTape tape;
  const Tensor logits = constant({0.0}, float64);
  tape.watch(logits);
  const Tensor loss = sigmoid_cross_entropy_with_logits(constant({1.0}, float64), logits);
  expect_near(tape.gradient(loss, logits), {-0.5});
}

}  // namespace
}  // namespace capstan
