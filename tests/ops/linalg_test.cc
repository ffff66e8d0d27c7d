#include "capstan/ops/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

TEST(Matmul, SharesOneMatrixAmongABatch) {
  const Tensor a = reshape(cast(range(24), float32), {2, 3, 4});
  const Tensor b = reshape(cast(range(8), float32), {4, 2});
  const Tensor y = matmul(a, b);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(equal_tensors(y(i), matmul(a(i), b)));
}

TEST(Matmul, SumsTheGradientOfASharedMatrix) {
  GradientTape tape({.persistent = true});
  const Tensor a = reshape(cast(range(12), float32), {2, 3, 2});
  const Tensor b = constant({{1.0, 2.0}, {3.0, 4.0}});
  tape.watch(b);
  const Tensor shared = reduce_sum(matmul(a, b));
  const Tensor apart = reduce_sum(matmul(a(0), b)) + reduce_sum(matmul(a(1), b));
  EXPECT_TRUE(equal_tensors(tape.gradient(shared, b), tape.gradient(apart, b)));
}

TEST(Matmul, WrapsIntegersAround) {
  const Tensor x = constant({{65536}});
  EXPECT_EQ(matmul(x, x).item<int>(), 0);
}

TEST(Matmul, NamesBothSizes) {
  try {
    matmul(zeros({32, 784}), zeros({64, 10}));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "matmul: inner dimensions differ, 784 and 64\n  a: float32[32, 784]\n  b: float32[64, 10]");
  }
}

TEST(Einsum, AgreesWithMatmulAndItsTransposes) {
  const Tensor a = reshape(cast(range(6), float32), {2, 3});
  const Tensor b = reshape(cast(range(12), float32), {3, 4});
  EXPECT_TRUE(equal_tensors(einsum("ij,jk->ik", {a, b}), matmul(a, b)));
  EXPECT_TRUE(equal_tensors(einsum("ji,kj->ik", {transpose(a), transpose(b)}), matmul(a, b)));
  EXPECT_TRUE(equal_tensors(einsum("...j,jk", {a, b}), matmul(a, b)));
}

TEST(Clip, KeepsMissingGradientsAndZeros) {
  const std::vector<Tensor> gradients = {constant({3.0, 4.0}), Tensor(), constant({0.0})};
  const ClippedByGlobalNorm clipped = clip_by_global_norm(gradients, 1.0);
  EXPECT_EQ(clipped.global_norm.item<float>(), 5.0f);
  EXPECT_FALSE(clipped.tensors[1].has_value());
  EXPECT_NEAR(clipped.tensors[0](1).item<float>(), 0.8, 1e-6);
  EXPECT_EQ(clipped.tensors[2].item<float>(), 0.0f);
}

TEST(Clip, UsesANormThatIsKnown) {
  const std::vector<Tensor> gradients = {constant({3.0, 4.0})};
  const ClippedByGlobalNorm clipped = clip_by_global_norm(gradients, 1.0, constant(10.0));
  EXPECT_EQ(clipped.global_norm.item<float>(), 10.0f);
  EXPECT_NEAR(clipped.tensors[0](0).item<float>(), 0.3, 1e-6);
  EXPECT_EQ(clip_by_global_norm(gradients, 20.0, constant(10.0)).tensors[0](0).item<float>(), 3.0f);
  EXPECT_THROW(clip_by_global_norm(gradients, 1.0, ones({2})), ShapeError);
  EXPECT_THROW(clip_by_global_norm(gradients, 1.0, constant(1)), DTypeError);
}

TEST(Clip, MakesEverythingNaNIfTheNormIsNotFinite) {
  const std::vector<Tensor> gradients = {constant({std::numeric_limits<float>::infinity(), 1.0f}), constant({2.0})};
  for (const Tensor& tensor : clip_by_global_norm(gradients, 1.0).tensors) {
    for (float x : tensor.to_vector<float>()) EXPECT_TRUE(std::isnan(x));
  }
}

TEST(Clip, HasAFiniteGradientAtZero) {
  GradientTape tape;
  const Tensor x = constant({0.0, 0.0});
  tape.watch(x);
  EXPECT_EQ(tape.gradient(clip_by_norm(x, 1.0), x).to_vector<float>(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace capstan
