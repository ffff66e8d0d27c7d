// Summaries, paths and counts of weights, and helpers of training programs against Keras.
#include "src/train/layer_state.h"
#include "tests/golden/keras_models.h"

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
  // Generators of draws are no variables here.
  std::vector<std::string> variables;
  for (const Json& path : one.at("variables")) {
    if (!path.get<std::string>().starts_with("seed_generator")) variables.push_back(path);
  }
  std::vector<std::string> paths;
  for (const Variable& weight : model.weights()) paths.push_back(weight.path());
  EXPECT_EQ(paths, variables);
  const Json& spec = one.at("model");
  Shape shape{2};
  for (const Json& length : spec.contains("input_shape") ? spec["input_shape"] : spec.at("inputs")[0].at("shape")) {
    shape.push_back(length);
  }
  const DType dtype = dtype_from_name(spec.value("input_dtype", "float32"));
  const Json& want = one.at("output_shape");
  const Json list = want[0].is_array() ? want : Json::array({want});
  const std::vector<Tensor> outputs = model(Nest(zeros(shape, dtype))).tensors();
  ASSERT_EQ(outputs.size(), list.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Shape expected;
    for (const Json& length : list[i]) expected.push_back(length.is_null() ? 2 : length.get<std::int64_t>());
    EXPECT_EQ(outputs[i].shape(), expected);
  }
}

void run_introspection_case(const Json&, const Json& one) {
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
    expect_close(utils::normalize(input, options.value("axis", -1), options.value("order", 2)), one.at("output"), name);
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

const KerasFile introspection_file("introspection", run_introspection_case,
                                   {"count_params", "input", "layers", "model", "options", "output", "output_shape",
                                    "pairs", "rows", "text", "variables", "weights"});

}  // namespace
}  // namespace capstan::testing
