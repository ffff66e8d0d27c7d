// Preprocessing layers against Keras: what they learn, what they give, and their configurations.
#include "capstan/layers/preprocessing.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "src/train/fingerprint.h"
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

bool is_text(const Json& json) { return json.contains("rows") || json.value("dtype", "") == "string"; }

Texts texts_from(const Json& json) {
  if (json.contains("rows")) return json.at("rows").get<std::vector<std::vector<std::string>>>();
  Shape shape;
  for (const Json& length : json.at("shape")) shape.push_back(length.get<std::int64_t>());
  return Texts::from(json.at("data").get<std::vector<std::string>>(), shape);
}

// Numbers that Keras computes in float32.
constexpr Tolerance kTolerance = {.relative = 2e-6, .absolute = 1e-6};

void expect_texts(const Texts& got, const Json& want) {
  EXPECT_EQ(got.values(), want.at("data").get<std::vector<std::string>>());
  EXPECT_EQ(got.shape(), texts_from(want).shape());
}

// A configuration of Keras makes the layer as well; the layer's own makes an equal one.
Layer preprocessing_layer(const Json& one) {
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

void expect_state(const Layer& layer, const Json& want) {
  ASSERT_EQ(layer.weights().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(layer.weights()[i].name(), want[i].at("name").get<std::string>());
    EXPECT_FALSE(layer.weights()[i].trainable());
    expect_close(layer.weights()[i].value(), want[i].at("value"), "weight", kTolerance);
  }
}

void expect_calls(const Layer& layer, const Json& one) {
  for (const Json& call : one.at("calls")) {
    expect_close(layer(tensor_from_json(call.at("input"))), call.at("output"), "output", kTolerance);
  }
}

BatchSource source_of(const std::vector<Tensor>& batches) {
  return BatchSource([batches]() -> BatchSource::Pass {
    return [batches, i = std::size_t{0}]() mutable -> std::optional<Batch> {
      if (i == batches.size()) return std::nullopt;
      return Batch{batches[i++], {}, {}};
    };
  });
}

void run_normalization(const Json& one) {
  const auto layer = layers::Normalization::of(preprocessing_layer(one));
  if (one.contains("adapt")) layer.adapt(tensor_from_json(one.at("adapt")));
  if (one.contains("batches")) {
    std::vector<Tensor> batches;
    for (const Json& batch : one.at("batches")) batches.push_back(tensor_from_json(batch));
    layer.adapt(source_of(batches));
  }
  expect_calls(layer, one);
  expect_round_trip(layer);
  expect_state(layer, one.at("weights"));
}

void run_discretization(const Json& one) {
  const auto layer = layers::Discretization::of(preprocessing_layer(one));
  if (one.contains("adapt")) layer.adapt(tensor_from_json(one.at("adapt")));
  if (one.contains("updates")) {
    std::vector<Tensor> batches;
    for (const Json& batch : one.at("updates")) batches.push_back(tensor_from_json(batch));
    layer.adapt(source_of(batches));
  }
  const std::vector<double> boundaries = layer.bin_boundaries();
  ASSERT_EQ(boundaries.size(), one.at("bin_boundaries").size());
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    EXPECT_NEAR(boundaries[i], one.at("bin_boundaries")[i].get<double>(), 1e-6);
  }
  expect_calls(layer, one);
  expect_round_trip(layer);
}

void run_category_encoding(const Json& one) {
  const Layer layer = preprocessing_layer(one);
  for (const Json& call : one.at("calls")) {
    std::vector<Nest> inputs;
    const Json list = call.at("input").is_array() ? call.at("input") : Json::array({call.at("input")});
    for (const Json& input : list) inputs.emplace_back(tensor_from_json(input));
    const Nest output = layer(inputs.size() == 1 ? inputs[0] : Nest::list(inputs));
    expect_close(output.tensor(), call.at("output"), "output", kTolerance);
  }
  expect_round_trip(layer);
}

void run_hashing(const Json& one) {
  const auto layer = layers::Hashing::of(preprocessing_layer(one));
  for (const Json& call : one.at("calls")) {
    const Json& input = call.at("input");
    const Tensor output = is_text(input) ? layer(texts_from(input)) : layer(tensor_from_json(input));
    expect_close(output, call.at("output"), "output", kTolerance);
  }
  expect_round_trip(layer);
}

