// explain(): why a gradient is missing.
#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Explain, NeverWatched) {
  const Tensor x = constant(3.0);
  const Variable frozen(1.0, {.trainable = false, .name = "frozen"});
  GradientTape tape;
  const Tensor y = x * x * frozen;
  expect_part(tape.explain(y, x), "never watched");
  expect_part(tape.explain(y, frozen), "\"frozen\" was never watched");
}

TEST(Explain, NotConnected) {
  const Tensor x = constant(3.0), z = constant(4.0);
  GradientTape tape;
  tape.watch(std::vector{x, z});
  const Tensor y = x * x;
  expect_part(tape.explain(y, z), "does not depend on the source");
  expect_part(tape.explain(constant(1.0), x), "not computed from anything that the tape watches");
}

TEST(Explain, CutByAnOpWithoutGradient) {
  const Tensor x = constant({1.5, 2.5});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = reduce_sum(floor(x * 2) * 3);
  expect_part(tape.explain(y, x), "passes through floor, which has no gradient");
  const Tensor stopped = stop_gradient(x) * 2;
  expect_part(tape.explain(stopped, x), "stop_gradient");
  expect_missing(tape.gradient(y, x));
  // One way with a gradient is enough.
  const Tensor both = y + reduce_sum(x);
  EXPECT_EQ(tape.explain(both, x), "connected");
  expect_part(tape.explain(argmax(x), x), "argmax");
}

TEST(Explain, Integers) {
  const Tensor x = constant({1.5, 2.5}), i = constant({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{x, i});
  expect_part(tape.explain(cast(x, int32), x), "the target is int32");
  expect_part(tape.explain(cast(i, float32) * 2, i), "the source is int32");
}

// What it says agrees with what gradient() gives.
TEST(Explain, AgreesWithGradient) {
  const Tensor x = constant({1.5, 2.5});
  const Variable v(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> parts = split(x * v, 2);
  const std::vector<Tensor> targets = {x,
                                       x * 2,
                                       parts[0],
                                       floor(x),
                                       floor(x) + x,
                                       round(x * v),
                                       stack({x, x}),
                                       cast(cast(x, int32), float32),
                                       constant(1.0)};
  for (const Tensor& target : targets) {
    EXPECT_EQ(tape.explain(target, x) == "connected", tape.gradient(target, x).has_value());
    EXPECT_EQ(tape.explain(target, v) == "connected", tape.gradient(target, v).has_value());
    EXPECT_EQ(tape.explain(target, parts[1]) == "connected", tape.gradient(target, parts[1]).has_value());
  }
}

}  // namespace
}  // namespace capstan::testing
