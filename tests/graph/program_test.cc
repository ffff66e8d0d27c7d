#include "src/graph/program.h"

#include <gtest/gtest.h>

#include "src/emit/fused_loop.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"

namespace capstan {
namespace {

using testing::filled;
using testing::run;
using testing::Tensors;
using testing::trace;
using testing::trace_like;

TEST(Program, ResultsMayBeArgumentsConstantsViewsAndNothing) {
  const Tensor large = filled({3, 4}, 9);
  testing::expect_same_runs({filled({3, 4}, 1), filled({3, 4}, 2)}, [&](const Tensors& in) -> Tensors {
    const Tensor sum = in[0] + in[1];
    return {in[0],
            in[0],
            large,
            constant(5.0),
            reshape(in[1], {12}),
            sum,
            sum,
            reshape(sum, {4, 3}),
            Tensor(),
            in[0](slice(1, 3)),
            unstack(sum)[2],
            large + 1.0,
            reshape(large, {12})};
  });
}

TEST(Program, RunsWithoutAnyArgumentOrNode) {
  testing::expect_same_runs({}, [](const Tensors&) -> Tensors { return {constant({1.0, 2.0})}; });
  testing::expect_same_runs({filled({2}, 1)}, [](const Tensors&) -> Tensors { return {}; });
}

TEST(Program, ArgumentsThatAreOneTensorOrViewsOfOne) {
  const Tensor x = filled({4, 4}, 1);
  const auto body = [](const Tensors& in) -> Tensors { return {in[0] * in[1] + in[2], in[1]}; };
  testing::expect_same_runs({x, x, x}, body);
  testing::expect_same_runs({testing::as_view(x), x, testing::as_view(x)}, body);
}

TEST(Program, EmptyTensors) {
  testing::expect_same_runs({zeros({0, 3}), zeros({3}), zeros({0})}, [](const Tensors& in) -> Tensors {
    return {exp(in[0]) * in[1],
            reduce_sum(in[0]),
            reduce_sum(exp(in[0]), 0),
            reduce_mean(in[0] + 1.0, 1),
            matmul(in[0], in[0], {.transpose_a = true}),
            concat({in[2], in[1]}, 0),
            in[2],
            broadcast_to(in[1], {0, 3}) - in[0]};
  });
}

TEST(Program, IntegersAndTruthValues) {
  for (const DType dtype : {int32, int64, uint8}) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {testing::make_tensor(dtype, {2, 3}, {1, 2, 3, 4, 5, 6}),
                       testing::make_tensor(dtype, {3}, {3, 2, 1})};
    testing::expect_same_runs(x, [](const Tensors& in) -> Tensors {
      const Tensor sum = in[0] * in[1] + in[0];
      const Tensor larger = greater(sum, in[1] * 4);
      return {sum,
              larger,
              reduce_sum(sum, 0),
              reduce_any(larger),
              where(larger, sum, in[0]),
              cast(larger, float32),
              logical_not(larger),
              floormod(sum, in[1]),
              cast(sum, float64) * 0.5};
    });
  }
}

TEST(Program, ComplexAndBrainFloats) {
  testing::expect_same_runs({complex(filled({2, 3}, 1), filled({2, 3}, 2)), cast(filled({2, 3}, 3), bfloat16)},
                            [](const Tensors& in) -> Tensors {
                              return {exp(in[0]) * in[0],         abs(in[0]),
                                      conj(conj(in[0])) * 1.0,    tanh(in[1]) * in[1],
                                      reduce_sum(in[1] * 2.0, 0), transpose(transpose(in[0]))};
                            });
}

TEST(Program, RowsColumnsAndNumbersAreStretched) {
  for (const bool emit : {true, false}) {
    emit_machine_code(emit);
    for (const DType dtype : {float32, float64}) {
      for (const Shape& full : {Shape{3, 5}, Shape{1, 7}, Shape{7, 1}, Shape{600, 70}, Shape{1, 1}, Shape{2, 40000}}) {
        SCOPED_TRACE(full.to_string());
        const Tensors x = {filled(full, 1, dtype), filled({full[1]}, 2, dtype), filled({full[0], 1}, 3, dtype),
                           filled({}, 4, dtype)};
        testing::expect_same_runs(x, [](const Tensors& in) -> Tensors {
          const Tensor y = tanh(in[0] * in[1] + in[2]) - in[3];
          return {y, reduce_mean(y), reduce_sum(y * in[2], 0), reduce_sum(y, 1), greater(y, in[1])};
        });
      }
    }
  }
  emit_machine_code(true);
}

TEST(Program, SumsOfNothingButNegativeZeros) {
  for (const Shape& shape : {Shape{1}, Shape{40}, Shape{5, 3}, Shape{3000}}) {
    const Tensor zeros =
        testing::make_tensor(float32, shape, std::vector<double>(static_cast<std::size_t>(shape.size()), -0.0));
    testing::expect_same_runs({zeros}, [](const Tensors& in) -> Tensors {
      const Tensor same = minimum(in[0], 1.0);
      return {reduce_sum(same), reduce_sum(same, 0), reduce_mean(same)};
    });
  }
}

TEST(Program, AttributesThatAreWrittenAnew) {
  double number = 0;
  const Program program(trace({{{2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor scaled = in[0] * host_value([&] { return ++number; });
    return {scaled + host_value([&] { return number * 10; })};
  }));
  const Tensors x = {constant({1.0, 2.0})};
  EXPECT_EQ(run(program, x)[0].to_vector<double>(), (std::vector<double>{11, 12}));
  EXPECT_EQ(run(program, x)[0].to_vector<double>(), (std::vector<double>{22, 24}));
}

TEST(Program, ShapesThatOnlyARunKnows) {
  testing::expect_same_runs({constant({1.0, -2.0, 3.0, -4.0})}, [](const Tensors& in) -> Tensors {
    const Tensor kept = in[0] * 2.0;
    return {concat({kept, kept}, 0)(slice(1, 6)), unstack(kept)[3]};
  });
}

TEST(Program, RunsInSeveralThreadsAtOnce) {
  const Graph graph = trace({{{64, 64}}, {{64}}}, [](const Tensors& in) -> Tensors {
    Tensor x = matmul(in[0], in[0]) * 0.01;
    x = tanh(x + in[1]);
    return {matmul(x, in[0]), reduce_sum(x, 0), reshape(x, {-1})};
  });
  testing::expect_same_in_threads(graph, 6, [](int t) -> Tensors {
    const auto seed = static_cast<std::uint64_t>(t);
    return {filled({64, 64}, 10 + seed), filled({64}, 20 + seed)};
  });
}

TEST(Program, RunsWithinARunOfItself) {
  // A function that the host calls back while the program runs.
  const Program* self = nullptr;
  int depth = 0;
  const Program program(trace({{{8}}}, [&](const Tensors& in) -> Tensors {
    const Tensor before = matmul(reshape(in[0], {1, 8}), reshape(in[0], {8, 1}));
    const Tensor inner = host_value([&] {
      if (depth > 2) return 1.0;
      ++depth;
      return run(*self, {ones({8}) * 2.0})[0].item<double>();
    });
    return {reshape(before, {}) + inner};
  }));
  self = &program;
  EXPECT_EQ(run(program, {ones({8})})[0].item<double>(), 8 + 32 + 32 + 32 + 1);
}

TEST(Program, AnErrorLeavesTheProgramUsable) {
  const Program program(trace({{{4}}}, [](const Tensors& in) -> Tensors {
    const Tensor y = matmul(reshape(in[0], {2, 2}), reshape(in[0], {2, 2}));
    debugging::assert_positive(y);
    return {exp(y)};
  }));
  const Tensor good = ones({4});
  const Tensor expected = run(program, {good})[0];
  EXPECT_THROW(run(program, {constant({-1.0, 2.0, 1.0, -3.0})}), Error);
  EXPECT_TRUE(testing::same_bits(run(program, {good})[0], expected));
}

}  // namespace
}  // namespace capstan
