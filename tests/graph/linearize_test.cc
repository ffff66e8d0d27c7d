// Where the values of programs lie.
#include <gtest/gtest.h>

#include "capstan/ops/host.h"
#include "capstan/optimizers.h"
#include "src/core/variable_state.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"

namespace capstan {
namespace {

using testing::Body;
using testing::filled;
using testing::run;
using testing::Tensors;
using testing::trace;
using testing::trace_like;

TEST(MemoryPlan, ValuesShareTheArena) {
  const Graph graph = trace({{{32, 32}}}, [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 10; ++i) x = matmul(x, in[0]) * 0.1;
    return {reduce_max(x)};
  });
  const Program program(graph);
  testing::expect_apart(program);
  EXPECT_EQ(testing::bytes_without_sharing(program), 20u * 4096);
  // A product needs a place beside its operand; the loop writes where it reads.
  EXPECT_EQ(program.arena_bytes(), 2u * 4096);
}

TEST(MemoryPlan, WhatAFusedLoopKeepsToItselfHasNoPlace) {
  const Graph graph = trace({{{64}}}, [](const Tensors& in) -> Tensors { return {exp(tanh(in[0]) * 2.0)}; });
  EXPECT_EQ(Program(graph).arena_bytes(), 0u);
  fuse_loops(false);
  EXPECT_EQ(Program(graph).arena_bytes(), 256u);
  fuse_loops(true);
}

TEST(MemoryPlan, ViewsLieInTheirBaseAndKeepIt) {
  const Tensors x = {filled({8, 16}, 1), filled({16, 8}, 2)};
  testing::expect_same_runs(x, [](const Tensors& in) -> Tensors {
    const Tensor product = matmul(in[0], in[1]);
    const Tensor view = reshape(product, {4, 16});
    Tensor other = matmul(in[0], in[1] * 2.0);
    other = matmul(other, other);
    return {matmul(view, in[1]) + 0.5, reduce_max(other), transpose(view)};
  });
  // Parts of a value in the arena, of which the run knows the place only while it runs.
  testing::expect_same_runs(x, [](const Tensors& in) -> Tensors {
    const Tensor product = matmul(in[0], in[1]);
    const Tensors rows = unstack(product);
    Tensor other = matmul(in[0] * 3.0, in[1]);
    other = matmul(other, other);
    return {matmul(reshape(rows[3], {1, 8}), other), rows[5], product(slice(2, 5))};
  });
}

TEST(MemoryPlan, AnOperandThatIsReadTwiceIsNotOverwritten) {
  fuse_loops(false);
  testing::expect_same_runs({filled({5, 5}, 3)}, [](const Tensors& in) -> Tensors {
    const Tensor x = matmul(in[0], in[0]);
    const Tensor flat = reshape(x, {25});
    return {matmul(x * reshape(flat, {5, 5}), in[0]), reduce_max(exp(x) + x)};
  });
  fuse_loops(true);
}

TEST(MemoryPlan, RandomGraphsKeepLiveValuesApart) {
  for (std::uint64_t seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fuse_loops(seed % 3 != 0);
    testing::expect_same_runs({filled({4, 4}, seed), filled({4, 4}, seed + 1000), filled({4}, seed + 2000)},
                              [seed](const Tensors& in) { return testing::random_steps(seed, 25, in); });
  }
  fuse_loops(true);
}

// --- Variables where they lie ---

const void* data_of(const Variable& v) { return v.state()->value.block()->data; }

TEST(InPlace, AVariableIsUpdatedWhereItLies) {
  const Variable v(filled({100}, 5));
  const Program program(trace({{{100}}}, [&](const Tensors& in) -> Tensors {
    v.assign(v - 0.1 * tanh(in[0]));
    return {};
  }));
  run(program, {filled({100}, 6)});
  const void* const before = data_of(v);
  run(program, {filled({100}, 6)});
  EXPECT_EQ(data_of(v), before);
}

TEST(InPlace, WhatSomebodyElseHoldsIsNotOverwritten) {
  const Variable v(filled({100}, 5));
  const Program program(trace({{{100}}}, [&](const Tensors& in) -> Tensors {
    v.assign(v - 0.1 * tanh(in[0]));
    return {};
  }));
  const Tensors x = {filled({100}, 6)};
  run(program, x);
  const Tensor held = v.value();
  const Tensor copied = testing::copy(held);
  run(program, x);
  EXPECT_TRUE(testing::same_bits(held, copied));
  EXPECT_FALSE(testing::same_bits(v.value(), copied));
}

TEST(InPlace, WhatFailsLaterChangesNothing) {
  const Variable v({1.0, 2.0, 3.0});
  const Variable w({4.0, 5.0, 6.0});
  const Program program(trace({{{3}}}, [&](const Tensors& in) -> Tensors {
    v.assign(v + in[0]);
    w.assign_sub(in[0] * 2.0);
    debugging::assert_positive(in[0]);
    return {};
  }));
  for (int i = 0; i < 2; ++i) run(program, {constant({1.0, 1.0, 1.0})});
  EXPECT_EQ(v.value().to_vector<double>(), (std::vector<double>{3, 4, 5}));
  for (int i = 0; i < 2; ++i) EXPECT_THROW(run(program, {constant({1.0, -1.0, 1.0})}), Error);
  EXPECT_EQ(v.value().to_vector<double>(), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(w.value().to_vector<double>(), (std::vector<double>{0, 1, 2}));
  // And the program still works.
  run(program, {constant({1.0, 1.0, 1.0})});
  EXPECT_EQ(v.value().to_vector<double>(), (std::vector<double>{4, 5, 6}));
}

// What the optimizer counts in C++ when all is done comes before the update, as it may fail.
TEST(InPlace, AnOptimizerWritesWhereItsVariablesLie) {
  const Variable v(filled({100}, 5));
  const optimizers::Adam optimizer;
  bool fails = false;
  const Program program(trace({{{100}}}, [&](const Tensors& in) -> Tensors {
    optimizer.apply_gradients({in[0]}, {v});
    return {host_value([&] { return fails ? throw ValueError("host") : 1.0; })};
  }));
  const Tensors x = {filled({100}, 6)};
  run(program, x);
  const void* const before = data_of(v);
  run(program, x);
  EXPECT_EQ(data_of(v), before);
  const Tensor value = testing::copy(v.value());
  fails = true;
  EXPECT_THROW(run(program, x), ValueError);
  EXPECT_TRUE(testing::same_bits(v.value(), value));
  fails = false;
  run(program, x);
  EXPECT_FALSE(testing::same_bits(v.value(), value));
}

TEST(InPlace, TheOldValueIsStillThereForWhoReadsIt) {
  const std::vector<Variable> variables = {Variable(filled({3, 4}, 1)), Variable(filled({3, 4}, 2))};
  const Variable& v = variables[0];
  const Variable& w = variables[1];
  const Tensors x = {filled({3, 4}, 3), filled({4}, 4)};
  const Body bodies[] = {
      // Read behind the write, returned, and as an operand that is stretched.
      [&](const Tensors& in) -> Tensors {
        const Tensor old = v.value();
        v.assign(old * in[0]);
        return {old + 1.0, old};
      },
      // Swapped.
      [&](const Tensors&) -> Tensors {
        const Tensor old = v.value();
        v.assign(w);
        w.assign(old);
        return {};
      },
      // Each from both.
      [&](const Tensors& in) -> Tensors {
        const Tensor a = v.value();
        const Tensor b = w.value();
        v.assign(a * b);
        w.assign(a + b * in[1]);
        return {v.value() - w};
      },
      // One value for two.
      [&](const Tensors& in) -> Tensors {
        const Tensor next = v + in[0];
        v.assign(next);
        w.assign(next);
        return {};
      },
      // A view of the old value becomes the new one of another.
      [&](const Tensors& in) -> Tensors {
        w.assign(reshape(reshape(v, {12}), {3, 4}));
        v.assign(v * 2.0 + in[0]);
        return {};
      },
      // In another order of elements.
      [&](const Tensors&) -> Tensors {
        v.assign(reshape(transpose(v), {3, 4}) + v);
        w.assign(reverse(w, {0}));
        return {};
      },
      // A row of it, for all rows.
      [&](const Tensors&) -> Tensors {
        v.assign(v * v.value()(0) + reduce_sum(v, 0));
        return {};
      },
  };
  int number = 0;
  for (const Body& body : bodies) {
    SCOPED_TRACE("body " + std::to_string(number++));
    for (const bool fuse : {true, false}) {
      fuse_loops(fuse);
      testing::expect_same_runs(x, body, variables);
    }
  }
  fuse_loops(true);
}

// More values than there are registers: what is read again late must not have been overwritten.
TEST(InPlace, ManyVariablesEachFromAllOthers) {
  for (const std::size_t count : {3, 12, 20}) {
    for (const DType dtype : {float32, float64}) {
      for (const Shape& shape : {Shape{5}, Shape{1000}, Shape{70000}, Shape{30, 7}}) {
        std::vector<Variable> variables;
        for (std::size_t i = 0; i < count; ++i) variables.emplace_back(filled(shape, i, dtype));
        testing::expect_same_runs(
            {filled({shape[-1]}, 99, dtype)},
            [&](const Tensors& in) -> Tensors {
              Tensors old;
              for (const Variable& variable : variables) old.push_back(variable.value());
              for (std::size_t i = 0; i < count; ++i) {
                Tensor next = old[i] * in[0];
                for (std::size_t k = 0; k < count; ++k) {
                  next = next * 0.5 + old[(i * 7 + k * 5) % count] * (0.1 * static_cast<double>(k));
                }
                variables[i].assign(next);
              }
              return {};
            },
            variables);
      }
    }
  }
}

TEST(InPlace, AVariableThatIsAnArgumentTooIsNotOverwritten) {
  const Variable v(filled({6}, 7));
  const Program program(trace({{{6}}}, [&](const Tensors& in) -> Tensors {
    v.assign(v + 1.0);
    return {in[0] * 2.0};
  }));
  run(program, {filled({6}, 8)});
  const Tensor held = v.value();
  const Tensor expected = held * 2.0;
  EXPECT_TRUE(testing::same_bits(run(program, {held})[0], expected));
}

}  // namespace
}  // namespace capstan
