// Random programs, run plainly and as functions, must give the same: results, first and second gradients.
//
// A program is a list of instructions over a few inputs, a variable and what it has computed so far. A function agrees
// with its body in every bit, whether its loops are machine code, run over tiles, or are not fused at all, and whether
// the steps that do not wait for each other run in a row or at once; with tapes
// around it, whose rules run in ops that round at other places than loops, it agrees closely in float64.
// CAPSTAN_RANDOM_GRAPHS says how many programs there are; a failure names the number of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"
#include "src/emit/fused_loop.h"
#include "src/graph/program.h"
#include "src/graph/stages.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

enum class Kind : std::uint8_t { kElements, kSums };

struct Instruction {
  int op;
  int a, b, c;
};

struct RandomProgram {
  DType dtype;
  std::int64_t rows, columns;
  std::vector<Tensor> inputs;
  Tensor initial;  // of the variable
  std::vector<Instruction> instructions;
};

constexpr int kElementOps = 22;
constexpr int kAllOps = 38;

// Inputs of one shape, or full ones, a row, a column and a scalar.
RandomProgram make_program(int number, Kind kind) {
  std::mt19937 random(static_cast<unsigned>(number));
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  RandomProgram program;
  program.dtype = below(3) == 0 ? float64 : float32;
  program.rows = 1 + below(below(4) == 0 ? 40 : 6);
  program.columns = 1 + below(below(4) == 0 ? 70 : 9);
  const auto filled = [&](const Shape& shape) {
    return random::uniform(shape, -1, 1, program.dtype, static_cast<std::uint64_t>(number) * 16 + random() % 16);
  };
  const Shape full{program.rows, program.columns};
  program.inputs = {filled(full), filled(full)};
  if (kind == Kind::kSums) {
    program.inputs.insert(program.inputs.end(), {filled({program.columns}), filled({program.rows, 1}), filled({})});
  }
  program.initial = filled(full);
  const int length = 2 + below(30);
  for (int i = 0; i < length; ++i) {
    const int values = static_cast<int>(program.inputs.size()) + i;
    // Late values are read more often than early ones, so that chains become long.
    const auto value = [&] { return below(2) == 0 ? below(values) : values - 1 - below(std::min(values, 4)); };
    program.instructions.push_back({below(kind == Kind::kSums ? kAllOps : kElementOps), value(), value(), value()});
  }
  return program;
}

// Every result is small, so that long chains neither overflow nor vanish.
Tensor run_instruction(const RandomProgram& program, const Instruction& instruction, const std::vector<Tensor>& values,
                       const Variable& variable) {
  const auto at = [&](int i) { return values[static_cast<std::size_t>(i)]; };
  const Tensor x = at(instruction.a);
  const Tensor y = at(instruction.b);
  const Tensor z = at(instruction.c);
  const Shape full{program.rows, program.columns};
  const auto spread = [&](const Tensor& t) { return broadcast_to(t, full); };
  switch (instruction.op) {
    case 0:
      return x + y;
    case 1:
      return x - y;
    case 2:
      return x * y;
    case 3:
      return x / (1.5 + square(y));
    case 4:
      return tanh(x);
    case 5:
      return sigmoid(x) - 0.5;
    case 6:
      return sin(x);
    case 7:
      return exp(minimum(x, 0.5)) - 1.0;
    case 8:
      return log(1.1 + abs(x));
    case 9:
      return sqrt(0.3 + square(x)) - 1.0;
    case 10:
      return maximum(x, y);
    case 11:
      return relu(x - 0.1) + 0.1 * x;
    case 12:
      return where(greater(x, y), x, z);
    case 13:
      return where(logical_and(greater(x, -0.2), less(y, 0.4)), y, x * 0.5);
    case 14:
      return cast(less_equal(x, y), program.dtype) * z;
    case 15:
      return 0.7 * cos(x) + 0.2 * y * z;
    case 16:
      return erf(x);
    case 17:
      return softplus(x) - 0.7;
    case 18:
      return pow(1.2 + tanh(x), 1.7);
    case 19:
      return tanh(reshape(sin(reshape(spread(x), {-1})), full)) * 0.9;
    case 20:
      return variable * tanh(x);
    case 21:
      variable.assign(tanh(variable + 0.1 * spread(x)));
      return variable.value();
    case 22:
      return x - reduce_mean(x);
    case 23:
      return reduce_sum(tanh(x * y)) * 0.01;
    case 24:
      return reduce_mean(spread(x) * y, 0);
    case 25:
      return reduce_sum(spread(x) * spread(y), 1, {.keepdims = true}) * 0.1;
    case 26:
      return softmax(spread(x));
    case 27:
      return matmul(matmul(spread(x), spread(y), {.transpose_b = true}), spread(z)) * 0.02;
    case 28:
      return transpose(tanh(transpose(spread(x)))) + y;
    case 29:
      return concat({spread(x), spread(y)}, 0)(slice(0, program.rows)) - z;
    case 30:
      return reduce_max(spread(x), 1, {.keepdims = true}) * y;
    case 31:
      return broadcast_to(tanh(reduce_mean(x)), full) * y;
    case 32:
      return stop_gradient(x) * y;
    case 33:
      return reduce_sum(square(spread(x)), 0) * 0.05;
    case 34:
      return -(-(x * 1.0 - 0.0)) + tanh(y);
    case 35:
      return transpose(transpose(spread(maximum(x, x)))) * 0.8;
    case 36:
      return where(greater(y, 0.0), x, x) * 0.9;
    default:
      return reduce_max(expand_dims(spread(x), 1), 1) * y;
  }
}

