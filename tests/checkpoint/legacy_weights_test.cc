// Weights in `.h5` files of Keras 1 and 2.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using testing::contains;
using testing::Json;
using testing::message_of;
using testing::sample_path;
using testing::tensor_from_json;

TEST(LegacyWeights, AreThoseOfAWholeModel) {
  for (const Json& sample : testing::samples_of("models")) {
    if (sample.at("file") != "legacy_model.h5") continue;
    const Sequential model(
        {layers::Dense(3, {.activation = "relu", .input_shape = {4}}), layers::BatchNormalization(), layers::Dense(2)});
    model.load_weights(sample.at("path"));
    const std::vector<Variable> weights = model.weights();
    ASSERT_EQ(weights.size(), sample.at("weights").size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(testing::same_bits(weights[i].value(), tensor_from_json(sample["weights"][i].at("value")))) << i;
    }
    const Tensor outputs = model(tensor_from_json(sample.at("inputs")[0]));
    const Tensor wanted = tensor_from_json(sample.at("outputs")[0]);
    EXPECT_LT(reduce_max(abs(outputs - wanted)).item<float>(), 2e-5f);

    const Model loaded = load_model(sample.at("path"));
    EXPECT_TRUE(testing::same_bits(loaded(tensor_from_json(sample.at("inputs")[0])), outputs));
    ASSERT_EQ(loaded.weights().size(), weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(testing::same_bits(loaded.weights()[i].value(), weights[i].value())) << i;
    }
    return;
  }
  ADD_FAILURE();
}

// What Keras wrote after an epoch, and what it predicts after another one.
TEST(LegacyModels, AreCompiledAndGoOn) {
  const Model model = load_model(sample_path("legacy_weights/trained.h5"));
  EXPECT_EQ(model.type_name(), "Functional");
  EXPECT_EQ(model.optimizer().iterations(), 1);
  const Tensor x = reshape(linspace(0.0F, 1.0F, 32), {8, 4}), y = ones({8, 2});
  const History history = model.fit(x, y, {.verbose = 0, .shuffle = false});
  EXPECT_TRUE(history.history.contains("mae"));
  std::ifstream file(sample_path("legacy_weights/trained.json"));
  const Json said = Json::parse(file);
  const Tensor wanted = tensor_from_json(said.at("after"));
  EXPECT_LT(reduce_max(abs(model.predict(x) - wanted)).item<float>(), 2e-6F);
  EXPECT_FALSE(load_model(sample_path("legacy_weights/trained.h5"), {.compile = false}).is_compiled());
}

Model functional_model() {
  const Tensor x = Input({4});
  const Sequential inner({layers::Dense(5, {.activation = "tanh"}), layers::BatchNormalization()}, "inner");
  const layers::Dense twice(4);
  const Tensor y = layers::Add()(Nest{twice(x), twice(layers::Dropout(0.0)(x))});
  return Model(x, layers::Dense(2)(inner(y)));
}

// Losses of both after three steps, and what they give.
TEST(LegacyModels, GoOnAsTheyWereSaved) {
  const io::TemporaryDirectory directory;
  const Tensor x = reshape(linspace(0.0F, 1.0F, 32), {8, 4}), y = ones({8, 2});
  const std::vector<Optimizer> optimizers = {
      optimizers::Adam(), optimizers::SGD({.learning_rate = schedules::ExponentialDecay(0.1, 2, 0.5), .momentum = 0.9}),
      optimizers::Nadam(), optimizers::LossScaleOptimizer(optimizers::RMSprop(), {.dynamic_growth_steps = 2})};
  for (const Optimizer& optimizer : optimizers) {
    SCOPED_TRACE(optimizer.name());
    const Model model = functional_model();
    model.compile({.optimizer = optimizer, .loss = losses::Huber(), .metrics = {"mae"}});
    for (int step = 0; step < 3; ++step) model.train_on_batch(x, y);
    const std::string path = directory.file("model.h5");
    model.save(path);
    const Model loaded = load_model(path);
    EXPECT_EQ(loaded.optimizer().iterations(), 3);
    EXPECT_TRUE(testing::same_bits(loaded(x), model(x)));
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(loaded.train_on_batch(x, y).at("loss"), model.train_on_batch(x, y).at("loss"));
    }
    EXPECT_TRUE(testing::same_bits(loaded(x), model(x)));
    const Model other = functional_model();
    other.load_weights(path);
    EXPECT_FALSE(other.is_compiled());
  }
}

