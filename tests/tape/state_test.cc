// The states of a tape: what each call does before, while and after it records; watching;
// resetting.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

GradientOptions zero_mode() { return {.unconnected_gradients = UnconnectedGradients::kZero}; }

TEST(TapeState, RecordsFromConstruction) {
  GradientTape tape;
  EXPECT_TRUE(tape.is_recording());
  tape.stop();
  EXPECT_FALSE(tape.is_recording());
  tape.stop();  // a second time without effect, as leaving a block that gradient() ended
  tape.start();
  EXPECT_TRUE(tape.is_recording());
}

TEST(TapeState, StartOfARecordingTapeIsAnError) {
  GradientTape tape;
  expect_error<GradientError>([&] { tape.start(); }, "start: this tape is already recording");
  EXPECT_TRUE(tape.is_recording());
}

TEST(TapeState, StoppedTapeResumesWithWhatItHas) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x;
  tape.stop();
  const Tensor unseen = 5 * y;
  tape.start();
  const Tensor z = 3 * y + unseen;
  tape.stop();
  expect_values(tape.gradient(z, x), {6});
}

TEST(TapeState, UsedUpTapeRefusesAndStartsAfresh) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  expect_values(tape.gradient(y, x), {6});
  EXPECT_FALSE(tape.is_recording());
  expect_error<GradientError>([&] { tape.gradient(y, x); }, "persistent = true");
  expect_error<GradientError>([&] { (void)tape.stop_recording(); }, "stop_recording: this tape is not recording");
  expect_error<GradientError>([&] { tape.reset(); }, "reset: this tape is not recording");
  expect_error<GradientError>([&] { tape.explain(y, x); }, "already used");
  tape.stop();
  tape.watch(x);  // without effect
  tape.start();
  const Tensor z = x * x;
  expect_missing(tape.gradient(z, x));
}

TEST(TapeState, PauseNeedsARecordingTape) {
  GradientTape tape;
  tape.stop();
  expect_error<GradientError>([&] { (void)tape.stop_recording(); }, "not recording");
  tape.start();
  {
    const auto pause = tape.stop_recording();
    EXPECT_FALSE(tape.is_recording());
    expect_error<GradientError>([&] { (void)tape.stop_recording(); }, "not recording");
    expect_error<GradientError>([&] { tape.reset(); }, "not recording");
  }
  EXPECT_TRUE(tape.is_recording());
}

TEST(TapeState, PauseStopsItsOwnTapeOnly) {
  const Tensor x = constant(2.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  Tensor y;
  {
    const auto pause = inner.stop_recording();
    y = x * x;
  }
  expect_missing(inner.gradient(y, x));
  expect_values(outer.gradient(y, x), {4});
}

TEST(TapeState, TapeUsedUpInItsPauseStaysUsedUp) {
  const Tensor x = constant(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  {
    const auto pause = tape.stop_recording();
    expect_values(tape.gradient(y, x), {4});
  }
  EXPECT_FALSE(tape.is_recording());
  EXPECT_THROW(tape.gradient(y, x), GradientError);
}

TEST(TapeState, GradientEndsTheRecordingOfASingleUseTapeOnly) {
  const Tensor x = constant(2.0);
  GradientTape single;
  single.watch(x);
  GradientTape persistent({.persistent = true});
  persistent.watch(x);
  const Tensor y = x * x;
  single.gradient(y, x);
  EXPECT_FALSE(single.is_recording());
  persistent.gradient(y, x);
  EXPECT_TRUE(persistent.is_recording());
}

TEST(TapeState, RefusedArgumentsLeaveTheTapeAsItWas) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {ones({3})}}), ShapeError);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {ones({2}, float64)}}), DTypeError);
  EXPECT_THROW(tape.gradient(y, x, {.output_gradients = {ones({2}), ones({2})}}), ValueError);
  EXPECT_THROW(tape.gradient(y, Tensor()), ValueError);
  EXPECT_THROW(tape.gradient(Tensor(), x), ValueError);
  EXPECT_THROW(tape.gradient(Variable(), x), ValueError);
  EXPECT_THROW(tape.gradient(y, {x, Tensor()}), ValueError);
  EXPECT_TRUE(tape.is_recording());
  expect_values(tape.gradient(y, x), {2, 4});
}

