// Layers against values of Keras: results, gradients for inputs and weights, penalties, and updated state.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/train/keras_cases.h"

namespace capstan::testing {
namespace {

std::vector<Tensor> tensors_from(const Json& list, const char* field = nullptr) {
  std::vector<Tensor> tensors;
  for (const Json& item : list) tensors.push_back(tensor_from_json(field == nullptr ? item : item.at(field)));
  return tensors;
}

void expect_gradients(GradientTape& tape, const Targets& target, const GradientOptions& options, const Tensor& x,
                      const Layer& layer, const Json& inputs, const Json& weights, const std::string& what,
                      Tolerance tolerance) {
  expect_close(tape.gradient(target, x, options), inputs.at(0), what + " for the input", tolerance);
  for (const Variable& variable : layer.trainable_variables()) {
    if (!weights.contains(variable.path())) {
      ADD_FAILURE() << "no gradient for " << variable.path();
      continue;
    }
    expect_close(tape.gradient(target, variable, options), weights.at(variable.path()),
                 what + " for " + variable.path(), tolerance);
  }
}

void run_mode(const Json& one, const Json& want, bool training, const Layer& layer) {
  SCOPED_TRACE(training ? "training" : "inference");
  const Tensor x = tensor_from_json(one.at("inputs").at(0));
  CallOptions options{.training = training};
  if (one.contains("call_arguments")) options.mask = tensor_from_json(one.at("call_arguments").at("mask"));
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = layer(x, options);
  Tolerance tolerance = golden_tolerance(y.dtype());
  // Sums of products are rounded to 8 bits before they cancel.
  if (y.dtype() == bfloat16) tolerance = {1.0 / 64, 1.0 / 128};
  if (one.contains("tolerance")) tolerance.relative = std::max(tolerance.relative, one.at("tolerance").get<double>());
  expect_close(y, want.at("outputs").at(0), "output", tolerance);
  expect_gradients(tape, y, {.output_gradients = {tensor_from_json(one.at("cotangents").at(0))}}, x, layer,
                   want.at("input_gradients"), want.value("weight_gradients", Json::object()), "gradient", tolerance);
  if (want.contains("losses")) {
    const std::vector<Tensor> losses = layer.losses();
    ASSERT_EQ(losses.size(), want.at("losses").size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      bool found = false;
      for (const Json& item : want.at("losses")) {
        found |= std::abs(losses[i].item<double>() - item.get<double>()) <= 1e-6 * item.get<double>();
      }
      EXPECT_TRUE(found) << "loss " << i << " is " << losses[i].to_string();
    }
    expect_gradients(tape, losses, {}, x, layer, want.at("loss_input_gradients"), want.at("loss_weight_gradients"),
                     "gradient of the losses", {2e-5, 1e-6});  // its factors are float32 in the original
  }
  const Json weights_after = want.value("weights_after", Json::object());
  for (const auto& [path, value] : weights_after.items()) {
    for (const Variable& variable : layer.weights()) {
      if (variable.path() == path) expect_close(variable.value(), value, path + " afterwards");
    }
  }
}

void run_case(const Json&, const Json& one) {
  const std::string type = one.at("layer");
  const Json weights = one.value("weights", Json::array());
  std::string name;
  if (!weights.empty()) {
    const std::string path = weights.at(0).at("path");
    name = path.substr(0, path.find('/'));
  }
  const Layer layer = make_layer(type, one.at("config"), one.at("dtype"), name);
  if (one.contains("calls")) {
    bool first = true;
    for (const Json& call : one.at("calls")) {
      const Tensor x = tensor_from_json(one.contains("input") ? one.at("input") : call.at("input"));
      if (std::exchange(first, false)) {
        layer(x);
        layer.set_weights(tensors_from(weights, "value"));
      }
      expect_close(layer(x, {.training = call.at("training").get<bool>()}), call.at("output"), "output of a call");
      for (const Variable& variable : layer.weights()) {
        if (call.contains("weights_after") && call.at("weights_after").contains(variable.path())) {
          expect_close(variable.value(), call.at("weights_after").at(variable.path()), variable.path());
        }
      }
    }
    return;
  }
  layer(tensor_from_json(one.at("inputs").at(0)));
  ASSERT_EQ(layer.weights().size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(layer.weights()[i].path(), weights[i].at("path").get<std::string>());
    EXPECT_EQ(layer.weights()[i].name(), weights[i].at("name").get<std::string>());
    EXPECT_EQ(layer.weights()[i].trainable(), weights[i].at("trainable").get<bool>());
  }
  const std::vector<Tensor> values = tensors_from(weights, "value");
  const bool same = one.at("training") == "same";
  for (const bool training : {false, true}) {
    layer.set_weights(values);
    run_mode(one, training && !same ? one.at("training") : one.at("inference"), training, layer);
  }
}

// What the library does not have yet.
constexpr const char* kFloat16 = "the library has no float16";

const std::map<std::string, std::string> kLacking = {{"Dense/basic_low_precision/float16", kFloat16}};

TEST(LayersAgainstKeras, AgreeInAllCases) { run_cases("layers.json", run_case, kLacking); }

}  // namespace
}  // namespace capstan::testing