std::vector<Tensor> run_forward(const RandomProgram& program, const std::vector<Tensor>& inputs,
                                const Variable& variable) {
  std::vector<Tensor> values = inputs;
  for (const Instruction& instruction : program.instructions) {
    values.push_back(run_instruction(program, instruction, values, variable));
  }
  return {values[values.size() - 1], values[values.size() - 2], values[values.size() / 2]};
}

// The program as the body of a loop, as a branch, and over rows.
std::vector<Tensor> run_in_parts(const RandomProgram& program, const std::vector<Tensor>& inputs,
                                 const Variable& variable) {
  const auto body = [&](const Tensor& a, const Tensor& b) {
    std::vector<Tensor> all = inputs;
    all[0] = a;
    all[1] = b;
    return tanh(broadcast_to(run_forward(program, all, variable)[0], a.shape()));
  };
  const auto [count, a, b] = while_loop(
      [](const Tensor& i, const Tensor&, const Tensor&) { return i < 3; },
      [&](const Tensor& i, const Tensor& x, const Tensor& y) { return std::tuple(i + 1, body(x, y), x * 0.5); },
      std::tuple(constant(0), inputs[0], inputs[1]));
  const Tensor chosen = cond(
      reduce_mean(a) > 0.0, [&a = a, &b = b, &body] { return body(a, b); }, [&b = b] { return b; });
  return {count, b, chosen, scan(body, stack({a, inputs[0], b}), chosen)};
}

// The results, with their first and second gradients.
template <class F>
std::vector<Tensor> with_gradients(const F& f, const std::vector<Tensor>& inputs) {
  GradientTape outer;
  outer.watch(inputs);
  std::vector<Tensor> all;
  std::vector<Tensor> gradients;
  {
    GradientTape tape;
    tape.watch(inputs);
    all = f(inputs);
    gradients = tape.gradient(all, inputs, {.unconnected_gradients = UnconnectedGradients::kZero});
  }
  const std::vector<Tensor> second =
      outer.gradient(gradients, inputs, {.unconnected_gradients = UnconnectedGradients::kZero});
  all.insert(all.end(), gradients.begin(), gradients.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

bool is_close(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const std::vector<double> x = a.to_vector<double>();
  const std::vector<double> y = b.to_vector<double>();
  double largest = 1;
  for (const double v : y) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool both = std::isnan(x[i]) && std::isnan(y[i]);
    if (!both && !(std::abs(x[i] - y[i]) <= 1e-9 * largest)) return false;
  }
  return true;
}

void expect_agreement(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, const char* how,
                      bool (*agree)(const Tensor&, const Tensor&) = testing::same_bits) {
  ASSERT_EQ(actual.size(), expected.size()) << how;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(agree(actual[i], expected[i])) << how << ", value " << i << "\n"
                                               << actual[i].to_string() << "\ninstead of\n"
                                               << expected[i].to_string();
  }
}

enum class Loops : std::uint8_t { kMachineCode, kTiles, kNone };

void choose(Loops loops) {
  fuse_loops(loops != Loops::kNone);
  emit_machine_code(loops == Loops::kMachineCode);
  stage_steps(loops == Loops::kMachineCode ? Stages::kWorthwhile : Stages::kAll);
}

