// Long tapes and many short ones: no recursion, no growth, nothing kept that nobody needs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/runtime.h"
#include "src/core/context.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

// Resident memory in bytes.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(LongTape, AMillionRecords) {
  const Tensor x = constant(1.0, float64);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) y = y * 1.000001;
  const double want = std::pow(1.000001, 1e6);
  expect_values(tape.gradient(y, x), {want}, 1e-9);
}

TEST(LongTape, AMillionRecordsThatNobodyAsksFor) {
  const Tensor x = constant(1.0);
  {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + x;
  }
  SUCCEED();
}

// Results are numbered, 2^32 to a range. A thread that has used most of one gets another when its
// next tape starts.
TEST(LongThread, NumbersOfResultsAreRenewed) {
  const Tensor x = constant(1.0);
  const auto step = [&] {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y + x;
    return value(tape.gradient(y, x));
  };
  EXPECT_EQ(step(), 101);
  GradientTape old({.persistent = true});
  old.watch(x);
  const Tensor y = x * x;
  old.stop();
  context.next_node = context.nodes_end - 10;
  EXPECT_EQ(step(), 101);
  EXPECT_EQ(step(), 101);
  expect_values(old.gradient(y, x), {2});
}

TEST(Memory, ManySmallStepsDoNotGrow) {
  const Variable w(ones({8, 8})), b(zeros({8}));
  const Tensor x = ones({4, 8});
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      GradientTape tape;
      const Tensor loss = reduce_mean(square(tanh(matmul(x, w) + b)));
      const auto g = tape.gradient(loss, {w, b});
      w.assign_sub(0.01 * g[0]);
      b.assign_sub(0.01 * g[1]);
    }
  };
  steps(2000);
  const std::size_t before = resident();
  steps(8000);
  EXPECT_LE(resident(), before + (std::size_t{1} << 20));
}

TEST(Memory, ASingleUseTapeHoldsNothingAfterItsGradient) {
  const std::size_t before = memory_stats().in_use;
  const Shape large = {64, 512};
  const std::size_t bytes = 64 * 512 * sizeof(float);
  const Tensor x = ones(large);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = sin(y);
  EXPECT_GE(memory_stats().in_use, before + 10 * bytes);
  Tensor g = tape.gradient(y, x);
  EXPECT_EQ(memory_stats().in_use, before + 3 * bytes);  // x, y and g
  y = Tensor(), g = Tensor();
  EXPECT_EQ(memory_stats().in_use, before + bytes);
}

TEST(Memory, OnlyWhatRulesReadIsSaved) {
  const std::size_t before = memory_stats().in_use;
  const Tensor x = ones({64, 512});
  const std::size_t bytes = 64 * 512 * sizeof(float);
  GradientTape tape;
  tape.watch(x);
  // Sums and scalings by numbers save no elements.
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = (y + x) * 2 - 1;
  EXPECT_LE(memory_stats().in_use, before + 3 * bytes);
  expect_values(reduce_max(tape.gradient(y, x)), {1024 + 2046});
}

TEST(Memory, APersistentTapeFreesWhenItDiesOrIsReset) {
  const std::size_t before = memory_stats().in_use;
  const Tensor x = ones({64, 512});
  const std::size_t own = memory_stats().in_use;
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    Tensor y = sin(sin(x));
    Tensor g = tape.gradient(y, x);
    y = Tensor(), g = Tensor();
    EXPECT_GT(memory_stats().in_use, own);
    tape.reset();
    EXPECT_EQ(memory_stats().in_use, own);
    tape.watch(x);
    y = sin(sin(x));
    g = tape.gradient(y, x);
  }
  EXPECT_EQ(memory_stats().in_use, own);
  EXPECT_GT(own, before);
}

TEST(Memory, ATapeThatWatchesNothingHoldsNothing) {
  const std::size_t before = memory_stats().in_use;
  GradientTape tape;
  {
    Tensor y = ones({64, 512});
    for (int i = 0; i < 10; ++i) y = sin(y);
  }
  EXPECT_EQ(memory_stats().in_use, before);
}

}  // namespace
}  // namespace capstan::testing