TEST(LegacyModels, MayBeSavedWithoutTheOptimizer) {
  const io::TemporaryDirectory directory;
  const Model model = functional_model();
  const std::string path = directory.file("model.h5");
  model.save(path);
  EXPECT_FALSE(load_model(path).is_compiled());
  model.compile({.optimizer = optimizers::Adam(), .loss = losses::Huber()});
  EXPECT_TRUE(contains(message_of<ValueError>([&] { model.save(path, {.overwrite = false}); }), "there is a file"));
  model.save(path, {.include_optimizer = false});
  EXPECT_FALSE(load_model(path).is_compiled());
  EXPECT_THROW(Sequential({layers::Dense(2)}).save(path), ValueError);
}

// Lists and texts that are longer than an attribute in a header may be; weights in bfloat16.
TEST(LegacyModels, MayHaveManyLayers) {
  const io::TemporaryDirectory directory;
  std::vector<Layer> layers;
  for (int i = 0; i < 700; ++i) {
    const std::string name = std::string(120, 'n') + std::to_string(i);
    layers.push_back(layers::UnitNormalization({.name = name}));
  }
  layers.push_back(layers::Dense(3, {.dtype = "bfloat16"}));
  const Sequential model(layers);
  const Tensor x = reshape(linspace(-1.0F, 1.0F, 8), {2, 4});
  const Tensor y = model(x);
  const std::string path = directory.file("model.h5");
  model.save(path);
  const Model loaded = load_model(path);
  EXPECT_EQ(loaded.layers().size(), 701u);
  EXPECT_TRUE(testing::same_bits(loaded(x), y));
}

class OwnModel : public ModelBody {
 public:
  layers::Dense dense{2};

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return dense(x); }
};

TEST(LegacyModels, AreNotOfClassesOfOnesOwn) {
  const io::TemporaryDirectory directory;
  const ModelOf<OwnModel> model;
  model(ones({1, 3}));
  const std::string error = message_of<ValueError>([&] { model.save(directory.file("model.h5")); });
  EXPECT_TRUE(contains(error, "is of a class of its own")) << error;
  EXPECT_TRUE(contains(error, "save it to a .keras archive")) << error;
  EXPECT_FALSE(std::filesystem::exists(directory.file("model.h5")));
}

TEST(LegacyModels, AreWholeModels) {
  const std::string of_weights =
      message_of<IoError>([] { load_model(testing::sample_path("legacy_weights/fixed.h5")); });
  EXPECT_TRUE(contains(of_weights, "load_model: it has no configuration of a model")) << of_weights;
  EXPECT_THROW(load_model("no_such_file.h5"), IoError);
  const std::string of_name = message_of<ValueError>([] { load_model("model.weights.h5"); });
  EXPECT_TRUE(contains(of_name, "ends with neither .keras nor .h5")) << of_name;
}

Sequential nested_model(int units = 3) {
  return Sequential({layers::Dense(units, {.input_shape = {4}}), layers::Flatten(),
                     Sequential({layers::Dense(3), layers::BatchNormalization()}), layers::Dense(2)});
}

