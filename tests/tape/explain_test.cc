// explain(): why a gradient is missing.
#include <gtest/gtest.h>

#include <thread>

#include "capstan/error.h"
#include "capstan/function.h"
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
  expect_part(tape.explain(y, x), "passes through floor (op 2 of 4 on the tape), which has no gradient");
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

TEST(Explain, WatchedTooLate) {
  const Tensor x = constant(3.0), w = constant(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(w);
  const Tensor early = x * w;
  const Tensor unseen = x * x;
  tape.watch(x);
  expect_part(tape.explain(early, x), "watched since op 2 of 1 on the tape");
  expect_part(tape.explain(unseen, x), "watch it earlier");
  EXPECT_EQ(tape.explain(x * w, x), "connected");
  expect_missing(tape.gradient(early, x));
  // Another target has nothing to do with when the source was watched.
  EXPECT_EQ(tape.explain(w * w, x).find("earlier"), std::string::npos);
}

TEST(Explain, AVariableThatWasAssigned) {
  const Tensor x = constant(3.0);
  const Variable v(1.0, {.name = "state"});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  v.assign(x * x);
  const Tensor y = v * 2;
  expect_part(tape.explain(y, x), "it reads the variable \"state\", which was assigned in between");
  EXPECT_EQ(tape.explain(y, v), "connected");
  expect_missing(tape.gradient(y, x));
}

TEST(Explain, ComputedWhileTheTapeDidNotRecord) {
  const Tensor x = constant(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor paused;
  {
    const auto pause = tape.stop_recording();
    paused = x * x;
  }
  expect_part(tape.explain(paused, x), "the target was computed while this tape did not record");
  const Tensor y = x * 2;
  expect_part(tape.explain(y, paused), "the source was computed while this tape did not record");
  outer.stop();
  tape.stop();
  expect_part(tape.explain(x * 3, x), "the tape did not record all the time");
}

TEST(Explain, WhatWentOnOutsideOfTheTape) {
  const Tensor x = constant({1.5, 2.5});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor doubled = x * 2;
  const Tensor outside = constant(doubled.to_vector<float>()[0]) * 3;
  expect_part(tape.explain(outside, x), "the tape saw multiply (op 1 of 1 on the tape) last");
  expect_part(tape.explain(outside, x), "to_vector()");
  const Tensor through_integers = cast(cast(doubled, int32) * 2, float32);
  expect_part(tape.explain(through_integers, x), "the tape saw cast (op 2 of 2 on the tape) last");
  expect_missing(tape.gradient(through_integers, x));
}

TEST(Explain, StopGradient) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = stop_gradient(x * x) + 1;
  expect_part(tape.explain(y, x), "stop_gradient");
  expect_missing(tape.gradient(y, x));
}

TEST(Explain, ATapeThatIsUsedUp) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  tape.gradient(y, x);
  expect_error<GradientError>([&] { static_cast<void>(tape.explain(y, x)); }, "this tape was already used");
}

TEST(Explain, AnotherThread) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor there;
  std::thread([&] {
    GradientTape own;
    own.watch(x);
    there = x * x;
    expect_error<GradientError>([&] { static_cast<void>(tape.explain(there, x)); }, "another thread");
  }).join();
  expect_part(tape.explain(there, x), "the target was computed on another thread");
  expect_part(tape.explain(x * 2, there), "the source was computed on another thread");
}

TEST(Explain, AFunctionThatIsOneOp) {
  const Tensor x = constant(1.5), w = constant(2.0);
  GradientTape tape({.persistent = true});
  tape.watch({x, w});
  const auto call = [&](const auto& f) { return function(f, {.name = "step"})(x); };
  const Tensor both = call([&](const Tensor& p) { return w * p; });
  EXPECT_EQ(tape.explain(both, x), "connected");
  EXPECT_EQ(tape.explain(both, w), "connected");
  const Tensor stopped = call([&](const Tensor& p) { return stop_gradient(p) * w; }) * 2;
  expect_part(tape.explain(stopped, x), "passes through stop_gradient in step (op 2 of");
  EXPECT_EQ(tape.explain(stopped, w), "connected");
  expect_missing(tape.gradient(stopped, x));
  const Tensor unused = call([&](const Tensor&) { return w + 1; });
  expect_part(tape.explain(unused, x), "does not depend on the source");
  expect_missing(tape.gradient(unused, x));
  EXPECT_EQ(tape.explain(unused, w), "connected");
  // Several results are those of one op.
  const std::vector<Tensor> results = function([&](const Tensor& p) { return std::vector<Tensor>{p * p, w * 2}; })(x);
  EXPECT_EQ(tape.explain(results[0], x), "connected");
  expect_part(tape.explain(results[1], x), "does not depend on the source");
}

TEST(Explain, WhatWentIntoTheStateOfAVariable) {
  const Variable a(3.0), b(0.0);
  GradientTape tape({.persistent = true});
  b.assign_add(a);
  expect_part(tape.explain(b * b, a), "added to it in place, becomes its state");
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