TEST(TapeState, WatchRefusesEmptyHandles) {
  const Tensor x = constant(1.0);
  GradientTape tape;
  EXPECT_THROW(tape.watch(Tensor()), ValueError);
  EXPECT_THROW(tape.watch(Variable()), ValueError);
  // What stood before the bad one is watched.
  EXPECT_THROW(tape.watch(std::vector{x, Tensor()}), ValueError);
  tape.watch(std::vector<Tensor>());
  const Tensor y = x * 3;
  expect_values(tape.gradient(y, x), {3});
}

TEST(TapeState, WatchingTwiceAndWatchingResultsChangesNothing) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  tape.watch(x);
  const Tensor y = x * x;
  tape.watch(y);
  const Tensor z = y * y;
  const auto g = tape.gradient(z, {x, y});
  expect_values(g[0], {108});
  expect_values(g[1], {18});
}

TEST(TapeState, WatchingLaterDoesNotReachBack) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  const Tensor y = x * x;
  tape.watch(x);
  const Tensor z = y * x;
  expect_values(tape.gradient(z, x), {9});
}

TEST(TapeState, WatchingWithoutAnyRecordingTapeIsWithoutEffect) {
  const Tensor x = constant(3.0);
  const Variable v(1.0);
  GradientTape tape;
  tape.stop();
  tape.watch(x);
  tape.watch(v);
  EXPECT_TRUE(tape.watched_variables().empty());
  GradientTape other;
  tape.watch(v);  // now it counts
  EXPECT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_TRUE(other.watched_variables().empty());
}

TEST(TapeState, VariablesAreWatchedByAnyRead) {
  const Variable a(ones({2, 2})), b(ones({2, 2})), c(ones({2, 2})), d(ones({2, 2})), e(ones({2, 2}));
  const Variable frozen(1.0, {.trainable = false});
  GradientTape tape;
  EXPECT_TRUE(tape.watched_variables().empty());
  (void)a.shape(), (void)a.dtype(), (void)a.name();
  EXPECT_TRUE(tape.watched_variables().empty());
  const Tensor use = a + 1;
  const Tensor read = b.value();
  const Tensor row = c(0);
  const Tensor rows = gather(d, constant({0}));
  e.assign(ones({2, 2}));
  const Tensor unseen = frozen * 2;
  EXPECT_EQ(tape.watched_variables().size(), 5u);
  tape.watch(frozen);
  EXPECT_EQ(tape.watched_variables().size(), 6u);
}

TEST(TapeState, IntegerVariablesAreListedWithoutGradient) {
  const Variable i(3);
  GradientTape tape;
  const Tensor y = i * i;
  EXPECT_EQ(tape.watched_variables().size(), 1u);
  expect_missing(tape.gradient(y, i));
}

TEST(TapeState, EveryTapeSeesTheRead) {
  const Variable v(2.0);
  GradientTape outer;
  GradientTape deaf({.watch_accessed_variables = false});
  GradientTape inner;
  const Tensor y = v * v;
  EXPECT_EQ(outer.watched_variables().size(), 1u);
  EXPECT_EQ(inner.watched_variables().size(), 1u);
  EXPECT_TRUE(deaf.watched_variables().empty());
  expect_values(inner.gradient(y, v), {4});
  expect_missing(deaf.gradient(y, v));
  expect_values(outer.gradient(y, v), {4});
}

TEST(TapeState, WatchedVariablesAreInOrderOfConstruction) {
  const Variable v0(1.0, {.name = "v0"}), v1(1.0, {.name = "v1"}), v2(1.0, {.name = "v2"});
  GradientTape tape;
  const Tensor y = v2 * v0 * v1 * v2;
  const std::vector<Variable> watched = tape.watched_variables();
  ASSERT_EQ(watched.size(), 3u);
  EXPECT_EQ(watched[0].name(), "v0");
  EXPECT_EQ(watched[1].name(), "v1");
  EXPECT_EQ(watched[2].name(), "v2");
  tape.gradient(y, v0);
  EXPECT_EQ(tape.watched_variables().size(), 3u);
}

