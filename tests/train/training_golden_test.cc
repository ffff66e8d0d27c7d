// Short trainings against those of Keras: losses of every step, first gradients, final weights and results.
#include "tests/train/keras_cases.h"

namespace capstan::testing {
namespace {

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> index;
  for (std::int64_t j = 0; j < count; ++j) index.push_back((first + j) % x.dim(0));
  return gather(x, constant(index));
}

void run_case(const Json&, const Json& one) {
  const std::string dtype = one.at("dtype");
  std::vector<Layer> layers;
  std::map<std::string, int> counts;
  // Layers get the names that the original gave them: the class and a number.
  std::set<std::string> paths;
  for (const Json& item : one.at("layers")) {
    const std::string type = item.at(0);
    static const std::map<std::string, std::string> kSnake = {
        {"Dense", "dense"},     {"Conv2D", "conv2d"},   {"BatchNormalization", "batch_normalization"},
        {"ReLU", "re_lu"},      {"Dropout", "dropout"}, {"Activation", "activation"},
        {"Flatten", "flatten"}, {"MaxPooling2D", "max_pooling2d"}};
    const std::string base = kSnake.at(type);
    const int count = counts[base]++;
    layers.push_back(make_layer(type, item.at(1), dtype, count == 0 ? base : base + "_" + std::to_string(count)));
  }
  const Sequential model(layers, "model");
  const Tensor x = tensor_from_json(one.at("x"));
  const Tensor y = tensor_from_json(one.at("y"));
  const std::int64_t batch = one.at("batch");
  model(rows(x, 0, batch));
  std::vector<Tensor> initial;
  const Json& weights = one.at("initial_weights");
  ASSERT_EQ(weights.size(), model.weights().size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(model.weights()[i].path(), weights[i].at("path").get<std::string>());
    initial.push_back(tensor_from_json(weights[i].at("value")));
  }
  model.set_weights(initial);
  const Loss loss_fn = make_loss(one.at("loss").at(0), one.at("loss").at(1));
  const Optimizer optimizer = make_optimizer(one.at("optimizer").at(0), one.at("optimizer").at(1));
  const bool training = one.at("name").get<std::string>().find("inference_mode") == std::string::npos;
  const double allowed = one.at("tolerance");
  const Tolerance tolerance{allowed, allowed};
  const std::vector<Variable>& variables = model.trainable_variables();

  for (std::size_t k = 0; k < one.at("steps").size(); ++k) {
    const auto first = static_cast<std::int64_t>(k) * batch;
    GradientTape tape;
    Tensor loss = loss_fn(rows(y, first, batch), model(rows(x, first, batch), {.training = training}));
    for (const Tensor& extra : model.losses()) loss = loss + extra;
    std::vector<Tensor> gradients = tape.gradient(loss, variables);
    const Json& step = one.at("steps")[k];
    const double want = step.at("loss");
    ASSERT_NEAR(loss.item<double>(), want, allowed * std::abs(want) + allowed) << "step " << k;
    const double norm = step.at("gradient_norm");
    EXPECT_NEAR(global_norm(gradients).item<double>(), norm, 3 * allowed * (norm + 1)) << "step " << k;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string& path = variables[i].path();
      if (k == 0) expect_close(gradients[i], one.at("first_gradients").at(path), "gradient of " + path, tolerance);
      if (one.contains("sgd_per_layer_clip")) {
        const char* which = path.starts_with("model/dense_1") ? "head" : "body";
        gradients[i] = clip_by_norm(gradients[i], one.at("sgd_per_layer_clip").at(which).get<double>());
      }
    }
    optimizer.apply_gradients(gradients, variables);
  }
  for (std::size_t i = 0; i < model.weights().size(); ++i) {
    expect_close(model.weights()[i].value(), one.at("final_weights")[i].at("value"), model.weights()[i].path(), tolerance);
  }
  expect_close(model(x), one.at("final_inference_output"), "final result", tolerance);
}

TEST(TrainingAgainstKeras, AgreesInAllCases) { run_cases("training.json", run_case); }

}  // namespace
}  // namespace capstan::testing
