// Fused loops give the bits of the ops that they are made of, as machine code and in tiles.
#include "src/graph/fused_group.h"

#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Body;
using testing::Tensors;

// Shapes around the sizes of vectors, tiles, blocks and tasks.
const Shape kShapes[] = {{1},    {7},      {16},     {511},     {512},      {513},  {1025}, {40000},  {100000},
                         {3, 5}, {3, 700}, {700, 3}, {40, 256}, {300, 257}, {1, 9}, {9, 1}, {5, 3, 4}};

void expect_same_in_code_and_tiles(const Body& body) {
  for (const bool emit : {true, false}) {
    emit_machine_code(emit);
    for (const DType dtype : {float32, float64}) {
      for (const Shape& shape : kShapes) {
        SCOPED_TRACE((emit ? "machine code, " : "tiles, ") + std::string(name_of(dtype)) + shape.to_string());
        Shape column = shape;
        column.set(shape.rank() - 1, 1);
        const auto filled = [&](const Shape& s, std::uint64_t seed) { return random::uniform(s, -1, 1, dtype, seed); };
        testing::expect_same_runs(
            {filled(shape, 1), filled(shape, 2), filled({shape[-1]}, 3), filled(column, 4), filled({}, 5)}, body);
      }
    }
  }
  emit_machine_code(true);
}

TEST(FusedGroup, AValueThatOneNodeReadsTwice) {
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    Tensor x = in[0] + in[1];
    Tensor y = x * x;
    const Tensor z = y * y;
    x = tanh(z) - in[1];
    y = x * x;
    return {where(greater(y, z), y, y) + z * z};
  });
}

TEST(FusedGroup, RowsAndColumnsAndNumbers) {
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    const Tensor x = in[0] * in[2] + in[4];
    return {tanh(x - in[2]), x * 0.5};
  });
  expect_same_in_code_and_tiles(
      [](const Tensors& in) -> Tensors { return {exp(in[3] - in[0]) / (2.0 + square(in[3]))}; });
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    return {in[0] * in[2] + in[3], in[2] * 2.0 + in[3]};
  });
}

TEST(FusedGroup, TruthValuesComeAndGo) {
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    const Tensor larger = greater(in[0], in[2]);
    const Tensor both = logical_and(larger, less(in[1], in[4]));
    return {where(both, in[0], in[3]), larger, both, where(logical_not(larger), in[1], 0.25)};
  });
}

TEST(FusedGroup, SumsAtTheEnd) {
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    const Tensor x = tanh(in[0]) * in[1];
    return {reduce_sum(x), reduce_mean(x * x), x};
  });
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    const Tensor x = in[0] * in[2];
    return {reduce_sum(x, 0), reduce_mean(square(x), 0), reduce_sum(in[0] * in[3], 0)};
  });
}

TEST(FusedGroup, ManyResults) {
  expect_same_in_code_and_tiles([](const Tensors& in) -> Tensors {
    Tensors all;
    Tensor x = in[0];
    for (int i = 0; i < 30; ++i) {
      x = x * 0.9 + in[1] * (0.01 * i);
      all.push_back(x);
    }
    return all;
  });
}

}  // namespace
}  // namespace capstan
