#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "capstan/capstan.h"
#include "src/graph/program.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::filled;
using testing::steps_of;
using testing::Tensors;

testing::Body normalised_maximum(std::array<std::int64_t, 2> window, std::array<std::int64_t, 2> strides,
                                 const char* padding) {
  return [=](const Tensors& in) -> Tensors {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = max_pool2d(batch_norm_training(in[0], in[1], in[1]).y, window, strides, padding);
    const Tensor mean = avg_pool2d(relu(in[0] * in[1]), window, strides, padding);
    return {y, mean, tape.gradient(y * mean, in[0])};
  };
}

TEST(Prologues, OfPoolsOfAllForms) {
  for (const DType dtype : {float32, float64}) {
    // Channels that fill vectors, that do not, and one; whole images that are larger than what is made at a time.
    for (const Shape& image : std::vector<Shape>{
             {3, 28, 28, 16}, {2, 9, 7, 20}, {5, 6, 5, 1}, {2, 40, 70, 33}, {0, 4, 4, 3}, {2, 4, 4, 0}}) {
      SCOPED_TRACE(image[-1]);
      const Tensors arguments = {filled(image, 1, dtype), filled({image[-1]}, 2, dtype)};
      testing::expect_same_everywhere(arguments, normalised_maximum({2, 2}, {2, 2}, "VALID"));
      testing::expect_same_everywhere(arguments, normalised_maximum({2, 2}, {2, 2}, "SAME"));
      testing::expect_same_everywhere(arguments, normalised_maximum({2, 2}, {1, 1}, "SAME"));
      testing::expect_same_everywhere(arguments, normalised_maximum({3, 3}, {2, 2}, "SAME"));
      testing::expect_same_everywhere(arguments, normalised_maximum({3, 2}, {1, 4}, "VALID"));
      testing::expect_same_everywhere(arguments, normalised_maximum({4, 4}, {4, 4}, "SAME"));
    }
  }
}

TEST(Prologues, AreOneStepWithTheirReader) {
  const Tensors arguments = {filled({2, 8, 8, 16}, 1), filled({16}, 2)};
  EXPECT_EQ(steps_of(arguments,
                     [](const Tensors& in) -> Tensors {
                       return {max_pool2d(tanh(in[0] * in[1]), {2, 2}, {2, 2}, "VALID")};
                     }),
            "loop(multiply, tanh) + max_pool2d");
  // What others read as well is kept.
  EXPECT_EQ(steps_of(arguments,
                     [](const Tensors& in) -> Tensors {
                       const Tensor y = in[0] * in[1];
                       return {max_pool2d(y, {2, 2}, {2, 2}, "VALID"), reduce_max(y)};
                     }),
            "loop(multiply); max_pool2d; reduce_max");
  EXPECT_EQ(steps_of(arguments,
                     [](const Tensors& in) -> Tensors {
                       const Tensor y = in[0] * in[1];
                       return {y, max_pool2d(y, {2, 2}, {2, 2}, "VALID")};
                     }),
            "loop(multiply); max_pool2d");
  // What is dear is computed once, and so is what would keep two images for the second reader.
  const auto twice = [](const Tensor& y) -> Tensors {
    return {max_pool2d(y, {2, 2}, {2, 2}, "VALID"), avg_pool2d(y, {2, 2}, {2, 2}, "VALID")};
  };
  EXPECT_EQ(steps_of(arguments, [&](const Tensors& in) { return twice(in[0] * in[1]); }),
            "loop(multiply) + avg_pool2d; loop(multiply) + max_pool2d");
  EXPECT_EQ(steps_of(arguments, [&](const Tensors& in) { return twice(tanh(in[0] * in[1])); }),
            "avg_pool2d; loop(multiply, tanh); max_pool2d");
  EXPECT_EQ(steps_of({arguments[0], filled({2, 8, 8, 16}, 3)}, [&](const Tensors& in) { return twice(in[0] * in[1]); }),
            "avg_pool2d; loop(multiply); max_pool2d");
  // The image is an operand of another kind there.
  EXPECT_EQ(
      steps_of(arguments,
               [](const Tensors& in) -> Tensors {
                 const Tensor y = in[0] * in[1];
                 return {max_pool2d_scatter(in[0], max_pool2d(in[0], {2, 2}, {2, 2}, "VALID"), {2, 2}, {2, 2}, "VALID"),
                         max_pool2d_gather(in[0], y, {2, 2}, {2, 2}, "VALID")};
               }),
      "loop(multiply); max_pool2d; max_pool2d_gather; max_pool2d_scatter");
}

TEST(Prologues, TakeNoMemory) {
  const auto bytes = [](bool fuse) {
    fuse_loops(fuse);
    const Program program(testing::trace({{{64, 28, 28, 16}}, {{16}}}, [](const Tensors& in) -> Tensors {
      return {max_pool2d(in[0] * in[1], {2, 2}, {2, 2}, "VALID")};
    }));
    fuse_loops(true);
    return program.arena_bytes();
  };
  EXPECT_GE(bytes(false), std::size_t{64 * 28 * 28 * 16 * 4});
  EXPECT_EQ(bytes(true), 0u);
}

TEST(Prologues, NarrowDTypesHaveNone) {
  testing::expect_same_everywhere({filled({2, 8, 8, 16}, 1, bfloat16), filled({16}, 2, bfloat16)},
                                  [](const Tensors& in) -> Tensors {
                                    return {max_pool2d(in[0] * in[1], {2, 2}, {2, 2}, "VALID")};
                                  });
}

}  // namespace
}  // namespace capstan