void run_hashed_crossing(const Json& one) {
  const auto layer = layers::HashedCrossing::of(preprocessing_layer(one));
  for (const Json& call : one.at("calls")) {
    std::vector<layers::CrossedFeature> features;
    for (const Json& input : call.at("input")) {
      if (is_text(input)) {
        features.emplace_back(texts_from(input));
      } else {
        features.emplace_back(tensor_from_json(input));
      }
    }
    expect_close(layer(features), call.at("output"), "output", kTolerance);
  }
  expect_round_trip(layer);
}

template <class Handle, class Token>
void expect_vocabulary(const Handle& layer, const Json& one, const std::vector<Token>&) {
  // A place of unknown tokens that has none is null in Keras.
  EXPECT_EQ(layer.get_vocabulary(), one.at("vocabulary").get<std::vector<Token>>());
  EXPECT_EQ(layer.get_vocabulary(false), one.at("plain_vocabulary").get<std::vector<Token>>());
  EXPECT_EQ(layer.vocabulary_size(), one.at("vocabulary_size").get<std::int64_t>());
}

void run_integer_lookup(const Json& one) {
  const auto layer = layers::IntegerLookup::of(preprocessing_layer(one));
  if (one.contains("adapt")) layer.adapt(tensor_from_json(one.at("adapt")));
  expect_calls(layer, one);
  expect_vocabulary(layer, one, std::vector<std::int64_t>());
  // A layer made from the configuration gives the same, whatever this one has learned.
  expect_calls(layer_from(AttributeValue::from_json(serialize(layer).to_json())), one);
  expect_round_trip(layer);
}

template <class Handle>
void expect_text_calls(const Handle& layer, const Json& one) {
  for (const Json& call : one.at("calls")) {
    if (!is_text(call.at("input"))) continue;
    expect_close(layer(texts_from(call.at("input"))), call.at("output"), "output", kTolerance);
  }
}

template <class Handle>
void run_texts(const Json& one) {
  const auto layer = Handle::of(preprocessing_layer(one));
  if (one.contains("adapt")) layer.adapt(texts_from(one.at("adapt")));
  if (one.contains("updates")) {
    layer.reset_state();
    for (const Json& batch : one.at("updates")) layer.update_state(texts_from(batch));
    layer.finalize_state();
  }
  if (one.contains("set_vocabulary")) {
    layer.set_vocabulary(one.at("set_vocabulary").get<std::vector<std::string>>(),
                         one.value("set_idf_weights", std::vector<double>()));
  }
  expect_text_calls(layer, one);
  expect_vocabulary(layer, one, std::vector<std::string>());
  expect_text_calls(Handle::of(layer_from(AttributeValue::from_json(serialize(layer).to_json()))), one);
  expect_round_trip(layer);
  if constexpr (std::is_same_v<Handle, layers::StringLookup>) {
    for (const Json& call : one.at("calls")) {
      if (is_text(call.at("output")))
        expect_texts(layer.to_texts(tensor_from_json(call.at("input"))), call.at("output"));
    }
  }
}

void run_hash(const Json& one) {
  const std::vector<std::string> texts = one.at("texts");
  const auto buckets = one.at("buckets").get<std::uint64_t>();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::uint64_t hash = one.contains("key")
                                   ? detail::keyed_hash(texts[i], one.at("key").get<std::array<std::uint64_t, 2>>())
                                   : detail::fingerprint(texts[i]);
    EXPECT_EQ(hash % buckets, one.at("output").at("data")[i].get<std::uint64_t>()) << texts[i];
  }
}

void run_preprocessing_case(const Json&, const Json& one) {
  if (!one.contains("layer")) return run_hash(one);
  const std::string type = one.at("layer");
  if (type == "Normalization") return run_normalization(one);
  if (type == "Discretization") return run_discretization(one);
  if (type == "CategoryEncoding") return run_category_encoding(one);
  if (type == "Hashing") return run_hashing(one);
  if (type == "HashedCrossing") return run_hashed_crossing(one);
  if (type == "IntegerLookup") return run_integer_lookup(one);
  if (type == "StringLookup") return run_texts<layers::StringLookup>(one);
  if (type == "TextVectorization") return run_texts<layers::TextVectorization>(one);
  throw Lacking{"layer " + type};
}

const KerasFile preprocessing_file("preprocessing", run_preprocessing_case,
                                   {"adapt", "batches", "bin_boundaries", "buckets", "calls", "config",
                                    "config_of_keras", "key", "layer", "output", "plain_vocabulary", "set_idf_weights",
                                    "set_vocabulary", "texts", "updates", "vocabulary", "vocabulary_size", "weights"});

}  // namespace
}  // namespace capstan::testing
