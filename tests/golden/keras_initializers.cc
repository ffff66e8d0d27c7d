// Initializers and activation functions against Keras: exact values, bounds and moments of draws, and derivatives.
#include <set>
#include <algorithm>
#include <cmath>

#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

double largest(const Tensor& x) { return reduce_max(abs(cast(x, float64))).item<double>(); }

// The gram matrix of the rows or columns is `diagonal` times the identity.
void expect_gram(const Tensor& value, const std::string& side, double diagonal) {
  const Tensor w = cast(reshape(value, {-1, value.dim(-1)}), float64);
  const Tensor gram = side == "columns" ? matmul(w, w, {.transpose_a = true}) : matmul(w, w, {.transpose_b = true});
  EXPECT_LT(largest(gram - diagonal * eye(gram.dim(0), {}, float64)), 1e-6);
}

// Weights of layers with several inputs, drawn by GlorotUniform: the limits by path.
void run_limits(const Json& one) {
  const layers::MultiHeadAttention layer(one["config"].at("num_heads"), one["config"].at("key_dim"));
  const Tensor x = ones(Shape(one.at("input_shape").get<std::vector<std::int64_t>>()));
  layer(x, x);
  std::size_t seen = 0;
  for (const Variable& weight : layer.weights()) {
    for (const auto& [path, limit] : one.at("glorot_limits").items()) {
      if (!weight.path().ends_with("/" + path)) continue;
      ++seen;
      EXPECT_LE(largest(weight), limit.get<double>()) << path;
      EXPECT_GT(largest(weight), 0.98 * limit.get<double>()) << path;
    }
  }
  EXPECT_EQ(seen, one.at("glorot_limits").size());
}

// Weights that a layer has unless told otherwise.
void run_layer(const Json& one) {
  if (one.contains("glorot_limits")) return run_limits(one);
  const Layer layer = make_layer(one.at("layer"), one.at("config"), "float32", "");
  const Shape shape(one.at("input_shape").get<std::vector<std::int64_t>>());
  layer(ones(shape));
  const Json& want = one.at("weights");
  const std::vector<Variable> weights = layer.weights();
  ASSERT_EQ(weights.size(), want.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string name = want[i].at("name");
    EXPECT_EQ(weights[i].name(), name);
    EXPECT_EQ(weights[i].shape(), Shape(want[i].at("shape").get<std::vector<std::int64_t>>())) << name;
    EXPECT_EQ(weights[i].trainable(), want[i].at("trainable").get<bool>()) << name;
    if (want[i].contains("value")) {
      expect_close(weights[i].value(), want[i].at("value"), name);
    } else if (name == "recurrent_kernel") {  // Orthogonal
      expect_gram(weights[i], "rows", 1);
    } else {
      // Drawn by GlorotUniform, of which many draws show the limit.
      double limit = 0;
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        limit = std::max(limit, largest(initializers::VarianceScaling(
                                    {.mode = "fan_avg", .distribution = "uniform", .seed = seed})(weights[i].shape())));
      }
      EXPECT_LE(largest(weights[i]), 1.1 * limit) << name;
      EXPECT_GT(largest(weights[i]), 0.1 * limit) << name;
    }
  }
}

