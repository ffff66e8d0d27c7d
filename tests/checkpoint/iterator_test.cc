// Positions in data as part of checkpoints.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "capstan/checkpoint.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using io::TemporaryDirectory;

Dataset<Tensor, Tensor> pipeline() {
  const Tensor x = range(20.0);
  return from_tensor_slices(x, 2 * x)
      .shuffle(7, {.seed = 1})
      .map([](const Tensor& a, const Tensor& b) { return std::tuple(a + 1, b); }, {.num_parallel_calls = 2})
      .batch(3)
      .repeat(2)
      .prefetch(2);
}

template <class Iterator>
std::vector<std::vector<float>> rest_of(Iterator& iterator) {
  std::vector<std::vector<float>> rest;
  for (; iterator != std::default_sentinel; ++iterator) {
    rest.push_back(std::get<0>(*iterator).template to_vector<float>());
    rest.push_back(std::get<1>(*iterator).template to_vector<float>());
  }
  return rest;
}

TEST(CheckpointOfIterators, GoesOnWhereItWas) {
  const TemporaryDirectory directory;
  for (int steps = 0; steps <= 14; ++steps) {
    const auto first = pipeline();
    auto iterator = first.begin();
    for (int i = 0; i < steps; ++i) ++iterator;
    std::int64_t count = steps;
    const std::string path = Checkpoint({{"data", iterator}, {"step", count}}).write(directory.file("position"));
    const auto expected = rest_of(iterator);

    const auto second = pipeline();
    auto other = second.begin();
    count = -1;
    Checkpoint({{"data", other}, {"step", count}}).restore(path).assert_consumed();
    EXPECT_EQ(count, steps);
    EXPECT_EQ(rest_of(other), expected) << "after " << steps << " steps";
  }
}

TEST(CheckpointOfIterators, RefusesThePositionOfAnotherPipeline) {
  const TemporaryDirectory directory;
  const auto first = pipeline();
  auto iterator = first.begin();
  const std::string path = Checkpoint({{"data", iterator}}).write(directory.file("position"));
  const auto second = from_tensor_slices(range(20.0)).batch(3);
  auto other = second.begin();
  EXPECT_THROW(Checkpoint({{"data", other}}).restore(path), Error);
  EXPECT_EQ((*other).to_vector<float>(), (std::vector<float>{0, 1, 2}));
}

}  // namespace
}  // namespace capstan
