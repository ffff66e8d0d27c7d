// Configurations of models: what tests/interop found that Keras, or the library itself, could not read again.
#include <gtest/gtest.h>

#include "capstan/capstan.h"

namespace capstan {
namespace {

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
TEST(FunctionalConfig, KeepsTheNameOfAnOp) {
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
}  // namespace capstan
