// Fused loops of many formulas: against the same formulas one after the other.
#include "src/emit/fused_loop.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "src/emit/code_memory.h"
#include "tests/emit/loop_reference.h"

namespace capstan::testing {
namespace {

using Access = FusedLoop::Access;
using Store = FusedLoop::Store;

// Runs `check(set, T{})` for every instruction set and both types.
template <class Check>
void for_all(const Check& check) {
  for (const int set : emitting_sets()) {
    check(set, float{});
    check(set, double{});
  }
}

std::string described(int set, std::size_t bytes) {
  return std::string(set == kAvx512 ? "avx512" : "avx2") + (bytes == 4 ? ", float32" : ", float64");
}

TEST(FusedLoop, ComputesAChain) {
  for_all([](int set, auto zero) {
    using T = decltype(zero);
    for (const std::int64_t n : {0, 1, 7, 8, 15, 16, 17, 33, 100, 1000}) {
      Random random("chain");
      LoopCase<T> c(1, n);
      const int x = c.add_input(Access::kFull, random);
      const int g = c.add_input(Access::kScalar, random, false, true);
      const int t = c.add_node(formula("tanh"), {x});
      const int e = c.add_node(formula("exp"), {t});
      const int r = c.add_node(formula("relu"), {e});
      const int dr = c.add_node(formula("relu/0"), {g, e, -1, -1, r});
      const int de = c.add_node(formula("exp/0"), {dr, t, -1, -1, e});
      const int dx = c.add_node(formula("tanh/0"), {de, x, -1, -1, t});
      c.loop.outputs = {{r, Store::kSum}, {dx, Store::kFull}};
      c.check(set, described(set, sizeof(T)) + ", " + std::to_string(n) + " elements");
    }
  });
}

TEST(FusedLoop, ReadsRowsAndColumns) {
  for_all([](int set, auto zero) {
    using T = decltype(zero);
    for (const std::int64_t rows : {0, 1, 2, 5}) {
      for (const std::int64_t columns : {1, 3, 8, 16, 19, 40, 64}) {
        Random random("rows");
        LoopCase<T> c(rows, columns);
        const int x = c.add_input(Access::kFull, random);
        const int row = c.add_input(Access::kRow, random);
        const int column = c.add_input(Access::kColumn, random);
        const int scalar = c.add_input(Access::kScalar, random);
        const int mask_row = c.add_input(Access::kRow, random, true);
        const int mask_column = c.add_input(Access::kColumn, random, true);
        const int mask_scalar = c.add_input(Access::kScalar, random, true);
        const int a = c.add_node(formula("add"), {x, row});
        const int b = c.add_node(formula("multiply"), {a, column});
        const int d = c.add_node(formula("maximum"), {b, scalar});
        const int e = c.add_node(formula("add"), {d, mask_row});
        const int f = c.add_node(formula("subtract"), {e, mask_column});
        const int g = c.add_node(formula("add"), {f, mask_scalar});
        const int less = c.add_node(formula("less"), {g, x});
        c.loop.outputs = {{g, Store::kFull}, {g, Store::kSum}, {b, Store::kFull}, {less, Store::kFull}};
        c.check(set, described(set, sizeof(T)));
        // The first output in the memory of the first input.
        c.check(set, described(set, sizeof(T)) + ", in place", 0);
      }
    }
  });
}

TEST(FusedLoop, PassesInputsOn) {
  for_all([](int set, auto zero) {
    using T = decltype(zero);
    for (std::int64_t n = 0; n < 40; ++n) {
      Random random("passes");
      LoopCase<T> c(1, n);
      const int x = c.add_input(Access::kFull, random);
      const int truth = c.add_input(Access::kFull, random, true);
      const int scalar = c.add_input(Access::kScalar, random);
      c.loop.outputs = {{x, Store::kFull}, {truth, Store::kFull}, {scalar, Store::kFull}, {x, Store::kSum}};
      c.check(set, described(set, sizeof(T)) + ", " + std::to_string(n) + " elements");
    }
  });
}

// Random formulas over random values; the result of any may be an output.
template <class T>
LoopCase<T> random_case(Random& random, int nodes, int inputs, int outputs, bool repeats) {
  LoopCase<T> c(repeats ? random.integer(1, 4) : 1, random.integer(1, 70));
  for (int k = 0; k < inputs; ++k) {
    const auto kind = random.integer(0, 9);
    Access access = Access::kFull;
    if (kind < 2) access = Access::kScalar;
    if (repeats && kind == 2) access = Access::kRow;
    if (repeats && kind == 3) access = Access::kColumn;
    c.add_input(access, random, random.integer(0, 5) == 0);
  }
  const auto any_value = [&] {
    return static_cast<int>(
        random.integer(0, static_cast<std::int64_t>(c.loop.inputs.size() + c.loop.nodes.size()) - 1));
  };
  for (int k = 0; k < nodes; ++k) {
    const Formula& f =
        formulas()[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(formulas().size()) - 1))];
    std::vector<int> operands(5, -1);
    for (std::size_t p = 0; p < 5; ++p) {
      if ((f.reads >> p & 1) != 0) operands[p] = any_value();
    }
    c.add_node(f, operands);
  }
  for (int k = 0; k < outputs; ++k) {
    const int value = any_value();
    Store store = Store::kFull;
    if (!c.is_boolean(value)) {
      const auto kind = random.integer(0, 3);
      if (kind == 0) store = Store::kSum;
    }
    c.loop.outputs.push_back({value, store});
  }
  bool repeating = false;
  for (const FusedLoop::Input& input : c.loop.inputs) {
    repeating = repeating || input.access == Access::kRow || input.access == Access::kColumn;
  }
  if (!repeating) {
    c.columns *= c.rows;  // as callers do
    c.rows = 1;
  }
  return c;
}

