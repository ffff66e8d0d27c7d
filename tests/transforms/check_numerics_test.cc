// The guard against NaN and infinity: what it sees, what it says, what it leaves alone.
#include <dlfcn.h>

#include "tests/tape/expect.h"
#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

class CheckNumerics : public ::testing::Test {
 protected:
  void SetUp() override { debugging::enable_check_numerics(); }
  void TearDown() override { debugging::disable_check_numerics(); }
};

void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

const Tensor kBad = constant({1.0f, 0.0f, -2.0f});

TEST_F(CheckNumerics, NamesTheOpItsRangesAndWhereItWasCalled) {
  [[maybe_unused]] constexpr int kLine = __LINE__ + 1;
  const std::string text = message_of<ValueError>([] { log(kBad); });
  expect_parts(text, {"check_numerics: log gives 1 NaN and 1 infinite of 3 elements",
                      "result: float32[3] from -inf to 0", "argument 0: float32[3] from -2 to 1", "called from:"});
#ifdef CAPSTAN_DEBUG_INFO
  void* const reader = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (reader == nullptr) GTEST_SKIP() << "libdw1 is not installed";
  dlclose(reader);
  expect_parts(text, {"called from:\n    " __FILE__ ":" + std::to_string(kLine)});
#else
  expect_parts(text, {"(+0x"});
#endif
  EXPECT_EQ(numbers(log(constant({1.0, 2.0}))).size(), 2u);
  expect_parts(message_of([] { log(constant({0.0}, float64)); }), {"0 NaN and 1 infinite of 1 elements"});
  expect_parts(message_of([] { cast(constant({1e30}, float64), float32) * 1e30; }), {"multiply gives"});
  EXPECT_EQ(numbers(cast(kBad, int32) * 2), (std::vector<double>{2, 0, -4}));
}

TEST_F(CheckNumerics, StructuredOpsAndOpsThatNoTapeRecords) {
  expect_parts(message_of([] { reduce_prod(constant({1e200, 1e200}, float64)); }), {"reduce_prod gives"});
  expect_parts(message_of([] { stop_gradient(exp(constant({800.0}, float64))); }), {"exp gives"});
  const Variable v(constant({1.0f, 2.0f, 3.0f}));
  expect_parts(message_of([&] { v.assign(kBad / constant({1.0f, 0.0f, 1.0f})); }), {"divide gives 1 NaN"});
  EXPECT_EQ(numbers(v.value()), (std::vector<double>{1, 2, 3}));
}

TEST_F(CheckNumerics, WhatThrowsIsNotRecorded) {
  const Tensor x = constant({0.0f, 1.0f});
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(log(x), ValueError);
  const Tensor y = x * x;
  EXPECT_EQ(numbers(tape.gradient(y, x)), (std::vector<double>{0, 2}));
}

TEST_F(CheckNumerics, Gradients) {
  const Tensor x = constant({0.0f, 4.0f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sqrt(x);
  expect_parts(message_of<ValueError>([&] { tape.gradient(y, x); }),
               {"check_numerics: the gradient of sqrt by argument 0 holds 0 NaN and 1 infinite of 2 elements",
                "gradient: float32[2] from 0.25 to inf", "cotangent of the result: float32[2] from 1 to 1"});
  // What a rule divides by zero where it does not use it is no mistake.
  EXPECT_EQ(numbers(tape.gradient(y, x, {.output_gradients = {constant({0.0f, 1.0f})}})),
            (std::vector<double>{0, 0.25}));
  const Tensor z = custom_gradient(
      [](std::span<const Tensor> in) -> CustomGradientResult {
        return {{in[0] * 1.0f}, [](std::span<const Tensor> g) -> std::vector<Tensor> { return {g[0] / 0.0f}; }};
      },
      {x})[0];
  expect_parts(message_of([&] { tape.gradient(z, x); }), {"divide gives 0 NaN and 2 infinite"});
}

TEST_F(CheckNumerics, HigherOrdersAgreeWithUncheckedOnes) {
  const auto second = [] {
    const Tensor x = constant({0.5, 2.0}, float64);
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = reduce_sum(sqrt(x) * log(x) * x);
    return numbers(outer.gradient(inner.gradient(y, x), x));
  };
  const std::vector<double> checked = second();
  debugging::disable_check_numerics();
  EXPECT_EQ(checked, second());
}

TEST_F(CheckNumerics, FunctionsRunOpByOp) {
  auto f = function([](const Tensor& x) { return exp(x) * 2.0 - log(x); });
  EXPECT_EQ(numbers(f(constant({1.0}, float64))).size(), 1u);
  expect_parts(message_of([&] { f(constant({-1.0}, float64)); }), {"check_numerics: log gives 1 NaN"});
  auto inside = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sqrt(x), x);
  });
  expect_parts(message_of([&] { inside(constant({0.0}, float64)); }), {"infinite of 1 elements"});
  auto around = function([](const Tensor& x) { return sqrt(x); });
  const Tensor x = constant({0.0}, float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = around(x);
  expect_parts(message_of([&] { tape.gradient(y, x); }), {"the gradient of sqrt by argument 0"});
  auto loop = function([](const Tensor& in) {
    const auto [end] = while_loop([](const Tensor& v) { return v < 1e300; }, [](const Tensor& v) { return v * v; },
                                  std::tuple(in), {.maximum_iterations = 20});
    return log(end - end);
  });
  expect_parts(message_of([&] { loop(constant(2.0, float64)); }), {"check_numerics:"});
}

TEST(CheckNumericsOff, SeesNothingOutsideOfItsTime) {
  EXPECT_EQ(numbers(log(kBad)).size(), 3u);
  const Tensor x = constant({2.0f});
  GradientTape before;
  before.watch(x);
  debugging::enable_check_numerics();
  debugging::enable_check_numerics();
  EXPECT_THROW(log(kBad), ValueError);
  GradientTape during;
  during.watch(x);
  const Tensor y = x * x;
  debugging::disable_check_numerics();
  debugging::disable_check_numerics();
  EXPECT_EQ(numbers(log(kBad)).size(), 3u);
  const Tensor z = y * x;
  EXPECT_EQ(numbers(during.gradient(z, x)), (std::vector<double>{12}));
  EXPECT_EQ(numbers(before.gradient(z, x)), (std::vector<double>{12}));
}

}  // namespace
}  // namespace capstan::testing
