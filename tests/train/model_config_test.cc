// Models as JSON in Keras's form, and models made of it.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan::testing {
namespace {

// A model of the configuration has the same configuration and computes the same with the same weights.
void expect_round_trip(const Model& model, const Nest& x) {
  const std::vector<Tensor> want = model(x).tensors();
  const Model copy = model_from_json(model.to_json());
  EXPECT_FALSE(copy.is_compiled());
  if (!copy.is_built()) copy(x);
  EXPECT_EQ(copy.to_json(), model.to_json());
  copy.set_weights(model.get_weights());
  const std::vector<Tensor> got = copy(x).tensors();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
}

TEST(ModelConfig, OfASequential) {
  expect_round_trip(Sequential({layers::Dense(3, {.activation = "relu", .input_shape = {4}}), layers::Dropout(0.5),
                                layers::BatchNormalization(), layers::Dense(2)},
                               "chain"),
                    ones({2, 4}));
  // One that its first call builds.
  expect_round_trip(Sequential({layers::Conv2D(3, {3, 3}), layers::Flatten(), layers::Dense(2)}), ones({2, 5, 5, 1}));
  expect_round_trip(
      Sequential({layers::Dense(3, {.input_shape = {4}}), Sequential({layers::Dense(2), layers::ReLU()})}),
      ones({2, 4}));
  // The innermost says what all take.
  const Sequential inner({Sequential({layers::Dense(2, {.input_shape = {4}})}), layers::ReLU()});
  EXPECT_TRUE(Sequential({inner}).is_built());
  expect_round_trip(Sequential({inner}), ones({2, 4}));
}

TEST(ModelConfig, OfAGraphWithCallOptionsAndStructures) {
  const Tensor words = Input({5}, {.dtype = int32, .name = "words"}), start = Input({4}, {.name = "start"});
  const Tensor embedded = layers::Embedding(7, 4)(words);
  const layers::MultiHeadAttention attention(2, 3);
  const Tensor mixed = attention({embedded, embedded}, {.use_causal_mask = true}).tensor();
  const layers::LSTM lstm(4, {.return_state = true});
  const std::vector<Tensor> parts = lstm(Nest(mixed), {.initial_state = Nest{start, start}}).tensors();
  const layers::Dense shared(3);
  const Tensor a = shared(parts[0]), b = shared(parts[1]);
  const Model model(Nest::map({"words", "start"}, {words, start}),
                    Nest::map({"sum", "c"}, {layers::Add()({a, b}), parts[2]}));
  expect_round_trip(model, Nest::map({"words", "start"}, {cast(ones({2, 5}), int32), ones({2, 4})}));
}

TEST(ModelConfig, OfModelsWithinModels) {
  const Tensor in = Input({4});
  const Model inner(in, layers::Dense(4, {.activation = "tanh"})(in), "inner");
  const Tensor x = Input({4});
  expect_round_trip(Model(x, layers::Add()({inner(inner(x)), x}), "outer"), ones({2, 4}));
}

// The names of the layers in the order in which Keras lists them, whose name for an inner input is another.
TEST(ModelConfig, OfAModelWithAnInputInsideAnother) {
  const Tensor x = Input({4}), other = Input({4}, {.name = "other"});
  const Tensor y = layers::Dense(4, {.name = "first"})(x);
  const Tensor z = layers::Dense(4, {.name = "third"})(layers::Dense(4, {.name = "second"})(other));
  const auto expect_layers = [](const Model& model, const std::vector<std::string>& names) {
    expect_round_trip(model, {ones({2, 4}), ones({2, 4})});
    std::vector<std::string> got;
    const AttributeValue config = AttributeValue::from_json(model.to_json());
    for (const AttributeValue& node : config.find("config")->find("layers")->list)
      got.push_back(node.find("name")->text);
    EXPECT_EQ(got, names);
  };
  const auto sum = [](const Tensor& a, const Tensor& b) { return layers::Add({.name = "sum"})({a, b}); };
  expect_layers(Model({y, other}, sum(z, y)), {"other", "second", "third", "first_input", "sum"});
  expect_layers(Model({other, y}, sum(y, z)), {"other", "second", "first_input", "third", "sum"});
  expect_layers(Model({other, y}, sum(layers::Dense(4, {.name = "fourth"})(y), z)),
                {"other", "first_input", "second", "fourth", "third", "sum"});
  // An input that nothing needs, and one that is an output.
  expect_layers(Model({y, other}, z), {"other", "second", "first_input", "third"});
  expect_layers(Model({other, y}, y), {"other", "first_input"});
}

TEST(ModelConfig, HasOpenLengths) {
  const Tensor x = Input({-1, 3});
  const Model model(x, layers::Dense(2)(x));
  expect_round_trip(model, ones({2, 7, 3}));
  EXPECT_EQ(model_from_json(model.to_json())(ones({1, 9, 3})).shape(), Shape({1, 9, 2}));
}

TEST(ModelConfig, KeepsWhatIsNotTrainable) {
  const layers::Dense frozen(3, {.input_shape = {4}});
  frozen.set_trainable(false);
  const Sequential model({frozen, layers::Dense(2)});
  EXPECT_EQ(model_from_json(model.to_json()).trainable_variables().size(), 2u);
  model.set_trainable(false);
  EXPECT_EQ(model_from_json(model.to_json()).trainable_variables().size(), 0u);
}

TEST(ModelConfig, NeedsConfigurationsOfAllLayers) {
  const layers::Lambda lambda([](const Nest& x, const CallOptions&) { return x; }, {.name = "lambda"});
  const Sequential model({lambda}, "own");
  EXPECT_EQ(
      message_of<ValueError>([&] { (void)model.to_json(); }),
      "get_config: lambda is a function of the program and has no configuration\n  help: write a class of your own "
      "and register it, see ConfiguredLayer");
  // A tensor with data is no part of a configuration.
  const Tensor x = Input({2, 4});
  const Nest pair = {x, x};
  const layers::MultiHeadAttention attention(2, 3);
  const Model closed(x, attention(pair, {.attention_mask = ones({1, 2, 2}, bool_)}).tensor(), "closed");
  EXPECT_EQ(message_of<ValueError>([&] { (void)closed.to_json(); }),
            "get_config: \"closed\" calls a layer on a tensor with data, which a configuration does not hold\n  help: "
            "make it an input of the model");
}

std::string refusal(const std::string& json) {
  return message_of<ValueError>([&] { (void)model_from_json(json); });
}

// A functional model with one input and these layers.
std::string graph(const std::string& layers, const std::string& output) {
  return R"({"class_name": "Functional", "config": {"name": "g", "layers": [{"class_name": "InputLayer", "name": "x",)"
         R"( "config": {"batch_shape": [null, 3], "dtype": "float32", "name": "x"}, "inbound_nodes": []})" +
         layers + R"(], "input_layers": ["x", 0, 0], "output_layers": )" + output + "}}";
}

std::string dense(const std::string& name, const std::string& from) {
  return R"(, {"class_name": "Dense", "name": ")" + name + R"(", "config": {"name": ")" + name +
         R"(", "units": 2}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 3], )"
         R"("dtype": "float32", "keras_history": )" +
         from + R"(}}], "kwargs": {}}]})";
}

