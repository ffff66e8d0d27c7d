// What the errors of layers, losses, metrics and optimizers say: they name what the program knows, not the ops inside.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/function.h"
#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

const Tensor kLabels = zeros({3, 2});
const Tensor kOther = zeros({4, 2});

TEST(LossMessages, NameTheLossLabelsAndPredictions) {
  const std::string mse =
      "mean_squared_error: shapes do not broadcast, [3, 2] and [4, 2]\n  y_true: float32[3, 2]\n  y_pred: float32[4, "
      "2]";
  EXPECT_EQ(message_of<ShapeError>([] { losses::mean_squared_error(kLabels, kOther); }), mse);
  EXPECT_EQ(message_of<ShapeError>([] { losses::MeanSquaredError()(kLabels, kOther); }), mse);
  EXPECT_EQ(message_of<ShapeError>([] { Loss("mse")(kLabels, kOther); }), mse + "\n  loss: mse");
  for (const char* name : {"mean_absolute_error", "huber", "binary_crossentropy", "categorical_crossentropy"}) {
    const std::string text = message_of<ShapeError>([&] { return Loss(name)(kLabels, kOther); });
    EXPECT_TRUE(text.starts_with(std::string(name) + ": ")) << text;
    EXPECT_NE(text.find("\n  y_true: float32[3, 2]\n  y_pred: float32[4, 2]"), std::string::npos) << text;
  }
  const Tensor classes = constant({0, 1, 5});
  const std::string text = message_of<Error>([&] { Loss("sparse_categorical_crossentropy")(classes, kLabels); });
  EXPECT_TRUE(text.starts_with("sparse_categorical_crossentropy: ")) << text;
  EXPECT_NE(text.find("\n  y_true: int32[3]\n  y_pred: float32[3, 2]"), std::string::npos) << text;
}

TEST(LossMessages, NameTheWeights) {
  EXPECT_EQ(message_of<ShapeError>([] { Loss("mse")(kLabels, kLabels, zeros({2})); }),
            "mse: shapes do not broadcast, [3] and [2]\n  y_true: float32[3, 2]\n  y_pred: float32[3, 2]\n  "
            "sample_weight: float32[2]");
}

// The error of a function of the program has the name that is right there; the loss is said beside it.
TEST(LossMessages, KeepTheNameWithinAFunctionOfTheProgram) {
  const Loss own([](const Tensor& t, const Tensor& p) { return reduce_mean(t - p, -1); });
  EXPECT_EQ(
      message_of<ShapeError>([&] { own(kLabels, kOther); }),
      "subtract: shapes do not broadcast, [3, 2] and [4, 2]\n  loss: function\n  y_true: float32[3, 2]\n  y_pred: "
      "float32[4, 2]");
}

TEST(LossMessages, ReachEvaluate) {
  const Sequential model({layers::Dense(2, {.input_shape = {3}})});
  model.compile({.loss = "mse"});
  EXPECT_EQ(message_of<ShapeError>([&] {
              model.evaluate(ones({4, 3}), ones({4, 5}));
            }),
            "mean_squared_error: shapes do not broadcast, [4, 5] and [4, 2]\n  y_true: float32[4, 5]\n  y_pred: "
            "float32[4, 2]\n  loss: mse");
}

TEST(MetricMessages, NameTheMetricLabelsPredictionsAndWeights) {
  EXPECT_EQ(message_of<ShapeError>([] { metrics::BinaryAccuracy().update_state(kLabels, kOther); }),
            "binary_accuracy: shapes do not broadcast, [3, 2] and [4, 2]\n  y_true: float32[3, 2]\n  y_pred: "
            "float32[4, 2]");
  EXPECT_EQ(message_of<ShapeError>([] { Metric("acc").update_state(kLabels, kOther); }),
            "categorical_accuracy: shapes do not broadcast, [3] and [4]\n  metric: acc\n  y_true: float32[3, 2]\n  "
            "y_pred: float32[4, 2]");
  const std::string text =
      message_of<ShapeError>([] { metrics::BinaryAccuracy().update_state(kLabels, kLabels, zeros({2})); });
  EXPECT_TRUE(text.starts_with("binary_accuracy: ")) << text;
  EXPECT_NE(text.find("\n  sample_weight: float32[2]"), std::string::npos) << text;
}

TEST(LayerMessages, NameTheLayer) {
  const layers::Dense dense(3, {.name = "scores"});
  const std::string text = message_of<DTypeError>([&] { dense(zeros({2, 4}, complex64)); });
  EXPECT_TRUE(text.starts_with("matmul: dtypes differ, complex64 and float32\n")) << text;
  EXPECT_NE(text.find("\n  layer: scores\n  help: "), std::string::npos) << text;
}

// A layer whose call is wrong, and a model around it.
class Wrong : public LayerBody {
 public:
  Wrong() : LayerBody({.name = "wrong"}) {}
  Tensor call(const Tensor& x, const CallOptions&) override { return x + ones({7}); }
};
class Around : public ModelBody {
 public:
  Around() : ModelBody({.name = "around"}) {}
  Tensor call(const Tensor& x, const CallOptions&) override { return inner(x); }
  LayerOf<Wrong> inner;
};