TEST(FusedLoop, ComputesRandomGraphs) {
  for_all([](int set, auto zero) {
    using T = decltype(zero);
    for (int seed = 0; seed < 400; ++seed) {
      Random random("graph " + std::to_string(seed));
      const auto nodes = static_cast<int>(random.integer(5, 60));
      const auto inputs = static_cast<int>(random.integer(1, 20));
      const auto outputs = static_cast<int>(random.integer(1, 12));
      const LoopCase<T> c = random_case<T>(random, nodes, inputs, outputs, seed % 2 == 0);
      c.check(set, described(set, sizeof(T)) + ", graph " + std::to_string(seed));
      if (::testing::Test::HasFatalFailure()) return c.explain(set);
    }
  });
}

TEST(FusedLoop, HasRoomForEveryThing) {
  for_all([](int set, auto zero) {
    using T = decltype(zero);
    // All inputs and all nodes are needed at the end: nothing fits into registers.
    Random random("large");
    LoopCase<T> c(2, 37);
    std::vector<int> values;
    for (int k = 0; k < 20; ++k) values.push_back(c.add_input(k % 5 == 4 ? Access::kRow : Access::kFull, random));
    for (int k = 0; k < 120; ++k) {
      const auto at = static_cast<std::size_t>(k);
      values.push_back(c.add_node(formula(k % 3 == 0 ? "multiply" : "add"), {values[at], values[at + 3]}));
    }
    for (int k = 0; k < 60; ++k)
      values.push_back(c.add_node(formula("less"), {values[static_cast<std::size_t>(k)], 3}));
    int sum = values[0];
    for (std::size_t k = 1; k < values.size(); ++k) sum = c.add_node(formula("add"), {sum, values[values.size() - k]});
    c.loop.outputs.push_back({sum, Store::kFull});
    for (std::size_t k = 30; k < 42; ++k) c.loop.outputs.push_back({values[k], Store::kSum});
    for (std::size_t k = 50; k < 62; ++k) c.loop.outputs.push_back({values[k], Store::kFull});
    c.check(set, described(set, sizeof(T)));
  });
}

// `where` and its derivatives, and conversions, by hand: what they read differs in type.
TEST(FusedLoop, ChoosesAndConverts) {
  for_all([](int set, auto zero) {
    using T = decltype(zero);
    const OpDef* where = find_op("where");
    ASSERT_NE(where, nullptr);
    Random random("where");
    for (std::size_t n = 1; n < 40; ++n) {
      const std::vector<T> x = numbers<T>(n, random), y = numbers<T>(n, random);
      std::vector<unsigned char> truth(n);
      for (unsigned char& t : truth) t = static_cast<unsigned char>(random.integer(0, 1));
      FusedLoop loop;
      loop.dtype = dtype_of<T>();
      loop.inputs = {{Access::kFull, true}, {Access::kFull}, {Access::kFull}};
      loop.nodes = {{&where->formula->forward, {0, 1, 2}},
                    {&where->formula->vjp[1], {1, 0}},
                    {&where->formula->vjp[2], {1, 0}},
                    {&kConversion, {0}},
                    {&kConversion, {1}, {}, true}};
      for (int k = 0; k < 5; ++k) loop.outputs.push_back({3 + k, Store::kFull});
      const FusedKernel kernel = emit_fused_loop(loop, set);
      ASSERT_NE(kernel, nullptr);
      Guarded<T> chosen(n), first(n), second(n), number(n);
      Guarded<bool> nonzero(n);
      const void* in[] = {truth.data(), x.data(), y.data()};
      void* out[] = {chosen.data(), first.data(), second.data(), number.data(), nonzero.data()};
      kernel({in, out, 1, static_cast<std::int64_t>(n)});
      for (std::size_t i = 0; i < n; ++i) {
        const bool t = truth[i] != 0;
        EXPECT_TRUE(same_bits(chosen[i], t ? x[i] : y[i])) << i << " of " << n;
        EXPECT_TRUE(same_bits(first[i], t ? x[i] : T(0))) << i << " of " << n;
        EXPECT_TRUE(same_bits(second[i], t ? T(0) : x[i])) << i << " of " << n;
        EXPECT_TRUE(same_bits(number[i], t ? T(1) : T(0))) << i << " of " << n;
        EXPECT_EQ(nonzero[i], x[i] != 0) << i << " of " << n;
      }
      EXPECT_TRUE(chosen.intact() && first.intact() && second.intact() && number.intact() && nonzero.intact());
    }
  });
}

