// Constraints and regularizers where they are used: layers, optimizers, names, mistakes.
#include "capstan/constraints.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "capstan/capstan.h"

namespace capstan {
namespace {

template <class Thrown, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Thrown& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
  return "no error";
}

TEST(Constraint, HoldsAfterAnUpdateButNotAfterAnAssignment) {
  const Variable w({1.0f, 2.0f});
  set_constraint(w, constraints::NonNeg());
  optimizers::SGD sgd({.learning_rate = 1.0});
  const std::vector<Variable> variables = {w};
  sgd.apply_gradients(std::vector<Tensor>{constant({3.0f, 1.0f})}, variables);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{0, 1}));
  w.assign(constant({-1.0f, -1.0f}));
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{-1, -1}));
  EXPECT_EQ(constraint_of(w)(constant({-3.0f, 4.0f})).to_vector<float>(), (std::vector<float>{0, 4}));
  set_constraint(w, {});
  EXPECT_FALSE(constraint_of(w));
  sgd.apply_gradients(std::vector<Tensor>{constant({1.0f, 1.0f})}, variables);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{-2, -2}));
}

// The average is that of the value before the constraint, as in Keras.
TEST(Constraint, ComesAfterTheMovingAverage) {
  const Variable w(2.0f);
  set_constraint(w, "non_neg");
  optimizers::SGD sgd({.learning_rate = 1.0, .use_ema = true});
  sgd.apply_gradients(std::vector<Tensor>{constant(5.0f)}, std::vector<Variable>{w});
  EXPECT_EQ(w.item<float>(), 0);
  EXPECT_EQ(sgd.variables()[0].item<float>(), -3);
  sgd.finalize_variable_values();
  EXPECT_EQ(w.item<float>(), -3);
}

TEST(Constraint, IsTakenByLayers) {
  const layers::Dense dense(2, {.kernel_initializer = initializers::Constant(3),
                                .bias_initializer = initializers::Constant(-1),
                                .kernel_constraint = constraints::MaxNorm({.max_value = 1}),
                                .bias_constraint = "non_neg"});
  const layers::BatchNormalization norm({.beta_initializer = initializers::Constant(-1),
                                         .gamma_initializer = initializers::Constant(-1),
                                         .beta_constraint = constraints::NonNeg(),
                                         .gamma_constraint = constraints::NonNeg()});
  const layers::Conv2D conv(1, 1, {.kernel_initializer = initializers::Constant(-2), .kernel_constraint = "non_neg"});
  norm(dense(ones({1, 4})));
  conv(ones({1, 1, 1, 1}));
  std::vector<Variable> variables = dense.trainable_variables();
  for (const Layer& layer : {Layer(norm), Layer(conv)}) {
    for (const Variable& variable : layer.trainable_variables()) variables.push_back(variable);
  }
  std::vector<Tensor> gradients;
  for (const Variable& variable : variables) gradients.push_back(zeros_like(variable));
  optimizers::SGD().apply_gradients(gradients, variables);
  EXPECT_NEAR(reduce_sum(square(dense.weights()[0])).item<float>(), 2, 1e-5);
  for (std::size_t i = 1; i < variables.size(); ++i) EXPECT_EQ(reduce_sum(abs(variables[i])).item<float>(), 0) << i;
}

