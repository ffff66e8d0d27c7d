// What compile() was given, as data and back.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

Model two_outputs() {
  const Tensor x = Input({3});
  return Model(x, Nest::map({"a", "b"}, {layers::Dense(2, {.name = "a"})(x), layers::Dense(1, {.name = "b"})(x)}));
}

// The configuration of a model that is compiled from a configuration is the same.
void expect_round_trip(const Model& model, const Model& other) {
  const AttributeValue config = model.get_compile_config();
  other.compile_from_config(AttributeValue::from_json(config.to_json()));
  EXPECT_EQ(other.get_compile_config().to_json(), config.to_json());
}

TEST(CompileConfig, IsAnEmptyMapBeforeCompile) {
  const Sequential model({layers::Dense(1)});
  EXPECT_EQ(model.get_compile_config().to_json(), "{}");
  model.compile_from_config(AttributeValue::map());
  EXPECT_FALSE(model.is_compiled());
}

TEST(CompileConfig, HasNamesClassesListsAndMaps) {
  const auto chain = [] { return Sequential({layers::Dense(1, {.input_shape = {3}})}); };
  const Model plain = chain();
  plain.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae", metrics::RootMeanSquaredError()}});
  expect_round_trip(plain, chain());

  const Model weighted = chain();
  weighted.compile({.optimizer = optimizers::SGD({.learning_rate = 0.5, .momentum = 0.9}),
                    .loss = losses::Huber({.delta = 0.5}),
                    .loss_weights = {2.0},
                    .weighted_metrics = {"mse"},
                    .run_eagerly = true,
                    .steps_per_execution = 4});
  expect_round_trip(weighted, chain());

  const Model named = two_outputs();
  named.compile({.loss = std::map<std::string, Loss>{{"a", losses::get("mse")}, {"b", losses::MeanAbsoluteError()}},
                 .loss_weights = std::map<std::string, double>{{"a", 1.0}, {"b", 0.25}},
                 .metrics = std::map<std::string, std::vector<Metric>>{{"b", {"mae"}}}});
  expect_round_trip(named, two_outputs());
}

TEST(CompileConfig, RefusesWhatItDoesNotKnow) {
  const Sequential model({layers::Dense(1)});
  const auto message = [&](const char* json) {
    return message_of<ValueError>([&] { model.compile_from_config(AttributeValue::from_json(json)); });
  };
  EXPECT_EQ(message("[]"), "compile_from_config: a configuration is a map, not []");
  EXPECT_EQ(message(R"({"batch": 3})"), "compile_from_config: \"batch\" is no option of compile()");
  EXPECT_EQ(message(R"({"loss": 3})"), "compile_from_config: \"loss\" is 3");
  EXPECT_EQ(message(R"({"loss": "mse", "loss_weights": ["a"]})"), "compile_from_config: a loss weight is \"a\"");
  EXPECT_EQ(message(R"({"loss": "mse", "metrics": 2})"), "compile_from_config: metrics of an output are 2");
  EXPECT_NE(message(R"({"optimizer": "adamant"})").find("adamant"), std::string::npos);
  EXPECT_FALSE(model.is_compiled());
}

}  // namespace
}  // namespace capstan
