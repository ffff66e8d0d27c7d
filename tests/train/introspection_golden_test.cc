// Summaries, paths and counts of weights, and helpers of training programs against Keras.
#include "src/train/layer_state.h"
#include "tests/train/keras_models.h"

namespace capstan::testing {
namespace {

void run_summary(const Json& one) {
  const Model model = make_model(one.at("model"), "float32", "m");
  if (one.at("name") == "summary/compiled_adam") {
    model.compile({.optimizer = optimizers::Adam(), .loss = "mse"});
    model.optimizer().build(model.trainable_variables());
  }
  const Json& options = one.at("options");
  EXPECT_EQ(model.summary({.line_length = options.at("line_length").get<int>(),
                           .show_trainable = options.value("show_trainable", false)}),
            one.at("text").get<std::string>());
}

void run_model(const Json& one) {
  const Model model = make_model(one.at("model"), "float32", "m");
  Json layers = Json::array(), weights = Json::array();
  for (const Layer& layer : model.layers()) {
    layers.push_back({layer.name(), layer.type_name(), layer.count_params()});
  }
  for (const Variable& weight : model.weights()) {
    Json lengths = Json::array();
    for (const std::int64_t length : weight.shape()) lengths.push_back(length);
    weights.push_back({weight.path(), lengths, weight.trainable()});
  }
  EXPECT_EQ(layers, one.at("layers"));
  EXPECT_EQ(weights, one.at("weights"));
  EXPECT_EQ(model.count_params(), one.at("count_params").get<std::int64_t>());
}

void run_case(const Json&, const Json& one) {
  const std::string name = one.at("name");
  const auto starts = [&](const char* text) { return name.starts_with(text); };
  if (starts("summary/")) return run_summary(one);
  if (starts("introspection/")) return run_model(one);
  const Json options = one.value("options", Json::object());
  if (starts("to_categorical/")) {
    const Tensor input = tensor_from_json(one.at("input"));
    expect_close(to_categorical(input, options.value("num_classes", 0), float64), one.at("output"), name);
  } else if (starts("normalize/")) {
    const Tensor input = tensor_from_json(one.at("input"));
    expect_close(normalize(input, options.value("axis", -1), options.value("order", 2)), one.at("output"), name);
  } else if (starts("pad_sequences/")) {
    const Tensor padded = pad_sequences(one.at("rows").get<std::vector<std::vector<double>>>(),
                                        {.maxlen = options.value("maxlen", 0),
                                         .padding = options.value("padding", "pre"),
                                         .truncating = options.value("truncating", "pre"),
                                         .value = options.value("value", 0.0)});
    expect_close(padded, one.at("output"), name);
  } else if (name == "snake_case") {
    for (const Json& pair : one.at("pairs")) {
      EXPECT_EQ(detail::snake_case(pair[0].get<std::string>()), pair[1].get<std::string>());
    }
  } else {
    throw Lacking{"an unknown case"};
  }
}

TEST(IntrospectionGolden, EveryCaseAsKeras) { run_cases("introspection.json", run_case); }

}  // namespace
}  // namespace capstan::testing
