// Models in `.keras` archives that Capstan writes and reads: what is in them, and what is refused.
#include <gtest/gtest.h>

#include <iterator>
#include <fstream>
#include <filesystem>

#include "capstan/capstan.h"
#include "src/io/hdf5_file.h"
#include "src/io/keras_archive.h"
#include "src/io/zip_writer.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using testing::message_of;
using testing::same_bits;

Model small() { return Sequential({layers::Dense(3, {.activation = "tanh", .input_shape = {4}}), layers::Dense(1)}); }

const Tensor& examples() {
  static const Tensor x = random::stateless_uniform({8, 4}, {1, 2});
  return x;
}

double step(const Model& model) { return model.train_on_batch(examples(), ones({8, 1})).at("loss"); }

class KerasArchive : public ::testing::Test {
 protected:
  std::string path(const char* name = "model.keras") const { return directory_.file(name); }

 private:
  io::TemporaryDirectory directory_;
};

TEST_F(KerasArchive, HasMetricsThatFollowFromTheData) {
  const Sequential model({layers::Dense(3, {.activation = "softmax", .input_shape = {4}})});
  model.compile({.optimizer = "sgd",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {Metric("accuracy"), Metric("ce"), Metric("acc")}});
  model.save(path());
  const Model loaded = load_model(path());
  ASSERT_TRUE(loaded.is_compiled());
  const Tensor x = random::normal({20, 4}, 0, 1, float32, 3), y = cast(random::uniform({20}, 0, 3, float32, 4), int32);
  const Evaluation expected = model.evaluate(x, y), found = loaded.evaluate(x, y);
  ASSERT_EQ(found.metrics.size(), 3U);
  for (const char* name : {"loss", "accuracy", "ce", "acc"}) EXPECT_EQ(found[name], expected[name]) << name;
  EXPECT_GT(found["accuracy"], 0);
}

TEST_F(KerasArchive, LeavesCompilingToAnotherLanguage) {
  const Model model = small();
  const auto theirs = [](const Tensor& t, const Tensor& p) { return reduce_mean(abs(t - p), -1); };
  AttributeValue config = AttributeValue::map();
  config.set("loss", "theirs");
  model.compile({.optimizer = "adam", .loss = theirs, .describe = [config] { return config; }});
  for (int i = 0; i < 2; ++i) step(model);
  model.save(path());
  std::string seen;
  const Model loaded = load_model(path(), {.compile_with = [&](const Model& made, const AttributeValue& said) {
                                    seen = said.to_json();
                                    made.compile({.optimizer = "adam", .loss = theirs});
                                  }});
  EXPECT_EQ(seen, R"({"loss": "theirs"})");
  EXPECT_EQ(loaded.optimizer().iterations(), 2);
  EXPECT_EQ(step(loaded), step(model));
  const std::string error = message_of<IoError>([&] { load_model(path()); });  // no loss of the library has the name
  EXPECT_NE(error.find("help: with compile = false it is loaded, and not compiled"), std::string::npos) << error;
  EXPECT_FALSE(load_model(path(), {.compile = false}).is_compiled());
}

TEST_F(KerasArchive, GoesOnWhereTheTrainingWas) {
  for (const char* optimizer : {"sgd", "adam", "rmsprop", "nadam", "adamax", "lion", "adafactor", "muon", "ftrl"}) {
    SCOPED_TRACE(optimizer);
    const Model model = small();
    model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
    for (int i = 0; i < 3; ++i) step(model);
    model.save(path());
    const Model loaded = load_model(path());
    EXPECT_TRUE(same_bits(loaded(examples()), model(examples())));
    EXPECT_EQ(loaded.optimizer().iterations(), 3);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(step(loaded), step(model));
    EXPECT_EQ(loaded.metrics().size(), model.metrics().size());
  }
}

TEST_F(KerasArchive, ServesModelsWithNothingToTrain) {
  const Model frozen = small();
  frozen.set_trainable(false);
  for (const Model& model : {frozen, Model(Sequential({layers::Rescaling(0.5, {.input_shape = {4}})}))}) {
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.save(path());
    const Model loaded = load_model(path());
    EXPECT_TRUE(same_bits(loaded(examples()), model(examples())));
    EXPECT_TRUE(loaded.is_compiled());
    model.save_weights(path("some.weights.h5"));
    loaded.load_weights(path("some.weights.h5"));
    EXPECT_TRUE(same_bits(loaded(examples()), model(examples())));
  }
}