// Texts of one length and of any, in the root and in a group, in one list and in two; each weight has its place in the
// file as its value.
TEST(LegacyWeights, AreFoundByTheOrderOfLayers) {
  const std::map<std::string, float> values = {{"dense/kernel", 0},
                                               {"dense/bias", 1},
                                               {"sequential/dense/kernel", 2},
                                               {"sequential/dense/bias", 3},
                                               {"sequential/batch_normalization/gamma", 4},
                                               {"sequential/batch_normalization/beta", 5},
                                               {"sequential/batch_normalization/moving_mean", 6},
                                               {"sequential/batch_normalization/moving_variance", 7},
                                               {"dense_1/kernel", 8},
                                               {"dense_1/bias", 9}};
  for (const std::string file : {"fixed", "parts"}) {
    SCOPED_TRACE(file);
    const Sequential model = nested_model();
    model.load_weights(sample_path("legacy_weights/" + file + ".h5"));
    const auto weights = named_weights(model);
    EXPECT_EQ(weights.size(), values.size());
    for (const auto& [name, variable] : weights) {
      EXPECT_TRUE(testing::same_bits(variable.value(), fill(variable.shape(), values.at(name)))) << name;
    }
  }
}

TEST(LegacyWeights, OfAnotherModelChangeNothing) {
  const std::string path = sample_path("legacy_weights/fixed.h5");
  const Sequential other = nested_model(5), shorter({layers::Dense(3, {.input_shape = {4}})});
  const std::string before = other.weights().back().value().to_string();
  const std::string error = message_of<ValueError>([&] { other.load_weights(path); });
  EXPECT_TRUE(contains(error, "different: \"dense/kernel\", float32[4, 5] here, and float32[4, 3] in the file"))
      << error;
  EXPECT_EQ(other.weights().back().value().to_string(), before);
  const std::string of_shorter = message_of<ValueError>([&] { shorter.load_weights(path); });
  EXPECT_TRUE(contains(of_shorter, "missing: \"dense/kernel\", float32[4, 3]")) << of_shorter;
  EXPECT_TRUE(contains(of_shorter, "left over: \"dense_2/dense_2/bias:0\", float32[2]")) << of_shorter;
}

TEST(LegacyWeights, WithoutAListOfLayersAreRefused) {
  const io::TemporaryDirectory directory;
  const std::string path = directory.file("x.h5");
  io::save_hdf5(path, {{"a", constant(1.0f)}});
  const Sequential model = nested_model();
  const std::string error = message_of<IoError>([&] { model.load_weights(path); });
  EXPECT_TRUE(contains(error, "load_weights: it has no list of layers, which Keras writes as layer_names")) << error;
}

// Bytes changed, and lengths cut: an error, or weights.
// Cuts a file off at many places and changes bits at others; the errors there are.
int errors_of_damaged(const std::string& file, const std::function<void(const std::string& path)>& read) {
  const io::TemporaryDirectory directory;
  std::ifstream stream(sample_path("legacy_weights/" + file), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  int errors = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 37) {
    std::string changed = i % 16 == 0 ? bytes.substr(0, i) : bytes;
    if (i % 16 != 0) changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
    const std::string path = directory.write("x.h5", changed);
    try {
      read(path);
    } catch (const Error&) {
      ++errors;
    }
  }
  return errors;
}

TEST(LegacyModels, HaveTheLayersOfTheirConfiguration) {
  const io::TemporaryDirectory directory;
  std::ifstream stream(sample_path("legacy_weights/trained.h5"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const std::string name = "\"dense_1\"";  // in quotes in the configuration alone
  int renamed = 0;
  for (std::size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at), ++renamed) {
    bytes[at + name.size() - 2] = '9';
  }
  EXPECT_GT(renamed, 0);
  const std::string path = directory.write("renamed.h5", bytes);
  const std::string error = message_of<IoError>([&] { load_model(path); });
  EXPECT_TRUE(contains(error, "the layers that have weights are not those of the configuration")) << error;
}

TEST(LegacyWeights, ThatAreDamagedAreAnErrorOrWeights) {
  const Sequential model = nested_model();
  for (const std::string file : {"fixed.h5", "parts.h5"}) {
    EXPECT_GT(errors_of_damaged(file, [&](const std::string& path) { model.load_weights(path); }), 50) << file;
  }
}

TEST(LegacyModels, ThatAreDamagedAreAnErrorOrModels) {
  EXPECT_GT(errors_of_damaged("trained.h5", [](const std::string& path) { load_model(path); }), 50);
}

}  // namespace
}  // namespace capstan
