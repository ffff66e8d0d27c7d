// Initializers and activation functions against Keras: exact values, bounds and moments of draws, and derivatives.
#include <cmath>

#include "tests/train/keras_cases.h"

namespace capstan::testing {
namespace {

Initializer make_initializer(const std::string& type, const Json& config) {
  std::optional<std::uint64_t> seed = 20;
  if (type == "VarianceScaling") {
    initializers::VarianceScalingOptions o{.seed = seed};
    o.scale = config.value("scale", o.scale);
    o.mode = config.value("mode", o.mode);
    o.distribution = config.value("distribution", o.distribution);
    return initializers::VarianceScaling(o);
  }
  if (type == "Constant") return initializers::Constant(config.value("value", 0.0));
  if (type == "Identity") return initializers::Identity(config.value("gain", 1.0));
  if (type == "RandomNormal")
    return initializers::RandomNormal(config.value("mean", 0.0), config.value("stddev", 0.05), seed);
  if (type == "TruncatedNormal") {
    return initializers::TruncatedNormal(config.value("mean", 0.0), config.value("stddev", 0.05), seed);
  }
  if (type == "RandomUniform") {
    return initializers::RandomUniform(config.value("minval", -0.05), config.value("maxval", 0.05), seed);
  }
  return type;
}

void run_case(const Json&, const Json& one) {
  const Initializer initializer = make_initializer(one.at("initializer"), one.at("config"));
  const auto dims = one.at("shape").get<std::vector<std::int64_t>>();
  const Shape shape{std::span<const std::int64_t>(dims)};
  const Tensor value = initializer(shape);
  if (one.contains("value")) {
    expect_close(value, one.at("value"), "value");
    return;
  }
  EXPECT_TRUE(same_bits(value, initializer(shape)));
  const std::vector<double> x = value.to_vector<double>();
  const double mean = one.at("mean");
  const double variance = one.at("variance");
  double sum = 0;
  double squares = 0;
  for (double v : x) {
    sum += v - mean;
    squares += (v - mean) * (v - mean);
    if (one.at("bounds").is_null()) continue;
    EXPECT_GE(v, one.at("bounds")[0].get<double>() * (1 + 1e-6) - 1e-7);
    EXPECT_LE(v, one.at("bounds")[1].get<double>() * (1 + 1e-6) + 1e-7);
  }
  const double n = static_cast<double>(x.size());
  // Five standard deviations of the mean; the variance of n squares has at most twice the variance squared over n.
  EXPECT_LE(std::abs(sum / n), 5 * std::sqrt(variance / n));
  if (n >= 100) {
    EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(2 / n));
  }
}

TEST(InitializersAgainstKeras, AgreeInAllCases) { run_cases("initializers.json", run_case); }

void run_activation(const Json&, const Json& one) {
  if (!one.at("options").empty()) throw Lacking{"options of activation functions"};
  const ActivationFunction function(one.at("activation").get<std::string>());
  const Tensor x = tensor_from_json(one.at("x"));
  Tolerance tolerance = golden_tolerance(x.dtype());
  if (one.contains("tolerance")) tolerance.relative = one.at("tolerance");
  // The original's derivative of a sigmoid close to 1 has cancelled to a few digits.
  if (one.at("kind") == "extreme" && x.dtype() == float64) tolerance.relative = 1e-7;
  GradientTape outer;
  outer.watch(x);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = function(x);
  expect_close(y, one.at("y"), "value", tolerance);
  GradientOptions options{.unconnected_gradients = UnconnectedGradients::kZero};
  if (one.contains("cotangent")) {
    options.output_gradients = {tensor_from_json(one.at("cotangent"))};
    expect_close(tape.gradient(y, x, options), one.at("gradient"), "gradient", tolerance);
    return;
  }
  if (!one.contains("derivative") || one.at("derivative").is_null()) return;
  const Tensor derivative = tape.gradient(y, x, options);
  expect_close(derivative, one.at("derivative"), "derivative", tolerance);
  if (!one.contains("second_derivative") || one.at("second_derivative").is_null()) return;
  expect_close(outer.gradient(derivative, x, {.unconnected_gradients = UnconnectedGradients::kZero}),
               one.at("second_derivative"), "second derivative", {tolerance.relative, 4 * tolerance.floor});
}

TEST(ActivationsAgainstKeras, AgreeInAllCases) { run_cases("activations.json", run_activation); }

}  // namespace
}  // namespace capstan::testing