TEST(Constraint, SaysWhatIsWrong) {
  EXPECT_EQ(message_of<ValueError>([] { Constraint("longest"); }),
            "constraint: there is none with the name \"longest\"; there are MaxNorm, NonNeg, UnitNorm, MinMaxNorm");
  EXPECT_EQ(message_of<ValueError>([] { constraints::MaxNorm({.max_value = -1}); }),
            "MaxNorm: option \"max_value\" must be at least 0.0, not -1.0");
  EXPECT_EQ(message_of<ValueError>([] { constraints::MinMaxNorm({.min_value = 2}); }),
            "MinMaxNorm: min_value must not exceed max_value, but they are 2 and 1");
  EXPECT_EQ(message_of<ValueError>([] { constraints::MinMaxNorm({.rate = 1.5}); }),
            "MinMaxNorm: option \"rate\" must be at least 0.0 and at most 1.0, not 1.5");
  EXPECT_EQ(message_of<ValueError>([] { set_constraint(Variable(), constraints::NonNeg()); }),
            "set_constraint: the variable is an empty handle");
  EXPECT_EQ(message_of<ValueError>([] { constraint_of(Variable()); }),
            "constraint_of: the variable is an empty handle");
  const Variable w({1.0f, 2.0f});
  EXPECT_THROW(constraints::UnitNorm({.axis = 1})(w.value()), IndexError);
  // One that changes the shape is refused, and the variable keeps the update.
  set_constraint(w, [](const Tensor& x) { return reduce_sum(x); });
  EXPECT_THROW(optimizers::SGD().apply_gradients(std::vector<Tensor>{constant({0.0f, 0.0f})}, std::vector<Variable>{w}),
               ShapeError);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Regularizer, IsFoundByItsName) {
  const Tensor w = constant({{1.0f, -2.0f}, {3.0f, 4.0f}});
  EXPECT_FLOAT_EQ(Regularizer("l1")(w).item<float>(), 0.1f);
  EXPECT_FLOAT_EQ(Regularizer("L2")(w).item<float>(), 0.3f);
  EXPECT_EQ(Regularizer("l1l2")(w).item<float>(), 0);
  EXPECT_NEAR(Regularizer("orthogonal_regularizer")(w).item<float>(), 0.0044721f, 1e-6);
  EXPECT_FALSE(Regularizer().has_value());
  const layers::Dense dense(1, {.kernel_initializer = "ones", .kernel_regularizer = "l2"});
  dense(ones({1, 3}));
  EXPECT_FLOAT_EQ(dense.losses()[0].item<float>(), 0.03f);
}

TEST(Regularizer, SaysWhatIsWrong) {
  EXPECT_EQ(message_of<ValueError>([] { Regularizer("l3"); }),
            "regularizer: there is none with the name \"l3\"; there are L1, L2, L1L2, OrthogonalRegularizer");
  EXPECT_EQ(message_of<ValueError>([] { regularizers::OrthogonalRegularizer(0.01, "both"); }),
            "OrthogonalRegularizer: option \"mode\" must be one of \"rows\", \"columns\", not \"both\"");
  EXPECT_EQ(message_of<ValueError>([] { Regularizer("l1_l2"); }), "regularizer: there is none with the name \"l1_l2\"");
  EXPECT_THROW(regularizers::L1(-1), ValueError);
  EXPECT_THROW(regularizers::L2(std::numeric_limits<double>::infinity()), ValueError);
  EXPECT_THROW(regularizers::OrthogonalRegularizer()(ones({3})), ShapeError);
  EXPECT_EQ(regularizers::OrthogonalRegularizer()(ones({1, 3})).item<float>(), 0);
}

// Weights stay in float32 and get their gradients there; the arithmetic is bfloat16.
TEST(DTypePolicy, MixedComputesInBfloat16) {
  const layers::Dense dense(3, {.activation = "relu", .dtype = "mixed_bfloat16"});
  const Tensor x = ones({2, 4});
  GradientTape tape;
  const Tensor y = dense(x);
  EXPECT_EQ(y.dtype(), bfloat16);
  EXPECT_EQ(dense.dtype(), float32);
  EXPECT_EQ(dense.compute_dtype(), bfloat16);
  const std::vector<Tensor> gradients =
      tape.gradient(losses::mean_squared_error(zeros({2, 3}), y), dense.trainable_variables());
  for (const Tensor& gradient : gradients) EXPECT_EQ(gradient.dtype(), float32);
  EXPECT_THROW(layers::Dense(1, {.dtype = int32}), DTypeError);
  EXPECT_THROW(layers::Dense(1, {.dtype = "mixed_float16"}), ValueError);
}