void run_initializers_case(const Json&, const Json& one) {
  if (one.contains("layer")) return run_layer(one);
  const Initializer initializer = make_initializer(one.at("initializer"), one.at("config"), 20);
  const auto dims = one.at("shape").get<std::vector<std::int64_t>>();
  const Shape shape{std::span<const std::int64_t>(dims)};
  const Tensor value = initializer(shape);
  if (one.contains("value")) {
    expect_close(value, one.at("value"), "value");
    return;
  }
  EXPECT_TRUE(same_bits(value, initializer(shape)));
  if (one.contains("gram_side")) return expect_gram(value, one.at("gram_side"), one.at("gram_diagonal"));
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

// What is measured is one example of draws; bounds and variance follow from "fans"; "property" says in words what
// expect_gram does.
const KerasFile initializers_file("initializers", run_initializers_case,
                                  {"bounds", "config", "fans", "glorot_limits", "gram_diagonal", "gram_side",
                                   "initializer", "input_shape", "layer", "mean", "measured",
                                   "measured_largest_absolute", "property",
                                   "same_instance_called_twice_gives_equal_values", "shape", "value", "variance",
                                   "weights"});

// Where the original is wrong: what makes the result the nearest point of the simplex. With one number t for each row
// it is max(x - t, 0), and its sum is 1.
void expect_projection(const Tensor& x, const Tensor& y) {
  const Tensor is_inside = cast(greater(y, 0), x.dtype());
  const Tensor inside = reduce_sum(is_inside, -1, {.keepdims = true});
  const Tensor t = reduce_sum((x - y) * is_inside, -1, {.keepdims = true}) / inside;
  const Tolerance tolerance = golden_tolerance(x.dtype());
  EXPECT_EQ(difference(y, relu(x - t), tolerance), "");
  EXPECT_EQ(difference(reduce_sum(y, -1), ones_like(reduce_sum(y, -1)), tolerance), "");
}

// Where the original's formula gives something else than the function: at infinities, where it subtracts or multiplies
// by 0, at NaN, and at the 0 of celu, where it adds the derivatives of both sides.
Tensor is_compared(const std::string& name, const Tensor& x) {
  static const std::set<std::string> differs = {"celu", "hard_silu", "sparse_plus", "sparse_sigmoid", "squareplus"};
  const Tensor all = equal(zeros_like(x), 0);
  if (!differs.contains(name)) return all;
  return name == "celu" ? logical_and(is_finite(x), not_equal(x, 0)) : is_finite(x);
}

void run_activation(const Json&, const Json& one) {
  const ActivationFunction function = make_activation(one.at("activation"), one.at("options"));
  const Tensor x = tensor_from_json(one.at("x"));
  if (one.contains("upstream_defect")) return expect_projection(x, function(x));
  Tolerance tolerance = golden_tolerance(x.dtype());
  if (one.contains("tolerance")) tolerance.relative = one.at("tolerance");
  // The original's derivative of a sigmoid close to 1 has cancelled to a few digits.
  if (one.at("kind") == "extreme" && x.dtype() == float64) tolerance.relative = 1e-7;
  GradientTape outer;
  outer.watch(x);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = function(x);
  const Tensor compared = is_compared(one.at("activation"), x);
  const auto expect = [&](const Tensor& got, const char* key, Tolerance within) {
    if (one.contains("float32_error")) {
      // Mostly rounding in the original, too.
      within.absolute = 10 * one.at("float32_error").value(key, 0.0);
    }
    Tensor want = tensor_from_json(one.at(key));
    if (compared.shape() == got.shape()) want = where(compared, want, got);
    EXPECT_EQ(difference(got, want, within), "") << key;
  };
  expect(y, "y", tolerance);
  GradientOptions options{.unconnected_gradients = UnconnectedGradients::kZero};
  if (one.contains("cotangent")) {
    options.output_gradients = {tensor_from_json(one.at("cotangent"))};
    return expect(tape.gradient(y, x, options), "gradient", tolerance);
  }
  if (!one.contains("derivative") || one.at("derivative").is_null()) return;
  const Tensor derivative = tape.gradient(y, x, options);
  expect(derivative, "derivative", tolerance);
  if (!one.contains("second_derivative") || one.at("second_derivative").is_null()) return;
  expect(outer.gradient(derivative, x, {.unconnected_gradients = UnconnectedGradients::kZero}), "second_derivative",
         {tolerance.relative, 4 * tolerance.floor});
}

const KerasFile activations_file("activations", run_activation,
                                 {"activation", "cotangent", "derivative", "gradient", "kind", "options",
                                  "second_derivative", "x", "y"});

}  // namespace
}  // namespace capstan::testing
