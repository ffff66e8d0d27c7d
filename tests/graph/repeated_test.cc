// Runs of a program with operands and results in memory of the caller.
#include <algorithm>

#include "src/graph/repeated.h"

#include <gtest/gtest.h>

#include "src/core/allocator.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

using testing::filled;
using testing::run;
using testing::same_bits;
using testing::Tensors;
using testing::trace;

void set_input(Program::Repeated& program, std::size_t i, const Tensor& x) {
  program.set_input(i, mutable_raw_data(x), x.block());
}
void set_result(Program::Repeated& program, std::size_t r, const Tensor& x) {
  program.set_result(r, mutable_raw_data(x), x.block());
}

TEST(Repeated, ReadsAndWritesWhereItIsTold) {
  // A result by a loop and one by a kernel; an argument that is one, a result twice, a constant and a view.
  const Program program(trace({{{4, 6}}, {{6, 6}}}, [](const Tensors& in) -> Tensors {
    const Tensor y = tanh(matmul(in[0], in[1]));
    return {y, cumsum(y, 0), in[0], y, constant({1.0, 2.0}), reshape(y, {24})(Slice{3, 9}), in[0](Slice{1, 3}) * 2.0};
  }));
  const Tensor w = filled({6, 6}, 100);
  Program::Repeated repeated(program);
  repeated.set_input(1, w.block());
  std::vector<Tensors> found, expected;
  std::vector<Tensor> inputs;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(filled({4, 6}, static_cast<std::uint64_t>(i)));
    expected.push_back(run(program, {inputs.back(), w}));
    Tensors results;
    for (const Tensor& like : expected.back()) results.push_back(new_tensor(like.dtype(), like.shape()));
    found.push_back(results);
    set_input(repeated, 0, inputs.back());
    for (std::size_t r = 0; r < results.size(); ++r) set_result(repeated, r, results[r]);
    repeated.run();
    // By a tensor itself, too.
    repeated.set_input(0, inputs.back().block());
    repeated.run();
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t r = 0; r < found[i].size(); ++r) {
      EXPECT_TRUE(same_bits(found[i][r], expected[i][r])) << "run " << i << ", result " << r;
    }
  }
}

TEST(Repeated, CarriesBetweenTwoPlaces) {
  const Program program(trace({{{100}}}, [](const Tensors& in) -> Tensors { return {in[0] * 0.5 + 1.0}; }));
  Tensor expected = filled({100}, 1);
  const Tensor places[] = {testing::run(program, {expected})[0], new_tensor(float32, {100})};
  expected = expected * 0.5 + 1.0;
  Program::Repeated repeated(program);
  for (int i = 0; i < 5; ++i) {
    set_input(repeated, 0, places[i % 2]);
    set_result(repeated, 0, places[(i + 1) % 2]);
    repeated.run();
    expected = expected * 0.5 + 1.0;
  }
  EXPECT_TRUE(same_bits(places[1], expected));
}

TEST(Repeated, UpdatesAVariableWhereItLies) {
  const Variable v(filled({100}, 1));
  const Program program(trace({{{100}}}, [&](const Tensors& in) -> Tensors {
    v.assign_add(in[0] * 2.0);
    return {};
  }));
  ASSERT_TRUE(program.updates_in_place(program.graph().captured[0]));
  const Tensor x = filled({100}, 2), sum = new_tensor(float32, {100});
  std::fill_n(mutable_data<float>(sum), 100, 0.0f);
  Program::Repeated repeated(program);
  EXPECT_TRUE(repeated.reads(0) && repeated.reads(1));
  set_input(repeated, 0, x);
  set_input(repeated, 1, sum);
  set_result(repeated, 0, sum);
  for (int i = 0; i < 3; ++i) repeated.run();
  EXPECT_TRUE(same_bits(sum, x * 2.0 + x * 2.0 + x * 2.0));
  EXPECT_TRUE(same_bits(v.value(), filled({100}, 1)));
}

TEST(Repeated, LeavesTheProgramToOthers) {
  const Program program(trace({{{8}}}, [](const Tensors& in) -> Tensors { return {exp(in[0](Slice{1}))}; }));
  const Tensor x = filled({8}, 1), y = filled({8}, 2);
  const Tensor expected = exp(y(Slice{1}));
  const Tensor out = new_tensor(float32, {7});
  {
    Program::Repeated repeated(program);
    set_input(repeated, 0, x);
    set_result(repeated, 0, out);
    EXPECT_TRUE(same_bits(run(program, {y})[0], expected));
    repeated.run();
    EXPECT_TRUE(same_bits(out, exp(x(Slice{1}))));
  }
  EXPECT_TRUE(same_bits(run(program, {y})[0], expected));
  EXPECT_TRUE(same_bits(out, exp(x(Slice{1}))));
}

}  // namespace
}  // namespace capstan
