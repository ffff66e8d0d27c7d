#include "capstan/models.h"

#include <gtest/gtest.h>

#include <cmath>

#include "capstan/capstan.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

class LinearModel : public ModelBody {
 public:
  Tensor call(const Tensor& x, const CallOptions&) override { return dense(x); }
  layers::Dense dense{1};
};

Sequential mnist_network() {
  std::vector<Layer> list;
  const auto block = [&](std::int64_t filters, int times) {
    for (int i = 0; i < times; ++i) {
      layers::Conv2DOptions options{.padding = "same"};
      if (list.empty()) options.input_shape = {28, 28, 1};
      list.push_back(layers::Conv2D(filters, {3, 3}, options));
      list.push_back(layers::Activation("relu"));
      list.push_back(layers::BatchNormalization());
    }
    list.push_back(layers::MaxPooling2D({2, 2}));
  };
  block(16, 1);
  block(32, 2);
  block(64, 3);
  list.push_back(layers::Flatten());
  list.push_back(layers::Dense(256));
  list.push_back(layers::Activation("relu"));
  list.push_back(layers::BatchNormalization());
  list.push_back(layers::Dropout(0.5));
  list.push_back(layers::Dense(10));
  list.push_back(layers::Activation("softmax"));
  return Sequential(list);
}

TEST(Sequential, OfTheTutorialHasItsParametersAtOnce) {
  const Sequential model = mnist_network();
  EXPECT_TRUE(model.is_built());
  EXPECT_EQ(model.layers().size(), 28u);
  EXPECT_EQ(model.weights().size(), 44u);
  EXPECT_EQ(model.trainable_variables().size(), 30u);
  EXPECT_EQ(model.count_params(), 258794);
  EXPECT_EQ(model.weights()[0].path(), model.name() + "/" + model.layers()[0].name() + "/kernel");
}

TEST(Sequential, WithoutInputShapeIsBuiltByItsFirstCall) {
  const Sequential model({layers::Dense(4, {.activation = "relu"}), layers::Dense(2)});
  EXPECT_FALSE(model.is_built());
  EXPECT_TRUE(model.weights().empty());
  EXPECT_EQ(model(ones({3, 5})).shape(), (Shape{3, 2}));
  EXPECT_EQ(model.count_params(), 5 * 4 + 4 + 4 * 2 + 2);
  EXPECT_THROW(model(ones({3, 6})), ShapeError);
}

TEST(Sequential, TakesLayersWhenItIsBuilt) {
  const Sequential model({layers::InputLayer({4})});
  model.add(layers::Dense(3));
  model.add(layers::BatchNormalization());
  EXPECT_TRUE(model.is_built());
  EXPECT_EQ(model.count_params(), 15 + 12);
  const Tensor kernel = model.weights()[0];
  const Tensor x = ones({2, 4});
  EXPECT_EQ(model(x).shape(), (Shape{2, 3}));
  model.add(layers::Dense(2, {.name = "end"}));
  EXPECT_EQ(model.weights().back().path(), model.name() + "/end/bias");
  EXPECT_EQ(model(x).shape(), (Shape{2, 2}));
  EXPECT_EQ(model.predict(x).shape(), (Shape{2, 2}));
  EXPECT_NE(model.summary().find("(None, 3)"), std::string::npos);
  const Layer end = model.pop();
  EXPECT_EQ(end.name(), "end");
  EXPECT_EQ(model.predict(x).shape(), (Shape{2, 3})) << "traced anew";
  model.add(end);
  EXPECT_TRUE(equal_tensors(model.weights().back(), end.weights().back()));
  EXPECT_TRUE(equal_tensors(kernel, model.weights()[0])) << "weights stay";
}

TEST(Sequential, HasALayerSeveralTimes) {
  const layers::Dense block(4);
  const Sequential model({layers::Dense(4), block, block, layers::Dense(1)});
  const Tensor x = ones({2, 3});
  EXPECT_EQ(model(x).shape(), (Shape{2, 1}));
  EXPECT_EQ(model.layers().size(), 4U);
  EXPECT_EQ(model.weights().size(), 6U);
  EXPECT_EQ(model.count_params(), 16 + 20 + 5);
  EXPECT_TRUE(equal_tensors(model(x), model.layers()[3](block(block(model.layers()[0](x))))));
  GradientTape tape;
  const Tensor loss = reduce_sum(model(x));
  const std::vector<Tensor> gradients = tape.gradient(loss, model.trainable_variables());
  EXPECT_EQ(gradients.size(), 6U);
  model.pop();
  model.pop();
  EXPECT_EQ(model(x).shape(), (Shape{2, 4}));
  EXPECT_EQ(model.weights().size(), 4U);
  EXPECT_THROW(Sequential({layers::Dense(2, {.name = "a"}), layers::Dense(2, {.name = "a"})}), ValueError);
}

TEST(Sequential, BuiltByACallIsBuiltAnewByTheNext) {
  const Sequential model({layers::Dense(3)});
  model(ones({1, 4}));
  model.add(layers::Dense(2));
  EXPECT_FALSE(model.is_built());
  EXPECT_EQ(model(ones({1, 4})).shape(), (Shape{1, 2}));
  model.pop();
  EXPECT_EQ(model(ones({1, 4})).shape(), (Shape{1, 3}));
}