void expect_equal_parts(int number, Kind kind) {
  SCOPED_TRACE("program " + std::to_string(number));
  const RandomProgram program = make_program(number, kind);
  const Variable variable(program.initial);
  const auto plain = [&](const std::vector<Tensor>& inputs) { return run_in_parts(program, inputs, variable); };
  const auto after = [&](std::vector<Tensor> all) {
    all.push_back(variable.value());
    variable.assign(program.initial);
    return all;
  };
  const std::vector<Tensor> expected = after(plain(program.inputs));
  for (const Loops loops : {Loops::kMachineCode, Loops::kTiles, Loops::kNone}) {
    choose(loops);
    auto f = function(plain);
    for (int call = 0; call < 2; ++call) {
      const std::vector<Tensor> actual = after(f(program.inputs));
      expect_agreement(actual, expected, ("loops " + std::to_string(static_cast<int>(loops))).c_str());
    }
  }
  choose(Loops::kMachineCode);
}

void expect_equal_runs(int number, Kind kind) {
  SCOPED_TRACE("program " + std::to_string(number));
  const RandomProgram program = make_program(number, kind);
  const Variable variable(program.initial);
  const auto after = [&](std::vector<Tensor> all) {
    all.push_back(variable.value());
    variable.assign(program.initial);
    return all;
  };
  const auto plain = [&](const std::vector<Tensor>& inputs) { return run_forward(program, inputs, variable); };
  const std::vector<Tensor> expected = after(with_gradients(plain, program.inputs));
  const auto traced_as = [&](Loops loops, std::size_t budget = 0) {
    choose(loops);
    auto f = function([&](const std::vector<Tensor>& inputs) { return with_gradients(plain, inputs); },
                      {.memory_budget = budget});
    std::vector<Tensor> first = after(f(program.inputs));
    // The second call runs with what the first has left behind.
    expect_agreement(after(f(program.inputs)), first, "the second call");
    return first;
  };
  expect_agreement(traced_as(Loops::kMachineCode), expected, "fused, in machine code");
  expect_agreement(traced_as(Loops::kTiles), expected, "fused, in tiles");
  expect_agreement(traced_as(Loops::kNone), expected, "op by op");
  // Slow to plan, as all that can be computed again is.
  if (number % 5 == 0) {
    const Loops loops = number % 2 == 0 ? Loops::kMachineCode : Loops::kNone;
    expect_agreement(traced_as(loops, 1), expected, "in little memory");
  }
  choose(Loops::kMachineCode);
  if (program.dtype == float64) {
    // Run again for its gradients, which are summed in another order.
    auto f = function([&](const std::vector<Tensor>& inputs) {
      const auto again =
          recompute_grad([&](const std::vector<Tensor>& values) { return run_forward(program, values, variable); });
      return with_gradients([&](const std::vector<Tensor>& values) { return again(values); }, inputs);
    });
    expect_agreement(after(f(program.inputs)), expected, "recomputed", is_close);
  }

  // The function is the forward pass alone, the tapes are outside.
  auto forward = function(plain);
  if (program.dtype == float64) {
    GradientTape tape;
    tape.watch(program.inputs);
    std::vector<Tensor> once = forward(program.inputs);
    const std::vector<Tensor> gradients =
        tape.gradient(once, program.inputs, {.unconnected_gradients = UnconnectedGradients::kZero});
    once.insert(once.end(), gradients.begin(), gradients.end());
    expect_agreement(once, {expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(once.size())},
                     "a tape around it", is_close);
    variable.assign(program.initial);
  }
  const auto call = [&](const std::vector<Tensor>& inputs) { return forward(inputs); };
  const std::vector<Tensor> all = with_gradients(call, program.inputs);
  if (program.dtype == float64) expect_agreement(after(all), expected, "tapes around it", is_close);
  variable.assign(program.initial);
}

int program_count() {
  const char* count = std::getenv("CAPSTAN_RANDOM_GRAPHS");
  return count == nullptr ? 250 : std::atoi(count) / 2;
}

TEST(RandomGraph, OfElements) {
  for (int i = 0; i < program_count() && !HasFailure(); ++i) expect_equal_runs(i, Kind::kElements);
}

TEST(RandomGraph, WithBroadcastsAndSums) {
  for (int i = 0; i < program_count() && !HasFailure(); ++i) expect_equal_runs(1000000 + i, Kind::kSums);
}

TEST(RandomGraph, InPartsOfControlFlow) {
  for (int i = 0; i < program_count() && !HasFailure(); ++i) {
    expect_equal_parts(2000000 + i, i % 2 == 0 ? Kind::kElements : Kind::kSums);
  }
}

}  // namespace
}  // namespace capstan
