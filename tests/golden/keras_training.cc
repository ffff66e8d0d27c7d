// Short trainings against those of Keras: losses of every step, first gradients, final weights and results.
#include <algorithm>
#include <cmath>

#include "src/train/layer_state.h"
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> index;
  for (std::int64_t j = 0; j < count; ++j) index.push_back((first + j) % x.dim(0));
  return gather(x, constant(index));
}

// Within allowed (1 + |exact|) of what the original computes in float64, plus twice what its float32 run departs from
// that: noise that Adam amplifies where a gradient is zero but for rounding, as that of a bias before a normalisation.
void expect_near(const Tensor& got, const Json& want, const Json* exact, double allowed, const std::string& what) {
  const std::vector<double> a = got.to_vector<double>();
  const std::vector<double> b = tensor_from_json(want).to_vector<double>();
  const std::vector<double> c = exact == nullptr ? b : tensor_from_json(*exact).to_vector<double>();
  ASSERT_EQ(got.shape(), tensor_from_json(want).shape()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], c[i], allowed * (1 + std::abs(c[i])) + 2 * std::abs(b[i] - c[i])) << what << ", element " << i;
  }
}

// Of the gradients as dense tensors: global_norm does not sum the rows of a row-sparse gradient that are repeated.
double dense_norm(const std::vector<Tensor>& gradients) {
  double squares = 0;
  for (const Tensor& gradient : gradients) {
    squares += reduce_sum(square(cast(gradient.to_dense(), float64))).item<double>();
  }
  return std::sqrt(squares);
}

// The case with the same name in float64, or null.
const Json* in_float64(const Json& document, const Json& one) {
  std::string name = one.at("name");
  name = name.substr(0, name.rfind('/')) + "/float64";
  for (const Json& other : document.at("cases")) {
    if (other.at("name") == name) return &other;
  }
  return nullptr;
}

void run_training_case(const Json& document, const Json& one) {
  const Json* const exact = in_float64(document, one);
  const std::string dtype = one.at("dtype");
  std::vector<Layer> layers;
  std::map<std::string, int> counts;
  // Layers get the names that the original gave them: the class and a number.
  for (const Json& item : one.at("layers")) {
    const std::string type = item.at(0);
    const std::string base = detail::snake_case(type);
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
  double allowed = one.at("tolerance");
  // The factors of regularizers are float32 in the original.
  if (one.at("layers").dump().find("regularizer") != std::string::npos) allowed = std::max(allowed, 1e-6);
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
    EXPECT_NEAR(dense_norm(gradients), norm, 3 * allowed * (norm + 1)) << "step " << k;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string& path = variables[i].path();
      if (k == 0)
        expect_near(gradients[i], one.at("first_gradients").at(path), nullptr, allowed, "gradient of " + path);
      if (one.contains("sgd_per_layer_clip")) {
        const char* which = path.starts_with("model/dense_1") ? "head" : "body";
        gradients[i] = clip_by_norm(gradients[i], one.at("sgd_per_layer_clip").at(which).get<double>());
      }
    }
    optimizer.apply_gradients(gradients, variables);
  }
  for (std::size_t i = 0; i < model.weights().size(); ++i) {
    expect_near(model.weights()[i].value(), one.at("final_weights")[i].at("value"),
                exact == nullptr ? nullptr : &exact->at("final_weights")[i].at("value"), allowed,
                model.weights()[i].path());
  }
  expect_near(model(x), one.at("final_inference_output"),
              exact == nullptr ? nullptr : &exact->at("final_inference_output"), allowed, "final result");
}

// "batch_rule" says in words what rows() does.
const KerasFile training_file("training", run_training_case,
                              {"batch", "batch_rule", "final_inference_output", "final_weights", "first_gradients",
                               "initial_weights", "layers", "loss", "optimizer", "sgd_per_layer_clip", "steps", "x",
                               "y"});

}  // namespace
}  // namespace capstan::testing
