// The reverse pass runs an elementwise rule as a loop over raw memory, or in library ops while an outer tape records.
// They are two ways to the same numbers, so each is the reference of the other.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "tests/tape/expect.h"

namespace capstan::testing {
namespace {

// Different numbers that every op here takes.
Tensor numbers(const Shape& shape, double first, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(first + 0.37 * static_cast<double>(i % 7));
  return cast(constant(values, shape), dtype);
}

using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

// The gradients by the watched ones of two operands; in library ops while another tape looks on.
std::vector<Tensor> gradients_of(const Binary& op, const std::vector<Tensor>& operands, unsigned watched,
                                 bool in_library_ops) {
  std::optional<GradientTape> outer;
  if (in_library_ops) outer.emplace();
  GradientTape tape;
  for (std::size_t i = 0; i < 2; ++i) {
    if ((watched >> i & 1) != 0) tape.watch(operands[i]);
  }
  const Tensor weighted = op(operands[0], operands[1]);
  return tape.gradient(weighted * weighted + weighted, operands);
}

void expect_same_gradients(const std::string& name, const Binary& op, const Tensor& a, const Tensor& b) {
  for (unsigned watched = 1; watched < 4; ++watched) {
    SCOPED_TRACE(name + " of " + a.shape().to_string() + " and " + b.shape().to_string() +
                 ", watched: " + std::to_string(watched));
    const std::vector<Tensor> loops = gradients_of(op, {a, b}, watched, false);
    const std::vector<Tensor> ops = gradients_of(op, {a, b}, watched, true);
    for (std::size_t i = 0; i < 2; ++i) {
      const bool known = (watched >> i & 1) != 0 || (same_tensor(a, b) && watched != 0);
      ASSERT_EQ(loops[i].has_value(), known);
      ASSERT_EQ(ops[i].has_value(), known);
      if (!known) continue;
      EXPECT_EQ(loops[i].shape(), (i == 0 ? a : b).shape());
      EXPECT_EQ(loops[i].dtype(), a.dtype());
      expect_values(loops[i], ops[i].to_vector<double>(), a.dtype() == float64 ? 1e-12 : 1e-5);
    }
  }
}

const std::vector<std::pair<std::string, Binary>> kOps = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"subtract", [](const Tensor& a, const Tensor& b) { return a - b; }},
    {"multiply", [](const Tensor& a, const Tensor& b) { return a * b; }},
    {"divide", [](const Tensor& a, const Tensor& b) { return a / b; }},
    {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }},
    {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }},
};

// Every way in which an operand keeps its shape or is stretched: along axes that differ, by rank alone, over no
// elements, and by so many that the loop is cut.
TEST(ReversePass, LoopsGiveWhatLibraryOpsGiveForAllBroadcasts) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{}, {}},         {{3}, {3}},       {{3}, {}},         {{}, {3}},        {{1}, {3}},
      {{3}, {1, 3}},    {{1, 3}, {3}},    {{2, 3}, {3}},     {{2, 1}, {2, 3}}, {{2, 1}, {1, 3}},
      {{2, 3}, {2, 1}}, {{1, 1}, {}},     {{}, {1, 1}},      {{0}, {0}},       {{0}, {}},
      {{0}, {1}},       {{0, 1}, {0, 3}}, {{0, 3}, {0, 1}},  {{1, 0}, {4, 0}}, {{2, 1, 4}, {3, 1}},
      {{17}, {17}},     {{17}, {1}},      {{130, 130}, {1}}, {{17000}, {}},    {{130, 1}, {1, 130}},
  };
  for (const DType dtype : {float64, float32}) {
    for (const auto& [a, b] : shapes) {
      for (const auto& [name, op] : kOps) {
        // Sums of many elements round differently in float32.
        if (dtype == float32 && a.size() + b.size() > 1000) continue;
        expect_same_gradients(name, op, numbers(a, 0.7, dtype), numbers(b, 1.3, dtype));
      }
    }
  }
}

TEST(ReversePass, LoopsGiveWhatLibraryOpsGiveIfBothOperandsAreOneTensor) {
  for (const DType dtype : {float64, float32}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{5}, Shape{2, 3}, Shape{0}}) {
      const Tensor x = numbers(shape, 0.7, dtype);
      for (const auto& [name, op] : kOps) expect_same_gradients(name, op, x, x);
    }
  }
}

TEST(ReversePass, AResultUsedTwiceByOneOpCountsTwice) {
  const Tensor x = constant({1.5, -2.0}, float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 3 * x;
  expect_values(tape.gradient(y * y, x), {27, -36}, 1e-15);
}

TEST(ReversePass, IntegersOnBothSidesGiveNoGradient) {
  const Tensor x = constant({2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor z = cast(y, float32);
  expect_missing(tape.gradient(z * z, x));
  tape.watch(z);
  expect_values(tape.gradient(z * z, z), {8, 18});
}

}  // namespace
}  // namespace capstan::testing
