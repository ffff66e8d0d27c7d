// Preprocessing layers against Keras: what they learn, what they give, and their configurations.
#include "capstan/layers/preprocessing.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/train/keras_cases.h"

namespace capstan::testing {
namespace {

[[maybe_unused]] bool is_text(const Json& json) { return json.contains("rows") || json.value("dtype", "") == "string"; }

Texts texts_from(const Json& json) {
  if (json.contains("rows")) return json.at("rows").get<std::vector<std::vector<std::string>>>();
  Shape shape;
  for (const Json& length : json.at("shape")) shape.push_back(length.get<std::int64_t>());
  return Texts::from(json.at("data").get<std::vector<std::string>>(), shape);
}

// Numbers that Keras computes in float32.
constexpr Tolerance kTolerance = {.relative = 2e-6, .absolute = 1e-6};

[[maybe_unused]] void expect_texts(const Texts& got, const Json& want) {
  EXPECT_EQ(got.values(), want.at("data").get<std::vector<std::string>>());
  EXPECT_EQ(got.shape(), texts_from(want).shape());
}

// A configuration of Keras makes the layer as well; the layer's own makes an equal one.
Layer make(const Json& one) {
  const std::string type = one.at("layer");
  if (one.contains("config_of_keras")) {
    EXPECT_NO_THROW(layer_from(as_serialized(type, one.at("config_of_keras")))) << one.at("config_of_keras").dump();
  }
  const Layer layer = layer_from(as_serialized(type, one.at("config")));
  EXPECT_EQ(layer.type_name(), type);
  return layer;
}

void expect_round_trip(const Layer& layer) {
  const std::string text = serialize(layer).to_json();
  EXPECT_EQ(serialize(layer_from(AttributeValue::from_json(text))).to_json(), text);
}

void expect_weights(const Layer& layer, const Json& want) {
  ASSERT_EQ(layer.weights().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(layer.weights()[i].name(), want[i].at("name").get<std::string>());
    EXPECT_FALSE(layer.weights()[i].trainable());
    expect_close(layer.weights()[i].value(), want[i].at("value"), "weight", kTolerance);
  }
}

void run_normalization(const Json& one) {
  const auto layer = layers::Normalization::of(make(one));
  if (one.contains("adapt")) layer.adapt(tensor_from_json(one.at("adapt")));
  if (one.contains("batches")) {
    std::vector<Tensor> batches;
    for (const Json& batch : one.at("batches")) batches.push_back(tensor_from_json(batch));
    layer.adapt(BatchSource([batches]() -> BatchSource::Pass {
      return [batches, i = std::size_t{0}]() mutable -> std::optional<Batch> {
        if (i == batches.size()) return std::nullopt;
        return Batch{batches[i++], {}, {}};
      };
    }));
  }
  for (const Json& call : one.at("calls")) {
    expect_close(layer(tensor_from_json(call.at("input"))), call.at("output"), "output", kTolerance);
  }
  expect_round_trip(layer);
  expect_weights(layer, one.at("weights"));
}

void run_case(const Json&, const Json& one) {
  if (!one.contains("layer")) throw Lacking{"hash"};
  const std::string type = one.at("layer");
  if (type == "Normalization") return run_normalization(one);
  throw Lacking{"layer " + type};
}

TEST(PreprocessingGolden, LearnAndGiveWhatKerasDoes) { run_cases("preprocessing.json", run_case); }

}  // namespace
}  // namespace capstan::testing
