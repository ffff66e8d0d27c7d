// keras.applications with weights from the formula of the original's script.
#include <cmath>

#include "capstan/applications.h"
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

using applications::ApplicationOptions;

// `fill` of the frameworks' peers: scale * (2 frac(43758.5453 sin(12.9898 i + 78.233 seed)) - 1), as float32.
Tensor values_of_formula(const Shape& shape, double seed, double scale) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = 43758.5453 * std::sin(12.9898 * static_cast<double>(i) + 78.233 * seed);
    values[i] = static_cast<float>(scale * (2 * (z - std::floor(z)) - 1));
  }
  return constant(values, shape);
}

// The value of weight number i, or nothing for one that stays as the model makes it.
Tensor weight_value(const std::string& path, const Shape& shape, double i) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "gamma") return 1.0 + values_of_formula(shape, i + 1, 0.1);
  if (name == "beta" || name == "bias" || name == "moving_mean") return values_of_formula(shape, i + 1, 0.1);
  if (name == "moving_variance") return 1.0 + values_of_formula(shape, i + 1, 0.3);
  if (name.find("kernel") == std::string::npos) return {};
  const bool is_depthwise =
      name.find("depthwise") != std::string::npos || (shape.rank() == 4 && shape[3] == 1 && shape[2] > 3);
  double fan_in = 1;
  for (int axis = 0; axis < (is_depthwise ? 2 : shape.rank() - 1); ++axis) fan_in *= static_cast<double>(shape[axis]);
  return values_of_formula(shape, i + 1, std::sqrt(6 / fan_in));
}

struct Network {
  Model (*make)(const ApplicationOptions& options);
  const char* module;  // for preprocess_input
};

const std::map<std::string, Network> kNetworks = {
    {"ResNet50", {applications::ResNet50, "resnet"}},
    {"ResNet50V2", {applications::ResNet50V2, "resnet_v2"}},
    {"VGG16", {applications::VGG16, "vgg16"}},
    {"MobileNetV2", {[](const ApplicationOptions& o) { return applications::MobileNetV2(o); }, "mobilenet_v2"}},
    {"EfficientNetB0", {[](const ApplicationOptions& o) { return applications::EfficientNetB0(o); }, "efficientnet"}},
    {"DenseNet121", {applications::DenseNet121, "densenet"}},
    {"Xception", {applications::Xception, "xception"}},
};

ApplicationOptions options_of(const Json& json) {
  ApplicationOptions options;
  for (const auto& [name, value] : json.items()) {
    if (name == "input_shape") {
      options.input_shape = value.get<std::vector<std::int64_t>>();
    } else if (name == "classes") {
      options.classes = value;
    } else if (name == "classifier_activation") {
      EXPECT_TRUE(value.is_null());
      options.classifier_activation = {};
    } else if (name == "include_top") {
      options.include_top = value;
    } else if (name == "pooling") {
      options.pooling = value;
    } else {
      EXPECT_EQ(name, "weights");
      EXPECT_TRUE(value.is_null());
    }
  }
  return options;
}

double mean_of(const Tensor& x) { return reduce_mean(cast(x, float64)).item<double>(); }
double rms_of(const Tensor& x) { return std::sqrt(reduce_mean(square(cast(x, float64))).item<double>()); }

void set_weights(const Model& model, const Json& weights) {
  const std::vector<Variable> variables = model.weights();
  ASSERT_EQ(variables.size(), weights.size());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string path = weights[i][0];
    const Shape shape(weights[i][1].get<std::vector<std::int64_t>>());
    EXPECT_EQ(variables[i].path(), path);
    ASSERT_EQ(variables[i].shape(), shape) << path;
    const Tensor value = weight_value(path, shape, static_cast<double>(i));
    EXPECT_EQ(value.has_value(), weights[i][2].get<bool>()) << path;
    if (value.has_value()) variables[i].assign(value);
  }
}

void run_applications_case(const Json&, const Json& one) {
  const Network& network = kNetworks.at(one.at("model"));
  const Model model = network.make(options_of(one.at("options")));
  EXPECT_EQ(model.count_params(), one.at("parameters").get<std::int64_t>());
  set_weights(model, one.at("weights"));
  std::vector<Tensor> probes;
  for (const Json& layer : one.at("layers")) probes.push_back(model.output_of(layer[0]).tensor());
  probes.push_back(model.outputs().tensor());
  const Model probe(model.inputs(), Nest(probes));
  const Tensor images = 127.5 + values_of_formula({2, 96, 96, 3}, 99, 127.5);
  const std::vector<Tensor> found = probe(Nest(applications::preprocess_input(network.module, images))).tensors();
  ASSERT_EQ(found.size(), probes.size());
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    const Json& want = one["layers"][i];
    EXPECT_EQ(model.get_layer(want[0].get<std::string>()).type_name(), want[1].get<std::string>());
    EXPECT_EQ(found[i].shape(), Shape(want[2].get<std::vector<std::int64_t>>()));
    const double mean = want[3], rms = want[4];
    EXPECT_NEAR(mean_of(found[i]), mean, 1e-3 * rms) << want[0];
    EXPECT_NEAR(rms_of(found[i]), rms, 1e-3 * rms) << want[0];
  }
  const Json& output = one.at("output");
  EXPECT_EQ(one.at("output_is"), "the first 40 numbers");
  EXPECT_EQ(found.back().shape(), Shape(output.at("shape").get<std::vector<std::int64_t>>()));
  const double tolerance = 1e-3 * rms_of(found.back());
  const std::vector<double> values = cast(found.back(), float64).to_vector<double>();
  for (std::size_t i = 0; i < output.at("data").size(); ++i) {
    EXPECT_NEAR(values.at(i), output["data"][i].get<double>(), tolerance) << "output " << i;
  }
}

const KerasFile applications_file("applications", run_applications_case,
                                  {"model", "options", "parameters", "weights", "layers", "output", "output_is"});

}  // namespace
}  // namespace capstan::testing