TEST_F(KerasArchive, HasTheScaleOfALoss) {
  const Model model = small();
  model.compile({.optimizer = optimizers::LossScaleOptimizer(optimizers::Adam({.learning_rate = 0.1}),
                                                             {.dynamic_growth_steps = 2}),
                 .loss = "mse"});
  for (int i = 0; i < 3; ++i) step(model);
  model.save(path());
  const std::map<std::string, Tensor> stored = io::load_hdf5_from(*io::KerasArchive("test", path()).weights());
  EXPECT_EQ(stored.at("optimizer/vars/2").item<std::int64_t>(), 1);
  EXPECT_EQ(stored.at("optimizer/vars/3").item<float>(), 0x1p16F);
  EXPECT_EQ(stored.at("optimizer/vars/4").item<std::int64_t>(), 3);
  EXPECT_EQ(stored.at("optimizer/inner_optimizer/vars/0").item<std::int64_t>(), 3);
  const Model loaded = load_model(path());
  EXPECT_EQ(loaded.optimizer().iterations(), 3);
  EXPECT_TRUE(same_bits(State(loaded.optimizer()).save().at("scale"), State(model.optimizer()).save().at("scale")));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(loaded), step(model));
  EXPECT_TRUE(same_bits(State(loaded.optimizer()).save().at("scale"), State(model.optimizer()).save().at("scale")));
}

TEST_F(KerasArchive, HasASchedule) {
  const Model model = small();
  model.compile({.optimizer = optimizers::SGD({.learning_rate = schedules::ExponentialDecay(0.1, 2, 0.5)}),
                 .loss = losses::Huber()});
  for (int i = 0; i < 3; ++i) step(model);
  model.save(path());
  const Model loaded = load_model(path());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(loaded), step(model));
}

TEST_F(KerasArchive, CanLeaveTheOptimizersNumbersOut) {
  const Model model = small();
  model.compile({.optimizer = "adam", .loss = "mse"});
  step(model);
  model.save(path(), {.include_optimizer = false});
  const Model loaded = load_model(path());
  ASSERT_TRUE(loaded.is_compiled());
  EXPECT_EQ(loaded.optimizer().iterations(), 0);
  EXPECT_FALSE(load_model(path(), {.compile = false}).is_compiled());
}

TEST_F(KerasArchive, KeepsWhatIsNotTrainable) {
  const layers::Dense frozen(3, {.name = "frozen"});
  frozen.set_trainable(false);
  const Sequential model({layers::InputLayer({4}), frozen, layers::BatchNormalization(), layers::Dense(2)});
  model.save(path());
  const Model loaded = load_model(path());
  EXPECT_FALSE(loaded.get_layer("frozen").trainable());
  EXPECT_EQ(loaded.trainable_variables().size(), model.trainable_variables().size());
  EXPECT_EQ(loaded.name(), model.name());
}

TEST_F(KerasArchive, HoldsGraphsWithSharedLayersAndModelsInside) {
  const Tensor left = Input({4}, {.name = "left"}), right = Input({4}, {.name = "right"});
  const Model tower = small();
  const Tensor a = tower(left), b = tower(right);
  const Nest pair = {a, b};
  const Model model({left, right}, Nest{layers::Add()(pair), layers::Dense(2, {.name = "head"})(a)});
  model.save(path());
  const Model loaded = load_model(path());
  const Nest x = {examples(), examples() * 2.0f};
  const std::vector<Tensor> want = model(x).tensors(), got = loaded(x).tensors();
  ASSERT_EQ(got.size(), 2u);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i]));
  EXPECT_EQ(loaded.weights().size(), model.weights().size());
  EXPECT_EQ(loaded.to_json(), model.to_json());
}

TEST_F(KerasArchive, LeavesOutWhatHasNoConfiguration) {
  const Model model = small();
  model.compile({.optimizer = "sgd", .loss = [](const Tensor& y, const Tensor& p) { return square(y - p); }});
  step(model);
  ::testing::internal::CaptureStderr();
  model.save(path());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "capstan: warning: save: what compile() was given is left out; serialize: this loss is a function of the "
            "program and has no configuration\n  help: write a class with options, and register it\n");
  const Model loaded = load_model(path());
  EXPECT_FALSE(loaded.is_compiled());
  EXPECT_TRUE(same_bits(loaded(examples()), model(examples())));
}