TEST(DTypePolicy, OfLayersThatAreGivenNone) {
  EXPECT_EQ(dtype_policy().name(), "float32");
  set_floatx(float64);
  EXPECT_EQ(dtype_policy().name(), "float64");
  set_floatx(float32);
  const layers::Dense before(2);
  set_dtype_policy("mixed_bfloat16");
  const layers::Dense dense(2), exact(2, {.dtype = float32});
  const Sequential model({layers::Dense(3, {.activation = "relu"}), layers::BatchNormalization(), exact});
  struct Own final : LayerBody {
    Tensor call(const Tensor& x, const CallOptions&) override { return 2 * x; }
  };
  const LayerOf<Own> own;
  EXPECT_EQ(own(ones({2})).dtype(), bfloat16);
  set_floatx(float64);  // has no part in it any more
  EXPECT_EQ(dtype_policy().name(), "mixed_bfloat16");
  set_floatx(float32);
  set_dtype_policy(float32);
  EXPECT_EQ(before.compute_dtype(), float32);
  EXPECT_EQ(dense.compute_dtype(), bfloat16);
  EXPECT_EQ(dense.dtype(), float32);
  EXPECT_EQ(model(ones({2, 4})).dtype(), float32);
  EXPECT_EQ(model.layers()[0](ones({2, 4})).dtype(), bfloat16);
  EXPECT_THROW(set_dtype_policy("mixed_float16"), ValueError);
  EXPECT_EQ(dtype_policy().name(), "float32");
}

TEST(DTypePolicy, MixedTrains) {
  const char* policy = "mixed_bfloat16";
  const Sequential model({layers::Dense(8, {.activation = "tanh", .dtype = policy}),
                          layers::BatchNormalization({.dtype = policy}), layers::Dense(1, {.dtype = policy})});
  const Tensor x = reshape(linspace(-1.0, 1.0, 32), {32, 1});
  const Tensor y = square(x);
  const optimizers::Adam adam({.learning_rate = 0.03});
  float first = 0;
  float last = 0;
  for (int step = 0; step < 60; ++step) {
    GradientTape tape;
    const Tensor loss = reduce_mean(losses::mean_squared_error(y, model(x, {.training = true})));
    adam.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    last = loss.item<float>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, first / 4);
}

TEST(DTypePolicy, WeightsInBfloat16AreNotUpdated) {
  const layers::Dense dense(1, {.dtype = bfloat16});
  GradientTape tape;
  const Tensor loss = reduce_sum(dense(ones({1, 2})));
  const std::vector<Tensor> gradients = tape.gradient(loss, dense.trainable_variables());
  EXPECT_EQ(gradients[0].dtype(), bfloat16);
  try {
    optimizers::SGD().apply_gradients(gradients, dense.trainable_variables());
    FAIL();
  } catch (const DTypeError& error) {
    EXPECT_NE(std::string(error.what()).find("is bfloat16, not float32 or float64\n  help: a layer of dtype"),
              std::string::npos)
        << error.what();
  }
}

TEST(BatchNormalization, RefusesSenselessLimitsOfRenormalisation) {
  EXPECT_EQ(message_of<ValueError>(
                [] { layers::BatchNormalization({.renorm = true, .renorm_clipping = {.rmax = 1, .rmin = 2}}); }),
            "batch_normalization: rmin must not exceed rmax, but they are 2 and 1");
  EXPECT_EQ(
      message_of<ValueError>([] { layers::BatchNormalization({.renorm = true, .renorm_clipping = {.dmax = -1}}); }),
      "batch_normalization: dmax must not be negative, but is -1");
}

TEST(ReLU, RefusesNegativeOptions) {
  EXPECT_THROW(layers::ReLU({.max_value = -1}), ValueError);
  EXPECT_THROW(layers::ReLU({.negative_slope = -1}), ValueError);
  EXPECT_THROW(layers::ReLU({.threshold = -1}), ValueError);
}

}  // namespace
}  // namespace capstan
