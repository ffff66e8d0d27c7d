// Threads: each has its own tapes; tensors and variables are shared.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

template <class Body>
void on_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, ATapeBelongsToItsThread) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  on_threads(1, [&](int) {
    const std::string text = "belongs to another thread";
    expect_error<GradientError>([&] { tape.gradient(y, x); }, text);
    expect_error<GradientError>([&] { tape.watch(x); }, text);
    expect_error<GradientError>([&] { tape.start(); }, text);
    expect_error<GradientError>([&] { tape.stop(); }, text);
    expect_error<GradientError>([&] { tape.reset(); }, text);
    expect_error<GradientError>([&] { (void)tape.stop_recording(); }, text);
    expect_error<GradientError>([&] { tape.watched_variables(); }, text);
    expect_error<GradientError>([&] { tape.explain(y, x); }, text);
  });
  EXPECT_TRUE(tape.is_recording());
  expect_values(tape.gradient(y, x), {6});
}

TEST(Threads, WorkOfOthersIsNotRecorded) {
  const Variable v(3.0);
  GradientTape tape;
  Tensor elsewhere;
  on_threads(1, [&](int) { elsewhere = v * v; });
  EXPECT_TRUE(tape.watched_variables().empty());
  const Tensor y = elsewhere * v;
  expect_values(tape.gradient(y, v), {9});
}

TEST(Threads, ResultsOfAnotherThreadsTapeAreConstants) {
  const Variable v(3.0);
  Tensor elsewhere;
  on_threads(1, [&](int) {
    GradientTape theirs;
    elsewhere = v * v;
    expect_values(theirs.gradient(elsewhere, v), {6});
  });
  GradientTape tape;
  const Tensor y = elsewhere * v;
  const auto g = tape.gradient(y, {v, elsewhere});
  expect_values(g[0], {9});
  expect_missing(g[1]);
}

TEST(Threads, ManyTapesOverSharedTensorsAndVariables) {
  const Variable w(ones({8, 8})), frozen(ones({8}), {.trainable = false});
  const Tensor x = constant(std::vector<float>(64, 0.5f), {8, 8});
  std::atomic<int> right = 0;
  constexpr int kThreads = 8, kSteps = 50;
  on_threads(kThreads, [&](int i) {
    for (int step = 0; step < kSteps; ++step) {
      GradientTape outer({.persistent = i % 2 == 0});
      outer.watch(x);
      GradientTape inner;
      inner.watch(x);
      inner.watch(frozen);
      const Tensor y = reduce_sum(square(matmul(x, w) * frozen));
      const auto g = inner.gradient(y, {x, w, frozen});
      const Tensor s = reduce_sum(g[0] * g[0]);
      const auto gg = outer.gradient(s, {x, w});
      // Every element of matmul(x, w) is 4; each gradient of x is 2 * 4 * 8 = 64.
      const bool ok = value(g[0](0, 0)) == 64 && value(g[1](0, 0)) == 32 && value(g[2](0)) == 8 * 32 &&
                      value(gg[0](0, 0)) == 2 * 64 * 2 * 8 * 8;
      right += ok ? 1 : 0;
    }
  });
  EXPECT_EQ(right, kThreads * kSteps);
}

TEST(Threads, TensorsAndGradientsMayDieElsewhere) {
  std::vector<Tensor> gradients(8);
  on_threads(8, [&](int i) {
    const Tensor x = constant(static_cast<double>(i));
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    gradients[static_cast<std::size_t>(i)] = tape.gradient(y, x);
  });
  for (std::size_t i = 0; i < gradients.size(); ++i) expect_values(gradients[i], {2.0 * static_cast<double>(i)});
}

TEST(Threads, AStoppedTapeMayDieElsewhere) {
  const Tensor x = constant(3.0);
  std::optional<GradientTape> tape;
  on_threads(1, [&](int) {
    tape.emplace(GradientTapeOptions{.persistent = true});
    tape->watch(x);
    const Tensor y = x * x;
    expect_values(tape->gradient(y, x), {6});
    tape->stop();
  });
  tape.reset();
  GradientTape own;
  own.watch(x);
  const Tensor y = x * x;
  expect_values(own.gradient(y, x), {6});
}

TEST(Threads, EachThreadStartsWithoutTapes) {
  const Variable v(2.0);
  GradientTape tape;
  on_threads(4, [&](int) {
    GradientTape own;
    const Tensor y = v * v * v;
    expect_values(own.gradient(y, v), {12});
  });
  const Tensor y = v * 2;
  expect_values(tape.gradient(y, v), {2});
}

}  // namespace
}  // namespace capstan::testing