TEST(TapeState, ResetDropsEverythingAndGoesOn) {
  const Variable v(2.0);
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * v;
  tape.reset();
  EXPECT_TRUE(tape.is_recording());
  EXPECT_TRUE(tape.watched_variables().empty());
  const Tensor z = y * v;
  const auto g = tape.gradient(z, {x, v});
  expect_missing(g[0]);
  expect_values(g[1], {6});
}

TEST(TapeState, ResetInsideAnotherTapeLeavesItAlone) {
  const Tensor x = constant(3.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = x * x;
  inner.reset();
  inner.watch(y);
  const Tensor z = y * y;
  expect_values(inner.gradient(z, y), {18});
  expect_values(outer.gradient(z, x), {108});
}

TEST(TapeState, TapesEndInAnyOrder) {
  const Tensor x = constant(2.0);
  auto a = std::make_unique<GradientTape>();
  auto b = std::make_unique<GradientTape>();
  auto c = std::make_unique<GradientTape>(GradientTapeOptions{.persistent = true});
  a->watch(x), b->watch(x), c->watch(x);
  Tensor y = x * x;
  b.reset();
  y = y * x;
  a->stop();
  y = y + x;
  expect_values(c->gradient(y, x), {13});
  c.reset();
  // The first tape did not see the last sum, but knows what went into it.
  expect_missing(a->gradient(y, x));
}

TEST(TapeState, TapesMove) {
  const Tensor x = constant(2.0);
  GradientTape first;
  first.watch(x);
  const Tensor y = x * x;
  GradientTape second = std::move(first);
  EXPECT_TRUE(second.is_recording());
  EXPECT_FALSE(first.is_recording());  // NOLINT: a tape that was moved from says so
  expect_error<GradientError>([&] { first.watch(x); }, "moved from");
  const Tensor z = y * x;
  expect_values(second.gradient(z, x), {12});
  // A vector of tapes grows by moving them.
  std::vector<GradientTape> tapes;
  for (int i = 0; i < 5; ++i) {
    tapes.emplace_back();
    tapes.back().watch(x);
  }
  const Tensor u = x * 5;
  for (GradientTape& tape : tapes) expect_values(tape.gradient(u, x), {5});
}

TEST(TapeState, PersistentGradientsOfGradientsInsideTheOwnBlock) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = pow(x, 4);
  std::vector<Tensor> d = {y};
  for (int i = 0; i < 4; ++i) d.push_back(tape.gradient(d.back(), x));
  EXPECT_EQ(value(d[1]), 108);
  EXPECT_EQ(value(d[2]), 108);
  EXPECT_EQ(value(d[3]), 72);
  EXPECT_EQ(value(d[4]), 24);
}

TEST(TapeState, AnOldPersistentTapeIsTapedByANewOne) {
  const Tensor x = constant(3.0);
  GradientTape old({.persistent = true});
  old.watch(x);
  const Tensor y = pow(x, 3);
  old.stop();
  GradientTape fresh;
  fresh.watch(x);
  const Tensor g = old.gradient(y, x);
  expect_values(fresh.gradient(g, x), {18});
}

// --- Structures ---

struct Weights {
  Variable kernel;
  std::vector<Variable> biases;
  struct Gradients {
    Tensor kernel;
    std::vector<Tensor> biases;
    auto fields() { return std::tie(kernel, biases); }
  };
  auto fields() { return std::tie(kernel, biases); }
};

