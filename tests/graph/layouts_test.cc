// Reshapes, slices and paddings in programs, which are no steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/control_flow.h"
#include "src/graph/stages.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Body;
using testing::expect_same_everywhere;
using testing::filled;
using testing::steps_of;
using testing::Tensors;
using testing::trace;

constexpr auto kEdge = Slice::kEdge;

Tensor between(const Tensor& x) { return x(Slice{1}) - x(Slice{kEdge, -1}); }
Tensor before_and_after(const Tensor& x) { return pad(x, {{0, 1}}) - pad(x, {{1, 0}}); }

TEST(Layouts, SlicesOfArgumentsAndPaddingsOfWhatAStepMakesAreNoSteps) {
  const Tensors x = {filled({64}, 1)};
  EXPECT_EQ(steps_of(x, [](const Tensors& in) -> Tensors { return {tanh(before_and_after(between(in[0])) + in[0])}; }),
            "loop(subtract); loop(subtract, add, tanh)");
  // The gradient has a slice for every padding, and the other way round.
  EXPECT_EQ(steps_of(x,
                     [](const Tensors& in) -> Tensors {
                       GradientTape tape;
                       tape.watch(in[0]);
                       const Tensor y = before_and_after(sin(between(in[0])));
                       return {tape.gradient(y, in[0], {.output_gradients = {in[0]}})};
                     })
                .find("getitem"),
            std::string::npos);
}

TEST(Layouts, PaddingsOfOneValueLieInOnePieceOfMemory) {
  Graph graph = trace({{{64}}}, [](const Tensors& in) -> Tensors {
    const Tensor y = between(in[0]);
    return {tanh(pad(y, {{0, 1}}) - pad(y, {{1, 0}}))};
  });
  const Program program(std::move(graph));
  std::vector<std::size_t> places;
  for (const Graph::Node& node : program.graph().nodes) {
    if (const auto place = program.arena_offset(node.outputs[0])) places.push_back(*place);
  }
  // The value with one before it, itself, and with one after it.
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<std::size_t>{60, 64, 64}));
  EXPECT_EQ(program.arena_bytes(), 64u + 256);
  testing::expect_apart(program);
}

TEST(Layouts, OfAllKindsHaveTheBitsOfTheirOps) {
  const std::vector<Body> bodies = {
      // Of an argument, a result, a constant, what a kernel makes, and of each other.
      [](const Tensors& in) -> Tensors {
        const Tensor y = exp(in[0]);
        return {y, y(Slice{1}) * y(Slice{kEdge, -1}), in[0](Slice{2, 5})(1) + y(3)};
      },
      [](const Tensors& in) -> Tensors {
        const Tensor c = constant({{1.0, 2.0, 3.0, 4.0, 5.0}, {6.0, 7.0, 8.0, 9.0, 10.0}, {1.5, 2.5, 3.5, 4.5, 5.5}});
        return {c(Slice{1}) * in[0](Slice{0, 2}) + in[0](Slice{4})};
      },
      [](const Tensors& in) -> Tensors {
        const Tensors rows = unstack(in[0] * 2.0);
        const Tensor sorted = cumsum(in[0], 0);
        return {rows[1](Slice{1}) + rows[2](Slice{kEdge, -1}), sorted(Slice{1}) - sorted(Slice{kEdge, -1})};
      },
      [](const Tensors& in) -> Tensors {
        const Tensor flat = reshape(sin(in[0]), {30});
        return {flat(Slice{3, 20}) * reshape(in[0], {30})(Slice{10, 27}), reshape(flat(Slice{0, 4}), {2, 2}) + 1.0};
      },
      // What leaves the run.
      [](const Tensors& in) -> Tensors {
        const Tensor y = exp(in[0]);
        return {y(Slice{1, 3}), in[0](Slice{2, 4}), pad(y, {{1, 0}, {0, 0}}), reshape(in[0](Slice{1}), {25})};
      },
      // Borders: of several kinds, of zeros and others, of padded values, within rows, of what has been cut off.
      [](const Tensors& in) -> Tensors {
        const Tensor y = exp(in[0]);
        const Tensor a = pad(y, {{2, 0}, {0, 0}}) + pad(y, {{0, 2}, {0, 0}}) * pad(y, {{1, 1}, {0, 0}});
        const Tensor b =
            pad(y, {{1, 1}, {0, 0}}, PadMode::kConstant, 3.0) + pad(y, {{2, 0}, {0, 0}}, PadMode::kConstant, 3.0);
        return {a - b, sin(y)};
      },
      [](const Tensors& in) -> Tensors {
        const Tensor y = exp(in[0]);
        const Tensor twice = pad(pad(y, {{1, 0}, {0, 0}}), {{0, 1}, {0, 0}});
        return {twice * 2.0 + pad(y, {{1, 1}, {0, 0}}), pad(y, {{0, 0}, {1, 2}}) * 0.5, pad(y, {{0, 0}, {0, 0}}) - y};
      },
      [](const Tensors& in) -> Tensors {
        const Tensor y = exp(in[0]);
        return {pad(y, {{3, 0}, {0, 0}})(Slice{2, 5}) * 2.0, pad(y(Slice{1, 2}), {{1, 4}, {0, 0}}) + y,
                pad(-y, {{1, 0}, {0, 0}})(Slice{1}) + y};
      },
      [](const Tensors& in) -> Tensors {
        const Tensor y = matmul(in[0], in[0], {.transpose_b = true});
        const Tensor z = relu(y + 1.0);
        return {pad(y, {{1, 0}, {0, 0}}) * 2.0, pad(z, {{0, 1}, {0, 0}}) + pad(z, {{1, 0}, {0, 0}})};
      },
      // A view that is read by a node of control flow.
      [](const Tensors& in) -> Tensors {
        const Tensor part = in[0](Slice{1, 3});
        const Tensor y = exp(in[0])(Slice{2, 4});
        return {cond(
            reduce_sum(in[0]) > 0, [&] { return part + y; }, [&] { return part * y; })};
      },
      // The sum of many borders, and of none.
      [](const Tensors& in) -> Tensors {
        Tensor sum = zeros_like(in[0]);
        for (int i = 0; i < 6; ++i) {
          GradientTape tape;
          const Tensor x = in[0] * static_cast<double>(i + 1);
          tape.watch(x);
          sum = sum + tape.gradient(square(x(i)), x);
        }
        return {sum};
      },
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (const DType dtype : {float32, float64}) {
      SCOPED_TRACE(i);
      const bool needs_float32 = i == 1;
      if (needs_float32 && dtype != float32) continue;
      expect_same_everywhere({filled({6, 5}, i, dtype)}, bodies[i]);
      stage_steps(Stages::kAll);
      testing::expect_same_runs({filled({6, 5}, i, dtype)}, bodies[i]);
      stage_steps(Stages::kWorthwhile);
    }
  }
}

TEST(Layouts, IntegersHaveBordersToo) {
  const Tensor x = constant({3, 1, 2});
  expect_same_everywhere({x}, [](const Tensors& in) -> Tensors {
    const Tensor y = in[0] * 2;
    return {pad(y, {{1, 0}}, PadMode::kConstant, 7) + pad(y, {{0, 1}}, PadMode::kConstant, 7)};
  });
}

TEST(Layouts, InThreads) {
  testing::expect_same_in_threads(
      trace({{{64}}}, [](const Tensors& in) -> Tensors { return {before_and_after(sin(between(in[0]))) * in[0]}; }), 4,
      [](int thread) { return Tensors{filled({64}, static_cast<std::uint64_t>(thread))}; });
}

}  // namespace
}  // namespace capstan
