#include <gtest/gtest.h>

#include <vector>

#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

double largest(const Tensor& x) { return reduce_max(abs(x)).item<double>(); }

// The fused op against the same computation in small ops.
TEST(BatchNormTraining, AgreesWithMomentsInValueAndGradients) {
  const Tensor x = random::normal({5, 4, 3}, 1, 2, float64, 1);
  const Tensor scale = random::normal({3}, 0, 1, float64, 2);
  const Tensor offset = random::normal({3}, 0, 1, float64, 3);
  const Tensor weights = random::normal({5, 4, 3}, 0, 1, float64, 4);
  const std::vector<Tensor> sources = {x, scale, offset};
  GradientTape tape({.persistent = true});
  tape.watch(sources);
  const BatchNormResult fused = batch_norm_training(x, scale, offset, 0.01);
  const Moments m = moments(x, {0, 1});
  const Tensor plain = batch_normalization(x, m.mean, m.variance, offset, scale, 0.01);
  EXPECT_LT(largest(fused.y - plain), 1e-12);
  // The moments' own gradients count as well.
  const Tensor loss = reduce_sum(fused.y * weights) + reduce_sum(fused.mean * scale + fused.variance * offset);
  const Tensor same = reduce_sum(plain * weights) + reduce_sum(m.mean * scale + m.variance * offset);
  const std::vector<Tensor> a = tape.gradient(loss, sources);
  const std::vector<Tensor> b = tape.gradient(same, sources);
  for (std::size_t i = 0; i < sources.size(); ++i) EXPECT_LT(largest(a[i] - b[i]), 1e-11) << "source " << i;
}

TEST(FusedBatchNorm, HandsOutTheUnbiasedVariance) {
  const Tensor x = random::normal({2, 3, 3, 2}, 0, 1, float32, 1);
  const Tensor one = constant({1.0, 1.0});
  const BatchNormResult fused = fused_batch_norm_training(x, one, one);
  const Moments m = moments(x, {0, 1, 2});
  EXPECT_LT(largest(fused.variance - m.variance * (18.0 / 17.0)), 1e-6);
}

TEST(LayerNormalization, MakesRowsOfMeanZeroAndVarianceOne) {
  const Tensor x = random::normal({4, 50}, 3, 2, float64, 1);
  const Tensor ones = constant(std::vector<double>(50, 1.0));
  const Tensor y = layer_normalization(x, ones, ones - ones, 1, 1e-9);
  EXPECT_LT(largest(reduce_mean(y, 1)), 1e-12);
  EXPECT_LT(largest(reduce_variance(y, 1) - 1.0), 1e-8);
}

}  // namespace
}  // namespace capstan