TEST(Sequential, RefusesLayersThatDoNotFitAndStaysAsItWas) {
  const Sequential model({layers::InputLayer({4}), layers::Dense(3)});
  const Tensor before = model(ones({2, 4}));
  EXPECT_THROW(model.add(layers::Conv2D(3, {2, 2})), ShapeError);
  EXPECT_TRUE(model.is_built());
  EXPECT_EQ(model.layers().size(), 1u);
  EXPECT_TRUE(equal_tensors(model(ones({2, 4})), before));
  EXPECT_THROW(model.pop(), IndexError);
  EXPECT_THROW(Sequential().pop(), IndexError);
  const Sequential empty({layers::InputLayer({4})});
  EXPECT_THROW(empty.add(layers::InputLayer({5})), ValueError);
}

TEST(Sequential, TrainsWithLayersThatCameLater) {
  const Tensor x = random::normal({32, 4}), y = random::normal({32, 1});
  const Sequential model({layers::InputLayer({4})});
  model.compile({.optimizer = optimizers::SGD(), .loss = losses::MeanSquaredError()});
  model.add(layers::Dense(3));
  model.add(layers::Dense(1));
  model.fit(x, y, {.verbose = 0});
  const Tensor before = model.layers()[0].get_weights()[0];
  model.add(layers::Dense(1));
  model.compile({.optimizer = optimizers::Adam()});
  model.fit(x, y, {.verbose = 0});
  EXPECT_FALSE(equal_tensors(before, model.layers()[0].get_weights()[0]));
  EXPECT_GE(model.evaluate(x, y, {.verbose = 0}).loss, 0);
}

TEST(Sequential, SharesItsLayers) {
  const layers::Dense head(2, {.name = "head"});
  const Sequential model({head});
  model(ones({1, 3}));
  EXPECT_TRUE(equal_tensors(head.get_weights()[0], model.get_weights()[0]));
  EXPECT_TRUE(equal_tensors(model.layers()[0](ones({1, 3})), model(ones({1, 3}))));
  EXPECT_EQ(model.get_layer("head").name(), "head");
  EXPECT_THROW(model.get_layer("body"), ValueError);
  EXPECT_THROW(Sequential({head, layers::Dense(2, {.name = "head"})}), ValueError);
}

TEST(Model, OfAUserTrains) {
  set_seed(4);
  const Tensor x = constant({{-1.0}, {0.0}, {1.0}, {2.0}});
  const Tensor y = 2 * x - 1;
  ModelOf<LinearModel> model;
  EXPECT_TRUE(model.trainable_variables().empty());
  const losses::MeanSquaredError loss_fn;
  const optimizers::SGD optimizer({.learning_rate = 0.1});
  for (int step = 0; step < 200; ++step) {
    GradientTape tape;
    const Tensor loss = loss_fn(y, model(x, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
  }
  EXPECT_NEAR(model->dense.get_weights()[0].item<float>(), 2, 1e-3);
  EXPECT_NEAR(model->dense.get_weights()[1].item<float>(), -1, 1e-3);
  EXPECT_TRUE(model.name().starts_with("linear_model"));
  EXPECT_EQ(optimizer.iterations(), 200);
}

// As in Keras, of which programs give columns as vectors.
TEST(Model, InputsGetOrLoseALastAxisOfLengthOne) {
  const Tensor column = constant({{1.0}, {2.0}}), row = constant({1.0, 2.0});
  const Sequential stack({layers::Dense(3, {.input_shape = {1}})});
  EXPECT_TRUE(testing::same_bits(stack(row), stack(column)));
  const Tensor x = Input({1}), y = Input(Shape{});
  const Model one(x, layers::Dense(3)(x)), flat(y, layers::Rescaling(2.0)(y));
  EXPECT_TRUE(testing::same_bits(one(row), one(column)));
  EXPECT_EQ(flat(column).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_THROW(one(constant({{1.0, 2.0}})), ShapeError);
}

TEST(Model, EvaluatesLossAndAccuracyOverAllExamples) {
  const Sequential model({layers::Activation("linear")});
  const Tensor p = constant({{0.9, 0.1}, {0.2, 0.8}, {0.6, 0.4}});
  const Tensor y = constant({{1.0, 0.0}, {0.0, 1.0}, {0.0, 1.0}});
  EXPECT_THROW(model.evaluate(p, y), ValueError);
  model.compile({.loss = losses::categorical_crossentropy, .metrics = {"acc"}});
  const Evaluation result = model.evaluate(p, y, {.batch_size = 2});
  EXPECT_NEAR(result.loss, -(std::log(0.9) + std::log(0.8) + std::log(0.4)) / 3, 1e-6);
  EXPECT_EQ(result.metrics[0].first, "acc");
  EXPECT_NEAR(result["acc"], 2.0 / 3, 1e-6);
  EXPECT_THROW(result["f1"], ValueError);
  EXPECT_THROW(model.evaluate(p, y(slice(0, 2))), ShapeError);
  EXPECT_TRUE(equal_tensors(model.predict(p, {.batch_size = 2}), p));
}

// A model whose data is not what its call takes, as that of a GAN.
class Decoder : public ModelBody {
 public:
  // Two numbers to three.
  Tensor call(const Tensor& code, const CallOptions&) override {
    ++calls;
    return dense(code);
  }
  StepLogs train_step(const Batch& batch) override {
    GradientTape tape;
    const Tensor loss = reduce_mean(square(dense(ones({1, 2})) - batch.x.tensor()));
    const auto& weights = self().trainable_variables();
    optimizer().apply_gradients(tape.gradient(loss, weights), weights);
    return {{"loss", loss}};
  }

  layers::Dense dense{3};
  int calls = 0;
};

TEST(Model, TrainsOnDataThatItsCallDoesNotTake) {
  const ModelOf<Decoder> model;
  model(ones({1, 2}));
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1})});
  const Tensor x = constant({{1.0, 2.0, 3.0}});
  const History history = model.fit(x, {}, {.epochs = 50, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 1e-3 * history["loss"].front());
  EXPECT_EQ(model->calls, 1);
  // Which loss and metrics there are depends on the outputs, which only a call tells.
  model.compile({.loss = "mse"});
  EXPECT_THROW(model.fit(x, x, {.verbose = 0}), ShapeError);
}