struct Plain : ModelBody {
  layers::Dense dense{2};
  Tensor call(const Tensor& x, const CallOptions&) override { return dense(x); }
};

TEST_F(KerasArchive, RefusesWhatItCannotHold) {
  EXPECT_EQ(message_of<ValueError>([&] { small().save(path("model.pb")); }),
            "save: the name \"" + path("model.pb") +
                "\" ends with neither .keras nor .h5\n  help: save_weights() writes the weights alone, to .weights.h5, "
                ".safetensors or .npz");
  const Sequential unbuilt({layers::Dense(2)}, "unbuilt");
  EXPECT_EQ(message_of<ValueError>([&] { unbuilt.save(path()); }),
            "save: \"unbuilt\" has no weights yet\n  help: call it, or build() it");
  const ModelOf<Plain> plain;
  plain(examples());
  EXPECT_EQ(message_of<ValueError>([&] { plain.save(path()); }),
            "get_config: plain is of a class without a table of options\n  help: derive it from ConfiguredLayer");
  EXPECT_FALSE(std::filesystem::exists(path()));
  // A file that is there stays.
  const Model model = small();
  model.save(path());
  const auto size = std::filesystem::file_size(path());
  EXPECT_EQ(message_of<ValueError>([&] { model.save(path(), {.overwrite = false}); }),
            "save: there is a file \"" + path() + "\"\n  help: overwrite = true replaces it");
  EXPECT_THROW(plain.save(path()), ValueError);
  EXPECT_EQ(std::filesystem::file_size(path()), size);
  EXPECT_NE(message_of<IoError>([&] { model.save(path("missing/model.keras")); }).find("missing/model.keras"),
            std::string::npos);
}

TEST_F(KerasArchive, IsRefusedByNameAndPlace) {
  EXPECT_EQ(message_of<ValueError>([&] { load_model(path("model.zip")); }),
            "load_model: the name \"" + path("model.zip") +
                "\" ends with neither .keras nor .h5\n  help: load_weights() reads weights alone, from .weights.h5, "
                ".safetensors or .npz");
  EXPECT_EQ(message_of<IoError>([&] { load_model(path("nothing.keras")); }),
            "load_model: cannot open the file, No such file or directory\n  file: " + path("nothing.keras"));
}

// The message is that of the weights: the reader and the file stand in it once.
TEST_F(KerasArchive, SaysWhichWeightsDoNotFit) {
  small().save(path());
  Sequential({layers::Dense(3, {.input_shape = {5}}), layers::Dense(1)}).save(path("other.keras"));
  std::string config = io::KerasArchive("test", path()).config();
  io::KerasArchive other("test", path("other.keras"));
  const auto source = other.weights();
  const std::vector<std::byte> weights = io::read_exactly(*source, source->most_bytes(), "weights");
  io::ZipWriter archive("test", path("mixed.keras"));
  archive.add(io::kKerasConfig, std::as_bytes(std::span(config)));
  archive.add(io::kKerasWeights, weights);
  const std::vector<std::byte> bytes = archive.close();
  std::ofstream(path("mixed.keras"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  const std::string text = message_of<IoError>([&] { load_model(path("mixed.keras")); });
  EXPECT_EQ(text.find("load_model: the weights in the file are not those of "), 0U) << text;
  EXPECT_EQ(text.find("load_model", 1), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  file: " + path("mixed.keras")), text.rfind("\n  file: ")) << text;
  EXPECT_NE(text.find("float32[4, 3] here, and float32[5, 3] in the file"), std::string::npos) << text;
  EXPECT_EQ(text.find("skip_mismatch"), std::string::npos) << text;
}

// Every byte that is cut off or changed gives an error or a model, never anything else.
TEST_F(KerasArchive, MayBeDamagedAnywhere) {
  small().save(path());
  std::ifstream file(path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::string damaged = path("damaged.keras");
  for (std::size_t i = 0; i < bytes.size(); i += 37) {
    for (const bool cuts : {false, true}) {
      std::string changed = cuts ? bytes.substr(0, i) : bytes;
      if (!cuts) changed[i] = static_cast<char>(changed[i] ^ 0x55);
      std::ofstream(damaged, std::ios::binary) << changed;
      try {
        load_model(damaged);
      } catch (const IoError&) {
      }
    }
  }
}

}  // namespace
}  // namespace capstan
