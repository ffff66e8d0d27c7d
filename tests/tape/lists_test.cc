// Sources and targets in lists that are made when the program runs, as bindings for other languages have them.
#include <gtest/gtest.h>

#include <vector>

#include "capstan/ops/math.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

TEST(TapeLists, MixTensorsAndVariables) {
  const Variable v(3.0f);
  const Tensor x = constant(2.0), z = constant(1.0);
  const std::vector<Source> sources = {x, v, z};
  GradientTape tape({.persistent = true});
  tape.watch(std::span<const Source>(sources));
  const Tensor a = x * v, b = x * x;
  const std::vector<Source> targets = {a, b};
  const std::vector<Tensor> gradients =
      tape.gradient(std::span<const Source>(targets), std::span<const Source>(sources));
  ASSERT_EQ(gradients.size(), 3u);
  EXPECT_EQ(gradients[0].item<float>(), 3 + 4);
  EXPECT_EQ(gradients[1].item<float>(), 2);
  EXPECT_FALSE(gradients[2].has_value());
  const std::vector<Tensor> weighted = tape.gradient(
      std::span<const Source>(targets), std::span<const Source>(sources),
      {.output_gradients = {constant(10.0), Tensor()}, .unconnected_gradients = UnconnectedGradients::kZero});
  EXPECT_EQ(weighted[0].item<float>(), 30 + 4);
  EXPECT_EQ(weighted[2].item<float>(), 0);
}

TEST(TapeLists, GiveAJacobianForEachPair) {
  const Variable v({1.0f, 2.0f});
  const Tensor x = constant({3.0, 4.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor a = x * v, b = x * x;
  const Source targets[] = {a, b}, sources[] = {v, x};
  const std::vector<Tensor> all = tape.jacobian(std::span<const Source>(targets), std::span<const Source>(sources));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].to_vector<float>(), (std::vector<float>{3, 0, 0, 4}));
  EXPECT_EQ(all[1].to_vector<float>(), (std::vector<float>{1, 0, 0, 2}));
  EXPECT_FALSE(all[2].has_value());
  EXPECT_EQ(all[3].to_vector<float>(), (std::vector<float>{6, 0, 0, 8}));
}

}  // namespace
}  // namespace capstan
