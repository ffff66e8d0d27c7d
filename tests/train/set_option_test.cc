// Options that a layer reads at every call can be changed; all others are errors, and an error changes nothing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

std::vector<double> numbers(const Tensor& x) { return cast(x, float64).to_vector<double>(); }

TEST(SetOption, IsWhatTheLayerWouldHaveBeenMadeWith) {
  const Tensor x = random::normal({2, 6, 6, 3}, 0, 1, float32, 1);
  const std::vector<std::pair<Layer, Layer>> pairs = {
      {layers::Dense(4, {.activation = "softmax"}), layers::Dense(4, {.activation = "tanh"})},
      {layers::Conv2D(4, {3, 3}, {.activation = "relu"}), layers::Conv2D(4, {3, 3}, {.activation = "tanh"})},
      {layers::DepthwiseConv2D({3, 3}), layers::DepthwiseConv2D({3, 3}, {.activation = "tanh"})},
      {layers::EinsumDense("abcd,de->abce", {-1, -1, 4}),
       layers::EinsumDense("abcd,de->abce", {-1, -1, 4}, {.activation = "tanh"})},
      {layers::Activation("relu"), layers::Activation("tanh")}};
  for (const auto& [changed, made] : pairs) {
    changed(x);
    made(x);
    made.set_weights(changed.get_weights());
    const std::vector<double> before = numbers(changed(x));
    changed.set_option("activation", "tanh");
    EXPECT_EQ(numbers(changed(x)), numbers(made(x))) << made.name();
    EXPECT_NE(numbers(changed(x)), before) << made.name();
    EXPECT_EQ(changed.get_config().find("activation")->to_json(), made.get_config().find("activation")->to_json());
  }
}

TEST(SetOption, ReachesNoiseAndAverages) {
  const Tensor x = ones({4, 2});
  layers::Dropout dropout(0.5);
  dropout.set_option("rate", 0.0);
  EXPECT_EQ(numbers(dropout(x, {.training = true})), numbers(x));
  layers::GaussianNoise noise(0.5);
  noise.set_option("stddev", 0.0);
  EXPECT_EQ(numbers(noise(x, {.training = true})), numbers(x));
  layers::BatchNormalization norm;
  norm.set_option("momentum", 0.5);
  norm(x, {.training = true});
  EXPECT_EQ(numbers(norm.get_weights()[2]), (std::vector<double>{0.5, 0.5}));
}

TEST(SetOption, NoneIsNoActivation) {
  layers::Dense scores(3, {.activation = "softmax"});
  const Tensor x = constant({{1.0, 2.0}});
  const Tensor probabilities = scores(x);
  scores.set_option("activation", {});
  EXPECT_LT(reduce_max(abs(softmax(scores(x)) - probabilities)).item<double>(), 1e-6);
}

TEST(SetOption, RefusesTheRestAndChangesNothing) {
  layers::Dense layer(3, {.activation = "relu"});
  EXPECT_EQ(message_of<ValueError>([&] { layer.set_option("units", 4); }),
            "set_option: the option \"units\" of Dense is fixed when the layer is made\n"
            "  help: make another layer with it, and give that the weights: set_weights(old.get_weights())");
  EXPECT_EQ(message_of<ValueError>([&] { layer.set_option("speed", 4); }), "set_option: Dense has no option \"speed\"");
  EXPECT_THROW(layer.set_option("activation", "no such function"), ValueError);
  layers::Dropout dropout(0.25);
  EXPECT_THROW(dropout.set_option("rate", 1.5), ValueError);
  EXPECT_THROW(dropout.set_option("rate", "much"), ValueError);
  EXPECT_EQ(dropout.get_config().find("rate")->to_json(), "0.25");
  EXPECT_EQ(layer.get_config().find("activation")->to_json(), "\"relu\"");
  struct Own : LayerBody {
    Tensor call(const Tensor& x, const CallOptions&) override { return x; }
  };
  const LayerOf<Own> own;
  EXPECT_THROW(own.set_option("activation", "relu"), ValueError);
}

TEST(Callbacks, SayWhatTheyHaveFound) {
  layers::Dense layer(1);
  Sequential model({layer});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Callback stopping = callbacks::EarlyStopping({.monitor = "loss", .patience = 1});
  const Callback slower = callbacks::ReduceLROnPlateau({.monitor = "loss", .patience = 2});
  Callbacks both({stopping, slower}, model);
  EXPECT_EQ(stopping.body()->found().find("best")->to_json(), "null");
  both.on_train_begin();
  for (int epoch = 0; epoch < 2; ++epoch) {
    Logs logs = {{"loss", 2.0 + epoch}};
    both.on_epoch_end(epoch, logs);
  }
  EXPECT_EQ(stopping.body()->found().to_json(),
            "{\"best\": 2.0, \"best_epoch\": 0, \"wait\": 1, \"stopped_epoch\": 1}");
  EXPECT_EQ(slower.body()->found().to_json(), "{\"best\": 2.0, \"wait\": 1, \"cooldown_counter\": 0}");
}

}  // namespace
}  // namespace capstan
