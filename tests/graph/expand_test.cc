// Ops that are taken apart, by the text of graphs and by bits.
#include <gtest/gtest.h>

#include "tests/graph/traced.h"

namespace capstan {
namespace {

using testing::Tensors;

TEST(Expand, BatchNormalizationIsItsMomentsAndALoop) {
  Graph graph = testing::trace({{{6, 3}}, {{3}}, {{3}}},
                               [](const Tensors& a) { return Tensors{batch_norm_training(a[0], a[1], a[2], 0.5).y}; });
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[6, 3]
%1 = argument float32[3]
%2 = argument float32[3]
%3, %4, %5 = batch_norm_training(%0, %1, %2, epsilon=0.5) float32[6, 3] float32[3] float32[3]
return %3
)");
  expand(graph);
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[6, 3]
%1 = argument float32[3]
%2 = argument float32[3]
%4, %5, %6 = batch_norm_moments(%0, %1, epsilon=0.5) float32[3] float32[3] float32[3]
%7 = subtract(%0, %4) float32[6, 3]
%8 = multiply(%7, %6) float32[6, 3]
%3 = add(%8, %2) float32[6, 3]
return %3
)");
}

TEST(Expand, OnesAreANumberThatIsRepeated) {
  Graph graph = testing::trace({{{4}}}, [](const Tensors& a) { return Tensors{ones_like(a[0])}; });
  expand(graph);
  EXPECT_EQ(testing::text_of(graph), R"(
%0 = argument float32[4]
%1 = broadcast_like(1:float32, %0) float32[4]
return %1
)");
}

TEST(Expand, LeavesLowPrecisionWhole) {
  Graph graph = testing::trace({{{6, 3}, bfloat16}, {{3}, bfloat16}, {{3}, bfloat16}},
                               [](const Tensors& a) { return Tensors{batch_norm_training(a[0], a[1], a[2], 0.5).y}; });
  const std::string before = testing::text_of(graph);
  expand(graph);
  EXPECT_EQ(testing::text_of(graph), before);
}

// Narrow and wide, few rows and more than a block of them, with the gradient and a relu behind it.
TEST(Expand, KeepsEveryBit) {
  for (const Shape& shape : {Shape{6, 3}, Shape{5, 4, 16}, Shape{700, 24}, Shape{40, 300}, Shape{0, 3}}) {
    for (const DType dtype : {float32, float64}) {
      const Shape channels{shape[-1]};
      const Tensors arguments = {random::normal(shape, 1, 2, dtype, 1), random::uniform(channels, 0.5, 2, dtype, 2),
                                 random::normal(channels, 0, 1, dtype, 3), random::normal(shape, 0, 1, dtype, 4)};
      testing::expect_same_runs(arguments, [](const Tensors& a) {
        GradientTape tape;
        const Tensors sources(a.begin(), a.begin() + 3);
        tape.watch(sources);
        const Tensor y = relu(batch_norm_training(relu(a[0]), a[1], a[2], 1e-3).y) * a[3];
        Tensors results = tape.gradient(y, sources);
        results.push_back(y);
        return results;
      });
    }
  }
}

}  // namespace
}  // namespace capstan