// The mean error of the examples that are labelled.
class Labelled : public ModelBody {
 public:
  Tensor call(const Tensor& x, const CallOptions&) override { return dense(x); }
  StepLogs train_step(const Batch& batch) override {
    ++steps;
    GradientTape tape;
    const Tensor y = batch.y.tensor();
    const Tensor error = square(self()(batch.x.tensor()) - y);
    const Tensor loss = reduce_mean(boolean_mask(error, greater_equal(y, 0)));
    const auto& weights = self().trainable_variables();
    optimizer().apply_gradients(tape.gradient(loss, weights), weights);
    return {{"loss", loss}};
  }

  layers::Dense dense{1};
  int steps = 0;
};

TEST(Model, WhoseStepNeedsValuesRunsOpByOp) {
  const Tensor x = random::normal({6, 2}, 0, 1, float32, 1);
  const Tensor y = constant({{1.0f}, {-1.0f}, {2.0f}, {-1.0f}, {0.5f}, {1.0f}});
  const auto trained = [&](bool run_eagerly) {
    set_seed(5);
    const ModelOf<Labelled> model;
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .run_eagerly = run_eagerly});
    ::testing::internal::CaptureStderr();
    const History history = model.fit(x, y, {.batch_size = 2, .epochs = 3, .verbose = 0, .shuffle = false});
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("train_step needs values") != said.npos, !run_eagerly) << said;
    EXPECT_EQ(model->steps, run_eagerly ? 9 : 10);  // and the trace that was given up
    return history["loss"];
  };
  EXPECT_EQ(trained(false), trained(true));
}

TEST(Model, OfSeveralOutputsIsTrainedByWhatItsLayersAdd) {
  class Penalty : public LayerBody {
    void build(const Shape&) override { weight_ = add_weight({.initializer = "ones"}); }
    Tensor call(const Tensor& x, const CallOptions&) override {
      add_loss(square(weight_.value() - 3));
      return x * weight_;
    }
    Variable weight_;
  };
  const Tensor x = Input({2});
  const Tensor y = LayerOf<Penalty>()(x);
  const Model model(x, Nest{y, layers::Identity()(y)});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.25})});
  model.fit(ones({4, 2}), {}, {.epochs = 20, .verbose = 0});
  EXPECT_NEAR(model.get_weights()[0].item<double>(), 3, 1e-4);
}

TEST(Model, SummarisesItsLayers) {
  const Sequential model(
      {layers::Dense(3, {.name = "a", .input_shape = {4}}), layers::BatchNormalization({.name = "batch_normalization"}),
       layers::Dropout(0.5, {.name = "c"}), layers::Dense(2, {.name = "d"})},
      "m");
  EXPECT_EQ(model.summary(), R"(Model: "m"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━┓
┃ Layer (type)                         ┃ Output Shape                ┃         Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━┩
│ a (Dense)                            │ (None, 3)                   │              15 │
├──────────────────────────────────────┼─────────────────────────────┼─────────────────┤
│ batch_normalization                  │ (None, 3)                   │              12 │
│ (BatchNormalization)                 │                             │                 │
├──────────────────────────────────────┼─────────────────────────────┼─────────────────┤
│ c (Dropout)                          │ (None, 3)                   │               0 │
├──────────────────────────────────────┼─────────────────────────────┼─────────────────┤
│ d (Dense)                            │ (None, 2)                   │               8 │
└──────────────────────────────────────┴─────────────────────────────┴─────────────────┘
 Total params: 35 (140.00 B)
 Trainable params: 29 (116.00 B)
 Non-trainable params: 6 (24.00 B)
)");
}

}  // namespace
}  // namespace capstan
