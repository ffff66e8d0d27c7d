// Layer normalisation at sizes that fill vectors and blocks, against its formula.
#include <gtest/gtest.h>

#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/runtime.h"
#include "capstan/tape.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

TEST(LayerNormalization, AgreesWithItsFormula) {
  for (const Shape& shape :
       {Shape{3, 1}, Shape{5, 63}, Shape{7, 64}, Shape{300, 130}, Shape{2, 5000}, Shape{1, 9001}}) {
    SCOPED_TRACE(shape.to_string());
    const Shape inner{shape[1]};
    const std::vector<Tensor> x = {random::normal(shape, 3, 1, float64, 1), random::normal(inner, 1, 1, float64, 2),
                                   random::normal(inner, 0, 1, float64, 3)};
    GradientTape fused;
    GradientTape plain;
    fused.watch(x);
    plain.watch(x);
    const Tensor y = layer_normalization(x[0], x[1], x[2]);
    const Moments m = moments(x[0], 1, {.keepdims = true});
    const Tensor want = (x[0] - m.mean) * rsqrt(m.variance + 1e-3) * x[1] + x[2];
    EXPECT_LT(reduce_max(abs(y - want)).item<double>(), 1e-11);
    const Tensor g = random::normal(shape, 0, 1, float64, 4);
    const std::vector<Tensor> got = fused.gradient(y, x, {.output_gradients = {g}});
    const std::vector<Tensor> due = plain.gradient(want, x, {.output_gradients = {g}});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(reduce_max(abs(got[i] - due[i])).item<double>(), 1e-9) << i;
  }
}

TEST(LayerNormalization, KeepsDigitsWithALargeMean) {
  const Tensor x = random::normal({4, 700}, 1e4, 1, float32, 1);
  const Tensor y = layer_normalization(x, ones({700}), zeros({700}), 1, 1e-6);
  const Tensor exact = layer_normalization(cast(x, float64), ones({700}, float64), zeros({700}, float64), 1, 1e-6);
  EXPECT_LT(reduce_max(abs(cast(y, float64) - exact)).item<double>(), 2e-3);
}

TEST(LayerNormalization, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  const std::vector<Tensor> x = {random::normal({1000, 200}, 0, 1, float32, 1), random::normal({200}, 0, 1, float32, 2),
                                 random::normal({200}, 0, 1, float32, 3)};
  const auto compute = [&](int threads) {
    set_num_threads(threads);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = layer_normalization(x[0], x[1], x[2]);
    std::vector<Tensor> results = tape.gradient(y * y, x);
    results.push_back(y);
    return results;
  };
  const std::vector<Tensor> one = compute(1);
  const std::vector<Tensor> four = compute(4);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(testing::same_bits(one[i], four[i])) << i;
  set_num_threads(before);
}

}  // namespace
}  // namespace capstan