TEST(ModelConfig, ThatMakesNoModelIsRefused) {
  EXPECT_NE(refusal("{").find("from_json"), std::string::npos);
  EXPECT_NE(refusal(R"({"class_name": "Danse", "config": {}})").find("Danse"), std::string::npos);
  EXPECT_EQ(refusal(R"({"class_name": "Sequential", "config": {"name": "s"}})"), "Sequential: \"layers\" is missing");
  EXPECT_EQ(refusal(R"({"class_name": "Sequential", "config": {"layers": 3}})"),
            "Sequential: \"layers\" must be a list, not 3");
  const std::string input =
      R"({"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "float32", "name": "x"}})";
  EXPECT_EQ(refusal(R"({"class_name": "Sequential", "config": {"layers": [)" + input + ", " + input + "]}}"),
            "Sequential: layer 1 is an InputLayer, which can only be the first one");
  EXPECT_EQ(model_from_json(graph(dense("a", R"(["x", 0, 0])"), R"(["a", 0, 0])"))(ones({2, 3})).shape(),
            Shape({2, 2}));
  EXPECT_EQ(refusal(graph(dense("a", R"(["nowhere", 0, 0])"), R"(["a", 0, 0])")),
            "Functional: there is no layer \"nowhere\"");
  EXPECT_EQ(refusal(graph(dense("a", R"(["b", 0, 0])") + dense("b", R"(["a", 0, 0])"), R"(["a", 0, 0])")),
            "Functional: call 0 of \"a\" takes what depends on it, or on a call that is not there");
  EXPECT_EQ(refusal(graph(dense("a", R"(["x", 0, 0])") + dense("a", R"(["x", 0, 0])"), R"(["a", 0, 0])")),
            "Functional: two layers have the name \"a\"");
  EXPECT_EQ(refusal(graph(dense("a", R"(["x", 0, 0])"), R"(["a", 4, 0])")),
            "Functional: [\"a\", 4, 0] is no value: \"a\" is called 1 times");
  EXPECT_EQ(refusal(graph(dense("a", R"(["x", 0, 0])"), R"(["a", 0, 2])")),
            "Functional: \"a\" gives 1 tensors, so there is no tensor 2");
  EXPECT_EQ(refusal(graph(dense("a", R"(["x"])"), R"(["a", 0, 0])")),
            "Functional: a value must be [layer, call, tensor], not [\"x\"]");
}

