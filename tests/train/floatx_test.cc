// set_floatx: everything that has no dtype of its own follows it.
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/capstan.h"

namespace capstan {
namespace {

// Leaves the process as other tests expect it.
class Floatx : public ::testing::Test {
 protected:
  ~Floatx() override { set_floatx(float32); }
};

TEST_F(Floatx, IsFloat32AtFirst) {
  EXPECT_EQ(floatx(), float32);
  EXPECT_THROW(set_floatx(int32), DTypeError);
  EXPECT_THROW(set_floatx(complex64), DTypeError);
  EXPECT_EQ(floatx(), float32);
}

TEST_F(Floatx, IsTheDTypeOfFloatingLiterals) {
  set_floatx(float64);
  EXPECT_EQ(constant(1.5).dtype(), float64);
  EXPECT_EQ(constant(1.5f).dtype(), float64);
  EXPECT_EQ(constant({{1.0, 2.0}}).dtype(), float64);
  EXPECT_EQ(constant({}).dtype(), float64);
  EXPECT_EQ(constant({1, 2}).dtype(), int32);
  EXPECT_EQ(constant(1.5, float32).dtype(), float32);
  EXPECT_EQ(Variable(3.0).dtype(), float64);
  EXPECT_EQ(sin(1.5).dtype(), float64);
  EXPECT_EQ(add(1, 0.5).dtype(), float64);
  EXPECT_EQ((constant({1.0}, float32) * 2.0).dtype(), float32) << "a number takes the dtype of the tensor it meets";
  EXPECT_EQ(constant(0.1).item<double>(), 0.1) << "not rounded to float32 on the way";
}

TEST_F(Floatx, IsTheDTypeOfWhatIsMade) {
  set_floatx(float64);
  EXPECT_EQ(zeros({2}).dtype(), float64);
  EXPECT_EQ(ones({2}).dtype(), float64);
  EXPECT_EQ(eye(2).dtype(), float64);
  EXPECT_EQ(range(2.0).dtype(), float64);
  EXPECT_EQ(linspace(0, 1, 3).dtype(), float64);
  EXPECT_EQ(one_hot(constant({1}), 3).dtype(), float64);
  EXPECT_EQ(hann_window(4).dtype(), float64);
  EXPECT_EQ(random::uniform({2}).dtype(), float64);
  EXPECT_EQ(random::normal({2}).dtype(), float64);
  EXPECT_EQ(random::gamma({2}, 1.0).dtype(), float64);
  EXPECT_EQ(TensorSpec({2}).dtype, float64);
  EXPECT_EQ(initializers::GlorotUniform()({2, 2}).dtype(), float64);
  EXPECT_EQ(to_categorical(constant({1, 0})).dtype(), float64);
  EXPECT_EQ(global_norm({}).dtype(), float64);
}

TEST_F(Floatx, IsPartOfWhatAFunctionIsTracedFor) {
  auto f = function([](const Tensor& x) { return cast(x, floatx()) + constant(0.1); });
  const Tensor x = constant({1, 2});
  EXPECT_EQ(f(x).dtype(), float32);
  set_floatx(float64);
  EXPECT_EQ(f(x).dtype(), float64);
  EXPECT_EQ(f(x).to_vector<double>(), (std::vector<double>{1.1, 2.1}));
  EXPECT_NE(retrace_reason(f).find("floatx()"), std::string::npos) << retrace_reason(f);
  set_floatx(float32);
  EXPECT_EQ(f(x).dtype(), float32);
}

// The error of a fit of y = 2x - 1 after some steps of Adam in a function; everything has its default dtype.
double error_after_training() {
  set_seed(3);
  Sequential model({layers::Dense(8, {.activation = "tanh", .input_shape = {1}}), layers::BatchNormalization(),
                    layers::Dropout(0.05), layers::Dense(1)});
  for (const Variable& weight : model.weights()) EXPECT_EQ(weight.dtype(), floatx()) << weight.path();
  optimizers::Adam optimizer({.learning_rate = 0.05});
  metrics::Mean mean;
  const Tensor x = reshape(linspace(-1.0, 1.0, 16), {16, 1});
  const Tensor y = 2.0 * x - 1.0;
  auto step = function([&](const Tensor& inputs, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = losses::MeanSquaredError()(labels, model(inputs, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  for (int i = 0; i < 500; ++i) mean.update_state(step(x, y));
  EXPECT_EQ(mean.result().dtype(), floatx());
  const Tensor predictions = model(x);
  EXPECT_EQ(predictions.dtype(), floatx());
  return losses::MeanSquaredError()(y, predictions).item<double>();
}

TEST_F(Floatx, TrainsInFloat64) {
  set_floatx(float64);
  EXPECT_LT(error_after_training(), 0.2);
  set_floatx(float32);
  EXPECT_LT(error_after_training(), 0.2);
}

TEST_F(Floatx, OfEarlierTensorsDoesNotChange) {
  const Tensor x = constant({1.0});
  layers::Dense dense(2);
  set_floatx(float64);
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(dense(x(newaxis)).dtype(), float32) << "a layer has the dtype of when it was made";
}

}  // namespace
}  // namespace capstan
