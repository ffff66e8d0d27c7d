// What has state, there and back.
#include "capstan/state.h"

#include <gtest/gtest.h>

#include "capstan/function.h"
#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

Sequential small_model() {
  return Sequential({layers::Dense(3, {.activation = "relu", .input_shape = {2}}), layers::Dropout(0.5),
                     layers::Dense(2), layers::BatchNormalization()});
}

void train(const Model& model, const Optimizer& optimizer, int steps) {
  const Tensor x = constant({{1.0f, 2.0f}, {3.0f, -1.0f}, {0.5f, 0.25f}});
  for (int i = 0; i < steps; ++i) {
    GradientTape tape;
    const Tensor loss = reduce_sum(model(x, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
  }
}

void expect_same(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(names_of(a), names_of(b));
  for (const auto& [name, tensor] : a) {
    EXPECT_EQ(tensor.dtype(), b.at(name).dtype()) << name;
    EXPECT_EQ(tensor.to_string(), b.at(name).to_string()) << name;
  }
}

TEST(State, OfLayersHasNamesOfPlacesAndClasses) {
  const Sequential model = small_model();
  const std::vector<std::string> expected = {"batch_normalization/beta",
                                             "batch_normalization/gamma",
                                             "batch_normalization/moving_mean",
                                             "batch_normalization/moving_variance",
                                             "dense/bias",
                                             "dense/kernel",
                                             "dense_1/bias",
                                             "dense_1/kernel",
                                             "dropout/random_key"};
  EXPECT_EQ(names_of(State(model).save()), expected);
  // Other names of layers, the same places.
  EXPECT_EQ(names_of(State(small_model()).save()), expected);
  const Sequential outer({small_model(), layers::Dense(1)});
  outer.build({1, 2});
  EXPECT_TRUE(State(outer).save().contains("sequential/dense_1/kernel"));
  const layers::Dense unbuilt(1);
  EXPECT_NE(message_of<ValueError>([&] { State(unbuilt).save(); }).find("no weights yet"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { State(Layer()).save(); }).find("empty handle"), std::string::npos);
}

TEST(State, OfSharedLayersIsThereOnce) {
  const layers::Dense shared(2);
  const Tensor a = Input({2}), b = Input({2});
  const Model model({a, b}, layers::Add()({shared(a), shared(b)}));
  EXPECT_EQ(named_weights(model).size(), 2u);
}

TEST(State, OfLayersThatDrawHasTheirKeys) {
  const layers::LSTM lstm(2, {.dropout = 0.5});
  lstm(zeros({1, 3, 2}));
  const layers::MultiHeadAttention attention(1, 2, {.dropout = 0.5});
  attention({zeros({1, 3, 2}), zeros({1, 3, 2})});
  for (const Layer& layer : std::vector<Layer>{lstm, attention}) {
    bool has_key = false;
    for (const auto& [name, tensor] : State(layer).save()) has_key = has_key || name.ends_with("random_key");
    EXPECT_TRUE(has_key) << layer.name();
  }
}

TEST(State, OfModelOptimizerAndDrawsGoesOnWithTheSameBits) {
  for (const auto& make :
       {+[] { return Optimizer(optimizers::Adam({.learning_rate = 0.1})); },
        +[] {
          return Optimizer(
              optimizers::SGD({.learning_rate = schedules::ExponentialDecay(0.1, 2, 0.5), .momentum = 0.9}));
        },
        +[] { return Optimizer(optimizers::Adafactor()); },
        +[] { return Optimizer(optimizers::Adam({.use_ema = true, .gradient_accumulation_steps = 2})); },
        +[] { return Optimizer(optimizers::LossScaleOptimizer(optimizers::Adam())); }}) {
    const Sequential model = small_model();
    const Optimizer optimizer = make();
    train(model, optimizer, 3);
    const NamedTensors weights = State(model).save(), slots = State(optimizer).save();
    train(model, optimizer, 4);

    // An optimizer that has no slots yet, and one that has others.
    for (const int before : {0, 2}) {
      const Sequential again = small_model();
      const Optimizer other = make();
      train(again, other, before);
      State(again).restore(weights);
      State(other).restore(slots);
      expect_same(State(other).save(), slots);
      train(again, other, 4);
      expect_same(State(again).save(), State(model).save());
      expect_same(State(other).save(), State(optimizer).save());
      EXPECT_EQ(other.iterations(), optimizer.iterations());
    }
  }
}

TEST(State, OfAnOptimizerThatDoesNotFitIsRefusedBeforeTheFirstUpdate) {
  const Sequential model = small_model();
  const optimizers::Adam optimizer;
  train(model, optimizer, 1);
  NamedTensors saved = State(optimizer).save();
  saved.erase("variables/0");
  const optimizers::Adam other;
  State(other).restore(saved);
  const std::string before = State(model).save().at("dense/kernel").to_string();
  EXPECT_NE(message_of<ValueError>([&] { train(model, other, 1); }).find("\"variables/0\", float32[2, 3]"),
            std::string::npos);
  EXPECT_EQ(State(model).save().at("dense/kernel").to_string(), before);
  saved = State(optimizer).save();
  saved["iterations"] = constant(std::int64_t{-1}, int64);
  EXPECT_NE(message_of<ValueError>([&] { State(other).restore(saved); }).find("negative"), std::string::npos);
}

TEST(State, OfRandomNumbersGivesTheSameDraws) {
  set_seed(3);
  random::normal({2});
  const NamedTensors saved = State(RandomState()).save();
  const std::string draws = random::normal({3}).to_string();
  const layers::Dense first(2);
  first(zeros({1, 2}));
  set_seed(4);
  State(RandomState()).restore(saved);
  EXPECT_EQ(random::normal({3}).to_string(), draws);
  const layers::Dense second(2);
  second(zeros({1, 2}));
  EXPECT_EQ(second.get_weights()[0].to_string(), first.get_weights()[0].to_string());
}

struct Position {
  std::int64_t at = 0;
  NamedTensors save() const { return {{"at", constant(at, int64)}}; }
  void restore(const NamedTensors& saved) { at = saved.at("at").item<std::int64_t>(); }
};

TEST(State, OfNumbersVariablesMetricsAndObjectsOfOnesOwn) {
  std::int64_t step = 9'007'199'254'740'993;  // no float64
  int epoch = -4;
  double best = 0.1;
  const Variable variable({1.0f, 2.0f});
  const metrics::Mean mean;
  mean.update_state(constant({1.0f, 2.0f}));
  Position position{5};
  const std::vector<State> states = {step, epoch, best, variable, mean, position};
  std::vector<NamedTensors> saved;
  for (const State& state : states) saved.push_back(state.save());
  EXPECT_EQ(names_of(saved[4]), (std::vector<std::string>{"count", "total"}));
  step = 0, epoch = 0, best = 0, position.at = 0;
  variable.assign(zeros({2}));
  mean.reset_state();
  for (std::size_t i = 0; i < states.size(); ++i) states[i].restore(saved[i]);
  EXPECT_EQ(step, 9'007'199'254'740'993);
  EXPECT_EQ(epoch, -4);
  EXPECT_EQ(best, 0.1);
  EXPECT_EQ(variable.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(mean.result().item<float>(), 1.5f);
  EXPECT_EQ(position.at, 5);
  EXPECT_NE(message_of<ValueError>([&] {
              State(epoch).restore({{"", constant(3000000000, int64)}});
            }).find("an int"),
            std::string::npos);
}

TEST(State, ThatDoesNotFitChangesNothing) {
  const Sequential model = small_model();
  NamedTensors saved = State(model).save();
  saved["dense/kernel"] = zeros({2, 4});
  saved["dense_1/bias"] = zeros({2}, float64);
  saved["dense_2/bias"] = zeros({1});
  saved["batch_normalization/gamma"] = zeros({2});
  saved.erase("dense/bias");
  const StateDifference difference = State(model).compare(saved);
  EXPECT_EQ(difference.missing, (std::vector<std::string>{"\"dense/bias\", float32[3]"}));
  EXPECT_EQ(difference.left_over, (std::vector<std::string>{"\"dense_2/bias\", float32[1]"}));
  EXPECT_EQ(difference.mismatched.size(), 2u);
  const NamedTensors before = State(model).save();
  const std::string message = message_of<ValueError>([&] { State(model).restore(saved); });
  EXPECT_NE(message.find("different: \"dense/kernel\" is float32[2, 3] here, and float32[2, 4] was saved"),
            std::string::npos)
      << message;
  expect_same(State(model).save(), before);
}

TEST(State, IsNotForFunctions) {
  const Variable variable(1.0f);
  auto traced = function([&](const Tensor& x) {
    State(variable).save();
    return x;
  });
  EXPECT_NE(message_of<TraceError>([&] { traced(constant(1.0f)); }).find("while a function is traced"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