std::vector<std::string> keys_of(const AttributeValue& config) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items) keys.push_back(key);
  return keys;
}

TEST(LayerConfig, HasOnlyWhatTheClassesOfKerasTake) {
  const std::vector<std::string> dropout = {"name", "dtype", "rate", "seed"};
  EXPECT_EQ(keys_of(layers::SpatialDropout1D(0.5).get_config()), dropout);
  EXPECT_EQ(layers::SpatialDropout2D(0.5).get_config().find("trainable"), nullptr);
  EXPECT_EQ(layers::SpatialDropout3D(0.5).get_config().find("trainable"), nullptr);
  EXPECT_EQ(layers::Discretization({.bin_boundaries = {0.5}}).get_config().find("trainable"), nullptr);
  EXPECT_NE(layers::Dropout(0.5).get_config().find("trainable"), nullptr);
}

TEST(LayerConfig, HasTheSizeOfOneAxisAsKerasTakesIt) {
  EXPECT_EQ(layers::UpSampling1D(3).get_config().find("size")->to_string(), "3");
  EXPECT_EQ(layers::UpSampling2D(3).get_config().find("size")->to_string(), "[3, 3]");
  EXPECT_EQ(layers::MaxPooling1D(3).get_config().find("pool_size")->to_string(), "[3]");
  const Sequential model({layers::UpSampling1D(3, {.input_shape = {2, 1}})});
  EXPECT_EQ(model_from_json(model.to_json())(ones({1, 2, 1})).shape(), (Shape{1, 6, 1}));
}

// Keras writes the name of an op twice; one that stands only in its configuration is enough, and stays.
TEST(ModelConfig, KeepsTheNameOfAnOp) {
  const std::string text = R"({"module": "keras.src.models.functional", "class_name": "Functional", "config": {
    "name": "model", "trainable": true, "layers": [
    {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 4], "dtype": "float32",
     "name": "x"}, "registered_name": null, "name": "x", "inbound_nodes": []},
    {"module": "keras.src.ops.nn", "class_name": "Relu", "config": {"name": "positive"}, "inbound_nodes": [{"args":
     [{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}], "kwargs": {}}]}],
    "input_layers": ["x", 0, 0], "output_layers": ["positive", 0, 0]}})";
  const std::string once = model_from_json(text).to_json();
  EXPECT_NE(once.find(R"("output_layers": ["positive", 0, 0])"), std::string::npos) << once;
  EXPECT_EQ(model_from_json(once).to_json(), once);
}

}  // namespace
}  // namespace capstan::testing