TEST(Structures, ComeBackAsTheyAre) {
  const Weights weights{Variable(2.0), {Variable(3.0), Variable(4.0)}};
  const Tensor x = constant(5.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = weights.kernel * x + 10 * weights.biases[0] + 100 * weights.biases[1];
  const Weights::Gradients g = tape.gradient(y, weights);
  expect_values(g.kernel, {5});
  expect_values(g.biases[0], {10});
  expect_values(g.biases[1], {100});
  const std::array<Variable, 2> array = {weights.biases[1], weights.kernel};
  const std::array<Tensor, 2> ga = tape.gradient(y, array);
  expect_values(ga[0], {100});
  expect_values(ga[1], {5});
  const auto gt = tape.gradient(y, std::tuple{weights.kernel, x, std::map<int, Variable>{{7, weights.biases[0]}}});
  static_assert(std::is_same_v<decltype(gt), const std::tuple<Tensor, Tensor, std::map<int, Tensor>>>);
  expect_values(std::get<1>(gt), {2});
  expect_values(std::get<2>(gt).at(7), {10});
  const std::vector<std::pair<Tensor, Tensor>> gp =
      tape.gradient(y, std::vector{std::pair{weights.kernel, x}, std::pair{weights.biases[0], x}});
  expect_values(gp[1].first, {10});
  expect_values(gp[1].second, {2});
  const std::vector<Tensor> braces = tape.gradient(y, {weights.kernel, x});
  expect_values(braces[0], {5});
  EXPECT_TRUE(tape.gradient(y, std::vector<Variable>()).empty());
}

TEST(Structures, AreWatchedAndSummedAsTargets) {
  const std::map<std::string, Tensor> x = {{"a", constant(2.0)}, {"b", constant(3.0)}};
  GradientTape tape;
  tape.watch(x);
  const std::pair<Tensor, std::vector<Tensor>> targets = {x.at("a") * x.at("b"), {x.at("a") * 10, x.at("a") * 100}};
  const std::map<std::string, Tensor> g = tape.gradient(targets, x);
  expect_values(g.at("a"), {113});
  expect_values(g.at("b"), {2});
}

// --- None and zeros, beyond the golden programs ---

TEST(NoneOrZero, ZerosHaveTheDTypeOfTheSource) {
  const Tensor half = ones({2}, bfloat16), integer = constant({1, 2}), truth = constant({true, false});
  const Variable v(ones({2}, float64));
  GradientTape tape({.persistent = true});
  const Tensor y = constant(1.0);
  for (const Tensor& source : {half, integer, truth}) {
    const Tensor g = tape.gradient(y, source, zero_mode());
    EXPECT_EQ(g.dtype(), source.dtype());
    EXPECT_EQ(g.shape(), source.shape());
    expect_values(g, {0, 0});
    expect_missing(tape.gradient(y, source));
  }
  EXPECT_EQ(tape.gradient(y, v, zero_mode()).dtype(), float64);
}

TEST(NoneOrZero, NothingRunsBehindAnOpWithoutGradient) {
  const Tensor x = constant({1.5, -2.5});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](std::span<const Tensor> in) -> CustomGradientResult {
        return {{in[0] * 2}, [](std::span<const Tensor>) -> std::vector<Tensor> { throw std::logic_error("ran"); }};
      },
      {floor(x)})[0];
  expect_missing(tape.gradient(y, x));
}

TEST(NoneOrZero, ResultsBehindAnOpWithoutGradientAreSources) {
  const Tensor x = constant({1.5, -2.5});
  GradientTape tape;
  tape.watch(x);
  const Tensor f = floor(x);
  const Tensor y = f * f;
  expect_values(tape.gradient(y, f), {2, -6});
}

TEST(NoneOrZero, SelfGradientsOfEveryDType) {
  GradientTape tape({.persistent = true});
  for (const Tensor& x : {ones({2}, bfloat16), ones({2}, float64), constant({1, 2}), constant({true, false}),
                          cast(constant({3, 4}), uint8), constant({5, 6}, int64)}) {
    const Tensor g = tape.gradient(x, x);
    EXPECT_EQ(g.dtype(), x.dtype());
    expect_values(g, {1, 1});
  }
}

TEST(NoneOrZero, UnusedOutputsOfASplitAreZeros) {
  const Tensor x = constant({1.0, 2.0, 3.0, 4.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> parts = split(x, 2);
  expect_values(tape.gradient(parts[1], x), {0, 0, 1, 1});
  expect_values(tape.gradient(parts[1], parts[1]), {1, 1});
  expect_missing(tape.gradient(parts[1], parts[0]));
}

TEST(OutputGradients, AreAddedForTargetsListedTwice) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  expect_values(tape.gradient({y, y}, x, {.output_gradients = {constant({1.0, 0.0}), constant({10.0, 1.0})}}), {22, 4});
  expect_values(tape.gradient({x, x}, x, {.output_gradients = {constant({1.0, 0.0}), Tensor()}}), {2, 1});
  // The weights are the caller's and stay as they were.
  const Tensor weight = constant({3.0, 4.0});
  const Tensor a = tape.gradient({y, x}, x, {.output_gradients = {weight, weight}});
  expect_values(a, {9, 20});
  expect_values(weight, {3, 4});
}

}  // namespace
}  // namespace capstan::testing
