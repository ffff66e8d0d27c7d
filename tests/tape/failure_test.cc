// Rules that throw, and rules that misuse the tape whose gradient runs: nothing is left half-way.
#include <gtest/gtest.h>

#include <stdexcept>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/runtime.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;

struct Thrown {};

// x * 2, whose rule calls `rule` first.
Tensor with_rule(const Tensor& x, const std::function<void()>& rule) {
  return custom_gradient(
      [&](In in) -> CustomGradientResult {
        return {{in[0] * 2}, [rule](In g) -> Out {
                  rule();
                  return {2 * g[0]};
                }};
      },
      {x})[0];
}

// Large enough to be counted by the allocator.
const Shape kLarge = {64, 512};

TEST(ThrowingRule, UsesUpASingleUseTapeAndFreesWhatItHeld) {
  const std::size_t before = memory_stats().in_use;
  {
    const Tensor x = ones(kLarge);
    GradientTape tape;
    tape.watch(x);
    Tensor y = x * x;
    for (int i = 0; i < 5; ++i) y = exp(y * 0.001);
    y = with_rule(y, [] { throw Thrown(); });
    for (int i = 0; i < 5; ++i) y = y * y;
    EXPECT_THROW(tape.gradient(y, x), Thrown);
    EXPECT_FALSE(tape.is_recording());
    expect_error<GradientError>([&] { tape.gradient(y, x); }, "already used");
    y = Tensor();
    // Only x is left.
    EXPECT_EQ(memory_stats().in_use - before, static_cast<std::size_t>(x.size()) * sizeof(float));
    // A fresh start works.
    tape.start();
    tape.watch(x);
    const Tensor z = reduce_sum(x * 3);
    EXPECT_EQ(value(reduce_sum(tape.gradient(z, x))), 3.0 * 64 * 512);
  }
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(ThrowingRule, LeavesAPersistentTapeUsable) {
  const std::size_t before = memory_stats().in_use;
  {
    const Tensor x = ones(kLarge);
    bool fail = true;
    GradientTape tape({.persistent = true});
    tape.watch(x);
    Tensor y = with_rule(x * x, [&] {
      if (fail) throw Thrown();
    });
    const Tensor z = y * y;
    // While it records, a tape also keeps what the rules computed before one threw.
    EXPECT_THROW(tape.gradient(z, x), Thrown);
    EXPECT_TRUE(tape.is_recording());
    tape.stop();
    const std::size_t recorded = memory_stats().in_use;
    for (int i = 0; i < 3; ++i) EXPECT_THROW(tape.gradient(z, x), Thrown);
    EXPECT_EQ(memory_stats().in_use, recorded);
    fail = false;
    const Tensor g = tape.gradient(z, x);
    // z = 4 x^4
    EXPECT_EQ(value(g(0, 0)), 16);
  }
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(ThrowingRule, DoesNotDisturbTheTapesAround) {
  const Tensor x = constant(3.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = with_rule(x * x, [] { throw Thrown(); });
  EXPECT_THROW(inner.gradient(y, x), Thrown);
  EXPECT_TRUE(outer.is_recording());
  const Tensor z = x * x * x;
  expect_values(outer.gradient(z, x), {27});
}

TEST(RuleThatMisusesTheTape, SingleUse) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x * x;
  const Tensor target = with_rule(y, [&] {
    expect_error<GradientError>([&] { tape.gradient(y, x); }, "already used");
    expect_error<GradientError>([&] { tape.start(); }, "gradient() is running");
    expect_error<GradientError>([&] { tape.reset(); }, "not recording");
    tape.watch(y);
    tape.stop();
  });
  expect_values(tape.gradient(target, x), {12});
  EXPECT_FALSE(tape.is_recording());
}

TEST(RuleThatMisusesTheTape, Persistent) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  int runs = 0;
  const Tensor target = with_rule(y, [&] {
    ++runs;
    expect_error<GradientError>([&] { tape.reset(); }, "gradient() is running");
    // A second gradient of the same tape inside the first is allowed.
    expect_values(tape.gradient(y, x), {6});
    const auto pause = tape.stop_recording();
    expect_values(x * 5, {15});
  });
  expect_values(tape.gradient(target, x), {12});
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(tape.is_recording());
  tape.reset();
}

TEST(RuleThatMisusesTheTape, ReadsAVariableForTheFirstTime) {
  const Tensor x = constant(3.0);
  const Variable v(5.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor target = with_rule(x * x, [&] { EXPECT_EQ(v.item<float>(), 5); });
  const auto g = tape.gradient(target, {x, v});
  expect_values(g[0], {12});
  expect_missing(g[1]);
}

TEST(FailingOps, LeaveTheTapeUsable) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_THROW(y + ones({3}), ShapeError);
  EXPECT_THROW(y * ones({2}, float64), DTypeError);
  EXPECT_THROW(gather(y, constant({7})), IndexError);
  EXPECT_THROW(y + Tensor(), ValueError);
  const Tensor z = y * x;
  expect_values(tape.gradient(z, x), {3, 12});
}

}  // namespace
}  // namespace capstan::testing