TEST(LayerMessages, NameTheInnermostLayerOnceByItsPath) {
  const ModelOf<Around> around;
  for (const bool traced : {false, true}) {
    auto call = function([&](const Tensor& x) { return around(x); });
    const std::string text = message_of<ShapeError>([&] { traced ? call(ones({2, 3})) : around(ones({2, 3})); });
    EXPECT_EQ(text, "add: shapes do not broadcast, [2, 3] and [7]\n  layer: around/wrong");
  }
}

TEST(LayerMessages, DoNotSayTheNameTwice) {
  const layers::Dense dense(3, {.name = "dense_x"});
  EXPECT_EQ(message_of<ShapeError>([&] { dense(ones({2})); }),
            "dense_x: the input must have rank 2 or more, not 1: [2]");
}

TEST(Names, ThatAreUnknownAreToldWhatThereIs) {
  const auto of = [](const auto& make) { return message_of<ValueError>(make); };
  const std::string loss = of([] { Loss("mze"); });
  EXPECT_TRUE(loss.starts_with("loss: there is none with the name \"mze\"; there are MeanSquaredError, ")) << loss;
  EXPECT_TRUE(loss.ends_with("\n  help: register_class() makes one of your own known")) << loss;
  EXPECT_NE(of([] { Loss("hubert"); }).find("\n  help: did you mean \"Huber\"?"), std::string::npos);
  EXPECT_NE(of([] { Metric("Acuracy"); }).find("\n  help: did you mean \"Accuracy\"?"), std::string::npos);
  EXPECT_NE(of([] { ActivationFunction("relu7"); }).find("\n  help: did you mean \"relu\"?"), std::string::npos);
  EXPECT_NE(of([] { ActivationFunction("softmaxx"); }).find("there are linear, relu, softmax, "), std::string::npos);
  EXPECT_NE(of([] { Initializer("glorot_unifrom"); }).find("\n  help: did you mean \"GlorotUniform\"?"),
            std::string::npos);
  EXPECT_NE(of([] { Regularizer("L5"); }).find("there are L1, L2, L1L2, OrthogonalRegularizer"), std::string::npos);
  EXPECT_NE(of([] { Constraint("unit_nrm"); }).find("\n  help: did you mean \"UnitNorm\"?"), std::string::npos);
}

// --- Optimizers on what there is nothing of ---

TEST(OptimizerOnNothing, NamesTheVariableThatIsAnEmptyHandle) {
  const Variable v(ones({2}));
  const Variable none;
  const Tensor g = ones({2});
  for (const Optimizer& optimizer : {Optimizer(optimizers::SGD()), Optimizer(optimizers::SGD({.momentum = 0.9})),
                                     Optimizer(optimizers::Adam()), Optimizer(optimizers::Adam({.use_ema = true}))}) {
    const std::string wanted = optimizer.name() +
                               ": variable 1 is an empty handle\n  help: a member of a layer is one until build() has "
                               "made it";
    EXPECT_EQ(message_of<ValueError>([&] {
                optimizer.apply_gradients(std::vector{g, g}, std::vector{v, none});
              }),
              wanted);
    EXPECT_EQ(message_of<ValueError>([&] { optimizer.build(std::vector{v, none}); }), wanted);
    // Nothing is left of it.
    optimizer.apply_gradients(std::vector{g}, std::vector{v});
    EXPECT_EQ(message_of<ValueError>([&] {
                optimizer.apply_gradients(std::vector{g, g}, std::vector{v, none});
              }),
              wanted);
  }
}

TEST(OptimizerOnNothing, RefusesEmptyLists) {
  const std::vector<Variable> no_variables;
  const std::vector<Tensor> no_gradients;
  const Variable v(ones({2}));
  for (const Optimizer& optimizer : {Optimizer(optimizers::SGD()), Optimizer(optimizers::Adam())}) {
    EXPECT_TRUE(message_of<ValueError>([&] {
                  optimizer.apply_gradients(no_gradients, no_variables);
                }).starts_with(optimizer.name() + ": the list of variables is empty"));
    EXPECT_TRUE(message_of<ValueError>([&] {
                  optimizer.apply_gradients(std::vector{Tensor()}, std::vector{v});
                }).starts_with(optimizer.name() + ": all gradients are missing"));
  }
}

TEST(OptimizerOnNothing, LeavesVariablesWithoutElementsAsTheyAre) {
  const Variable empty(zeros({0, 3}));
  const Variable v(ones({2}));
  for (const Optimizer& optimizer :
       {Optimizer(optimizers::SGD()), Optimizer(optimizers::SGD({.momentum = 0.9, .nesterov = true})),
        Optimizer(optimizers::Adam({.amsgrad = true})),
        Optimizer(optimizers::Adam({.clipnorm = 1.0, .use_ema = true}))}) {
    optimizer.apply_gradients(std::vector{zeros({0, 3}), ones({2})}, std::vector{empty, v});
    auto step = function([&](const Tensor& g) { optimizer.apply_gradients(std::vector{g}, std::vector{empty}); });
    step(zeros({0, 3}));
    EXPECT_EQ(empty.shape(), (Shape{0, 3}));
  }
}

}  // namespace
}  // namespace capstan
