// Layers against values of Keras: results, masks, gradients for inputs and weights, penalties, and updated state.
#include <set>
#include <algorithm>
#include <cmath>
#include <utility>

#include "capstan/layers/preprocessing.h"
#include "tests/golden/keras_models.h"

namespace capstan::testing {
namespace {

std::vector<Tensor> tensors_from(const Json& list, const char* field = nullptr) {
  std::vector<Tensor> tensors;
  for (const Json& item : list) tensors.push_back(tensor_from_json(field == nullptr ? item : item.at(field)));
  return tensors;
}

// The rule of the files: the difference is at most this many times the largest element, or 1.
double layer_tolerance(const Json& one) {
  if (one.contains("tolerance")) return one.at("tolerance");
  const std::string dtype = one.at("dtype");
  return dtype == "float64" ? 1e-10 : dtype == "float32" ? 1e-5 : 2e-2;
}

void expect_within(const Tensor& got, const Json& want, const std::string& what, double tolerance) {
  double largest = 1;
  if (is_tensor(want)) {
    for (const Json& item : want.at("data")) {
      if (item.is_number()) largest = std::max(largest, std::abs(item.get<double>()));
    }
  }
  expect_close(got, want, what, Tolerance{.absolute = tolerance * largest});
}

CallOptions call_options(const Json& one) {
  CallOptions options;
  Nest query_mask, value_mask;
  const Json arguments = one.value("call_arguments", Json::object());
  for (const auto& [key, value] : arguments.items()) {
    if (key == "mask") {
      options.mask = nest_from_json(value);
    } else if (key == "query_mask") {
      query_mask = nest_from_json(value);
    } else if (key == "value_mask") {
      value_mask = nest_from_json(value);
    } else if (key == "initial_state") {
      options.initial_state = nest_from_json(value);
    } else if (key == "attention_mask") {
      options.attention_mask = tensor_from_json(value);
    } else if (key == "use_causal_mask") {
      options.use_causal_mask = value;
    } else if (key == "return_attention_scores") {
      options.return_attention_scores = value;
    } else {
      throw Lacking{"call argument " + key};
    }
  }
  if (query_mask.has_value() || value_mask.has_value()) options.mask = {query_mask, value_mask};
  return options;
}

// The inputs of a case with the masks that they carry, and a call with them.
struct Inputs {
  explicit Inputs(const Json& one) : is_one(one.at("input_style") == "one") {
    const Json masks = one.value("input_masks", Json::array());
    for (const Json& item : one.at("inputs")) {
      tensors.push_back(tensor_from_json(item));
      const std::size_t i = tensors.size() - 1;
      if (i < masks.size() && !masks[i].is_null()) {
        tensors.back() = with_mask(tensors.back(), tensor_from_json(masks[i]));
      }
    }
  }
  std::vector<Tensor> call(const Layer& layer, const CallOptions& options) const {
    return layer(is_one ? Nest(tensors[0]) : Nest(tensors), options).tensors();
  }
  std::vector<Tensor> tensors;
  bool is_one;
};

void expect_gradients(GradientTape& tape, const Targets& target, const GradientOptions& options, const Inputs& inputs,
                      const Layer& layer, const Json& want_inputs, const Json& want_weights, const std::string& what,
                      double tolerance) {
  for (std::size_t i = 0; i < want_inputs.size(); ++i) {
    if (!is_floating(inputs.tensors[i].dtype())) continue;
    expect_within(tape.gradient(target, inputs.tensors[i], options), want_inputs[i],
                  what + " for input " + std::to_string(i), tolerance);
  }
  if (want_weights.is_null()) return;
  for (const Variable& variable : layer.trainable_variables()) {
    if (!want_weights.contains(variable.path())) {
      ADD_FAILURE() << "no gradient for " << variable.path();
      continue;
    }
    Tensor gradient = tape.gradient(target, variable, options);
    expect_within(gradient, want_weights.at(variable.path()), what + " for " + variable.path(), tolerance);
  }
}

void expect_losses(const std::vector<Tensor>& losses, const Json& want) {
  ASSERT_EQ(losses.size(), want.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    bool found = false;
    for (const Json& item : want) {
      const double value = item.is_number() ? item.get<double>() : item.at("data").at(0).get<double>();
      found |= std::abs(losses[i].item<double>() - value) <= 1e-6 * std::abs(value);
    }
    EXPECT_TRUE(found) << "loss " << i << " is " << losses[i].to_string();
  }
}

void run_mode(const Json& one, const char* mode, bool training, const Layer& layer) {
  SCOPED_TRACE(training ? "training" : "inference");
  const Json& want = one.at(mode);
  const double tolerance = layer_tolerance(one);
  const Inputs inputs(one);
  CallOptions options = call_options(one);
  options.training = training;
  GradientTape tape({.persistent = true});
  for (const Tensor& x : inputs.tensors) {
    if (is_floating(x.dtype())) tape.watch(x);
  }
  const std::vector<Tensor> outputs = inputs.call(layer, options);
  const Json right =
      one.contains("right_outputs") ? Json::array({one.at("right_outputs").at(mode)}) : want.at("outputs");
  ASSERT_EQ(outputs.size(), right.size());
  const Json masks = want.value("output_masks", Json::array());
  std::vector<Tensor> targets;
  GradientOptions cotangents;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string number = std::to_string(i);
    expect_within(outputs[i], right[i], "output " + number, tolerance);
    expect_close(mask_of(outputs[i]), i < masks.size() ? masks[i] : Json(), "mask of output " + number);
    const Json& cotangent = one.at("cotangents").at(i);
    if (cotangent.is_null()) continue;
    targets.push_back(outputs[i]);
    cotangents.output_gradients.push_back(cast(tensor_from_json(cotangent), outputs[i].dtype()));
  }
  if (!targets.empty()) {
    expect_gradients(tape, targets, cotangents, inputs, layer, want.value("input_gradients", Json::array()),
                     want.value("weight_gradients", Json()), "gradient", tolerance);
  }
  if (want.contains("losses")) {
    const std::vector<Tensor> losses = layer.losses();
    expect_losses(losses, want.at("losses"));
    // Their factors are float32 in the original.
    expect_gradients(tape, losses, {}, inputs, layer, want.value("loss_input_gradients", Json::array()),
                     want.value("loss_weight_gradients", Json()), "gradient of the losses", std::max(tolerance, 1e-6));
  }
  const Json weights_after = want.value("weights_after", Json::object());
  for (const auto& [path, value] : weights_after.items()) {
    for (const Variable& variable : layer.weights()) {
      if (variable.path() == path) expect_within(variable.value(), value, path + " afterwards", tolerance);
    }
  }
}

// Several calls of one layer: plain ones, and those of one that keeps its states in a function, too.
void run_calls(const Json& one, const Layer& layer, const std::vector<Tensor>& weights) {
  const double tolerance = layer_tolerance(one);
  const Json& calls = one.at("calls");
  const auto input_of = [&](const Json& call) {
    return tensor_from_json(one.contains("input") ? one.at("input") : call.at("input"));
  };
  layer.build(input_of(calls.at(0)).shape());
  layer.set_weights(weights);
  const bool keeps_states = calls.at(0).contains("states_after");
  auto traced = function([&](const Tensor& x) { return layer(x); });
  for (const bool in_function : {false, true}) {
    if (in_function && !keeps_states) break;
    if (in_function) layers::RNN::from(layer).reset_state();
    for (const Json& call : calls) {
      const Tensor x = input_of(call);
      if (call.value("reset_state_before", false)) layers::RNN::from(layer).reset_state();
      expect_within(in_function ? traced(x) : layer(x, {.training = call.value("training", false)}), call.at("output"),
                    "output of a call", tolerance);
      if (keeps_states) {
        const std::vector<Tensor> states = layers::RNN::from(layer).states();
        ASSERT_EQ(states.size(), call.at("states_after").size());
        for (std::size_t i = 0; i < states.size(); ++i) {
          expect_within(states[i], call.at("states_after").at(i), "state", tolerance);
        }
      }
      const Json weights_after = call.value("weights_after", Json::object());
      for (const Variable& variable : layer.weights()) {
        if (!weights_after.contains(variable.path())) continue;
        expect_within(variable.value(), weights_after.at(variable.path()), variable.path(), tolerance);
      }
    }
  }
}

// A layer that learns from data before it is called.
void run_adapt(const Json& one, const Layer& layer) {
  const Tensor data = tensor_from_json(one.at("adapt_data"));
  layers::Normalization::of(layer).adapt(data);
  const double tolerance = layer_tolerance(one);
  for (const Variable& variable : layer.weights()) {
    if (!one.contains(variable.name())) continue;
    const Json& want = one.at(variable.name());
    expect_within(reshape(variable.value(), tensor_from_json(want).shape()), want, variable.name(), tolerance);
  }
  expect_within(layer(data), one.at("output"), "output", tolerance);
}

void run_layers_case(const Json&, const Json& one) {
  const Json weights = one.value("weights", Json::array());
  std::string name;
  if (!weights.empty()) {
    const std::string path = weights.at(0).at("path");
    name = path.substr(0, path.find('/'));
  }
  const Layer layer = make_layer(one.at("layer"), one.at("config"), one.at("dtype"), name);
  for (const ClassInfo* info : list_classes("layer")) {
    if (info->name != layer.type_name()) continue;
    // What serialize gives makes the same layer.
    const std::string text = serialize(layer).to_json();
    EXPECT_EQ(serialize(layer_from(AttributeValue::from_json(text))).to_json(), text);
  }
  if (one.contains("adapt_data")) return run_adapt(one, layer);
  const std::vector<Tensor> values = tensors_from(weights, "value");
  if (one.contains("calls")) return run_calls(one, layer, values);
  Inputs(one).call(layer, call_options(one));
  ASSERT_EQ(layer.weights().size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(layer.weights()[i].path(), weights[i].at("path").get<std::string>());
    EXPECT_EQ(layer.weights()[i].name(), weights[i].at("name").get<std::string>());
    EXPECT_EQ(layer.weights()[i].trainable(), weights[i].at("trainable").get<bool>());
  }
  const bool same = one.at("training") == "same";
  for (const bool training : {false, true}) {
    layer.set_weights(values);
    run_mode(one, training && !same ? "training" : "inference", training, layer);
  }
}

const std::set<std::string> kFields = {"adapt_data", "call_arguments", "calls",       "config",        "cotangents",
                                       "inference",  "input",          "input_masks", "input_style",   "inputs",
                                       "layer",      "mean",           "output",      "right_outputs", "training",
                                       "variance",   "weights"};

const KerasFile layers_file("layers", run_layers_case, kFields,
                            {{"Dense/basic_low_precision/float16", "the library has no float16"}});
const KerasFile augmentation_file("layers_augmentation", run_layers_case, kFields);
const KerasFile audio_file("layers_audio", run_layers_case, kFields);

}  // namespace
}  // namespace capstan::testing