// What is no loop gives no kernel.
TEST(FusedLoop, IsNotEmittedForALoopThatMakesNoSense) {
  const MicroCode& add = find_op("add")->formula->forward;
  const MicroCode& less = find_op("less")->formula->forward;
  const auto emits = [](std::vector<FusedLoop::Node> nodes, FusedLoop::Output output) {
    FusedLoop loop;
    loop.dtype = DType::kFloat32;
    loop.inputs = {{Access::kFull}, {Access::kFull}};
    loop.nodes = std::move(nodes);
    loop.outputs = {output};
    return emit_fused_loop(loop) != nullptr;
  };
  EXPECT_EQ(emits({{&add, {0, 1}}}, {2, Store::kFull}), !emitting_sets().empty());
  EXPECT_FALSE(emits({{&add, {0, -1}}}, {2, Store::kFull})) << "an operand is missing";
  EXPECT_FALSE(emits({{&add, {0, 2}}}, {2, Store::kFull})) << "a node reads itself";
  EXPECT_FALSE(emits({{nullptr, {0, 1}}}, {2, Store::kFull})) << "there is no formula";
  EXPECT_FALSE(emits({{&add, {0, 1}}}, {3, Store::kFull})) << "there is no such value";
  EXPECT_FALSE(emits({{&add, {0, 1}}}, {-1, Store::kFull})) << "there is no such value";
  EXPECT_FALSE(emits({{&less, {0, 1}, {}, true}}, {2, Store::kSum})) << "truth values have no sum";
}

TEST(FusedLoop, IsEmittedOnce) {
  if (emitting_sets().empty()) GTEST_SKIP();
  Random random("once");
  LoopCase<float> c(1, 5);
  const int x = c.add_input(Access::kFull, random);
  c.loop.outputs = {{c.add_node(formula("exp"), {x}), Store::kFull}};
  const FusedKernel first = emit_fused_loop(c.loop);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(emit_fused_loop(c.loop), first);
  c.loop.nodes[0].parameters[0] = 2;
  EXPECT_NE(emit_fused_loop(c.loop), first);
}

TEST(FusedLoop, IsNotEmittedWhereThatIsSwitchedOff) {
  Random random("off");
  LoopCase<float> c(1, 5);
  const int x = c.add_input(Access::kFull, random);
  c.loop.outputs = {{c.add_node(formula("exp"), {x}), Store::kFull}};
  emit_machine_code(false);
  EXPECT_EQ(emit_fused_loop(c.loop), nullptr);
  emit_machine_code(true);
  EXPECT_EQ(emit_fused_loop(c.loop) != nullptr, !emitting_sets().empty());
  EXPECT_EQ(emit_fused_loop(c.loop, kPortable), nullptr);
}

// tests/CMakeLists.txt runs this with CAPSTAN_EMIT=0 as well.
TEST(FusedLoop, FollowsTheEnvironment) {
  const char* setting = std::getenv("CAPSTAN_EMIT");
  const bool on = setting == nullptr || std::string(setting) != "0";
  Random random("environment");
  LoopCase<float> c(1, 5);
  const int x = c.add_input(Access::kFull, random);
  c.loop.outputs = {{c.add_node(formula("exp"), {x}), Store::kFull}};
  EXPECT_EQ(emit_fused_loop(c.loop) != nullptr, on && !emitting_sets().empty());
}

TEST(FusedLoop, IsNotEmittedWithoutMemoryForCode) {
  Random random("refused");
  LoopCase<float> c(1, 5);
  const int x = c.add_input(Access::kFull, random);
  const int y = c.add_node(formula("exp"), {x});
  c.loop.outputs = {{c.add_node(formula("sqrt"), {y}), Store::kFull}};
  emit::refuse_code_memory(true);
  EXPECT_EQ(emit_fused_loop(c.loop), nullptr);
  emit::refuse_code_memory(false);
  EXPECT_EQ(emit_fused_loop(c.loop) != nullptr, !emitting_sets().empty());
}

TEST(FusedLoop, IsNotEmittedForWhatHasNoVectorForm) {
  const OpDef* op = find_op("atan2");
  ASSERT_NE(op, nullptr);
  EXPECT_FALSE(can_emit(op->formula->forward));
  FusedLoop loop;
  loop.dtype = DType::kFloat32;
  loop.inputs = {{Access::kFull}, {Access::kFull}};
  loop.nodes.push_back({&op->formula->forward, {0, 1}});
  loop.outputs = {{2, Store::kFull}};
  EXPECT_EQ(emit_fused_loop(loop), nullptr);
}

TEST(FusedLoop, ThreadsEmitAtOnce) {
  if (emitting_sets().empty()) GTEST_SKIP();
  formulas();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int seed = 0; seed < 30; ++seed) {
        // Half of the loops are the same on all threads.
        Random random("thread " + std::to_string(seed % 2 == 0 ? seed : seed * 10 + t));
        random_case<float>(random, 8, 3, 2, false).check(instruction_set(), "thread " + std::to_string(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace capstan::testing
