#include "capstan/testing.h"

#include <gtest/gtest.h>

#include <string>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

using Inputs = std::vector<Tensor>;

// x squared, with a gradient of `factor` times x.
Tensor square_with_gradient(const Tensor& x, double factor) {
  return custom_gradient(
      [factor](std::span<const Tensor> in) -> CustomGradientResult {
        const Tensor value = in[0];
        return {{value * value},
                [value, factor](std::span<const Tensor> g) -> Inputs { return {g[0] * value * factor}; }};
      },
      {x})[0];
}

std::string message(const std::function<Tensor(const Inputs&)>& f, const Inputs& inputs,
                    const GradientCheckOptions& options = {}) {
  try {
    check_gradients(f, inputs, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const Tensor x = constant({{0.5, -1.5}, {2.0, 0.75}}, float64);
const Tensor y = constant({1.25, -0.5}, float64);

TEST(CheckGradients, AcceptsRightGradientsOfBothOrders) {
  EXPECT_EQ(message([](const Inputs& in) { return exp(in[0]) * sin(in[1]); }, {x, y}, {.order = 2}), "");
  EXPECT_EQ(message([](const Inputs& in) { return square_with_gradient(in[0], 2); }, {x}, {.order = 2}), "");
  EXPECT_EQ(message([](const Inputs& in) { return exp(in[0]); }, {x}, {.order = 2, .directions = 2}), "");
}

TEST(CheckGradients, NamesTheEntryAndBothValuesOfAWrongOne) {
  const std::string text = message([](const Inputs& in) { return square_with_gradient(in[0], 3); }, {x});
  EXPECT_NE(text.find("check_gradients: the gradient of input 0 at [0, 0] is "), std::string::npos) << text;
  EXPECT_NE(text.find(", by differences "), std::string::npos) << text;
  EXPECT_NE(text.find("input 0: float64[2, 2]"), std::string::npos) << text;
  EXPECT_NE(message([](const Inputs& in) { return square_with_gradient(in[0], 3); }, {x}, {.directions = 1})
                .find("in direction 0"),
            std::string::npos);
}

TEST(CheckGradients, FindsASmallError) {
  EXPECT_NE(message([](const Inputs& in) { return square_with_gradient(in[0], 2.00001); }, {x}), "");
}

TEST(CheckGradients, FindsAMissingGradient) {
  EXPECT_NE(message([](const Inputs& in) { return stop_gradient(in[0]) * in[1]; }, {x, y}), "");
}

TEST(CheckGradients, FindsAWrongSecondOrder) {
  // The gradient is right, but the tape cannot see how it depends on x.
  const auto f = [](const Inputs& in) {
    return custom_gradient(
        [](std::span<const Tensor> arguments) -> CustomGradientResult {
          const Tensor value = arguments[0];
          return {{value * value},
                  [value](std::span<const Tensor> g) -> Inputs { return {g[0] * stop_gradient(value) * 2}; }};
        },
        {in[0]})[0];
  };
  EXPECT_EQ(message(f, {x}), "");
  EXPECT_NE(message(f, {x}, {.order = 2}).find("of second order"), std::string::npos);
}

TEST(CheckGradients, LeavesTheCallersTapesAlone) {
  GradientTape tape;
  tape.watch(x);
  check_gradients([](const Inputs& in) { return exp(in[0]); }, {x});
  const Tensor z = x * x;
  EXPECT_EQ(tape.gradient(z, x).to_vector<double>(), (std::vector<double>{1, -3, 4, 1.5}));
}

TEST(CheckGradients, RefusesWhatItCannotCheck) {
  EXPECT_THROW(check_gradients([](const Inputs& in) { return in[0]; }, {constant(1.0)}), DTypeError);
  EXPECT_THROW(check_gradients([](const Inputs& in) { return cast(in[0], float32); }, {x}), DTypeError);
  EXPECT_THROW(check_gradients([](const Inputs&) { return Tensor(); }, {x}), ValueError);
  EXPECT_THROW(check_gradients([](const Inputs& in) { return in[0]; }, {x}, {.order = 3}), ValueError);
}

}  // namespace
}  // namespace capstan
