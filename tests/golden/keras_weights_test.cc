// `.weights.h5` files of Keras in models of the same layers: the same weights and the same outputs.
#include <gtest/gtest.h>

#include "capstan/hdf5_files.h"
#include "capstan/ops/random.h"
#include "capstan/schedules.h"
#include "tests/golden/keras_samples.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::testing {
namespace {

TEST(KerasWeights, LoadIntoTheSameModels) {
  int loaded = 0;
  for (const Json& sample : samples_of("models")) {
    SCOPED_TRACE(sample.at("file"));
    if (sample.at("kind") != "weights" || !sample.contains("model")) continue;
    const std::string file = sample.at("file");
    if (file == "dense_float16.weights.h5") continue;  // no model has this dtype
    const Json& model_json = sample["model"];
    const Model model = make_model(model_json);
    model.load_weights(sample.at("path"));
    expect_sample(model, sample);
    ++loaded;
  }
  EXPECT_GE(loaded, 8);
}

io::NamedArrays datasets_of(const std::string& path) {
  io::NamedArrays datasets = io::load_hdf5(path);
  std::erase_if(datasets, [](const auto& one) { return one.first.starts_with("optimizer/"); });
  return datasets;
}

// The same datasets under the same paths as in Keras's own files.
TEST(KerasWeights, AreWrittenAsKerasWritesThem) {
  const io::TemporaryDirectory directory;
  int written = 0;
  for (const Json& sample : samples_of("models")) {
    SCOPED_TRACE(sample.at("file"));
    if (sample.at("kind") != "weights" || !sample.contains("model")) continue;
    if (sample.at("file") == "dense_float16.weights.h5") continue;
    const Model model = make_model(sample["model"]);
    model.load_weights(sample.at("path"));
    const std::string path = directory.file("x.weights.h5");
    model.save_weights(path);
    const io::NamedArrays ours = datasets_of(path), theirs = datasets_of(sample.at("path"));
    ASSERT_EQ(ours.size(), theirs.size());
    for (const auto& [name, tensor] : theirs) {
      EXPECT_EQ(ours.at(name).dtype(), tensor.dtype()) << name;
      EXPECT_EQ(ours.at(name).shape(), tensor.shape()) << name;
      EXPECT_EQ(ours.at(name).to_vector<double>(), tensor.to_vector<double>()) << name;
    }
    ++written;
  }
  EXPECT_GE(written, 8);
}

// Layers of a class of one's own, which Keras finds by attributes, stand under the names that they were given.
struct Encoder : LayerBody {
  layers::Dense first{4, {.name = "first"}};
  layers::Dense plain{4};
  Tensor call(const Tensor& x, const CallOptions&) override { return plain(first(x)); }
};

struct Own : ModelBody {
  LayerOf<Encoder> encoder;
  layers::Dense output{2, {.name = "output_head"}};
  Tensor call(const Tensor& x, const CallOptions&) override { return output(encoder(x)); }
};

TEST(KerasWeights, OfClassesOfOnesOwnStandUnderTheNamesOfLayers) {
  const io::TemporaryDirectory directory;
  const std::string path = directory.file("x.weights.h5");
  const ModelOf<Own> model, other;
  const Tensor x = ones({3, 5});
  const Tensor y = model(x);
  other(x);
  model.save_weights(path);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : datasets_of(path)) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"encoder/first/vars/0", "encoder/first/vars/1", "encoder/layers/dense_1/vars/0",
                                      "encoder/layers/dense_1/vars/1", "output_head/vars/0", "output_head/vars/1"}));
  other.load_weights(path);
  EXPECT_EQ(other(x).to_vector<float>(), y.to_vector<float>());
  // Keras writes an attribute of a model that sorts behind "layers" into its list.
  std::map<std::string, Tensor> moved;
  for (const auto& [name, tensor] : datasets_of(path)) {
    moved.emplace(name.starts_with("output_head") ? "layers/dense" + name.substr(11) : name, tensor);
  }
  io::save_hdf5(path, moved);
  const ModelOf<Own> third;
  third(x);
  third.load_weights(path);
  EXPECT_EQ(third(x).to_vector<float>(), y.to_vector<float>());
}

TEST(KerasWeights, HaveTheOptimizerOfACompiledModel) {
  const io::TemporaryDirectory directory;
  const std::string path = directory.file("x.weights.h5");
  const auto make = [](const Optimizer& optimizer) {
    Sequential model({layers::Dense(4, {.activation = "tanh", .input_shape = {3}}), layers::Dense(1)});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return model;
  };
  const Tensor x = random::stateless_uniform({8, 3}, {1, 2}), y = ones({8, 1});
  const auto train = [&](const Model& model) { return model.train_on_batch(x, y).at("loss"); };
  for (const char* name : {"adam", "sgd", "rmsprop", "nadam", "adafactor", "ftrl", "muon", "lamb"}) {
    SCOPED_TRACE(name);
    const Model model = make(name);
    for (int i = 0; i < 3; ++i) train(model);
    model.save_weights(path);
    std::vector<double> want;
    for (int i = 0; i < 3; ++i) want.push_back(train(model));
    // One that has slots already, and one that gets them later.
    const Model trained = make(name), fresh = make(name);
    train(trained);
    for (const Model& other : {trained, fresh}) {
      other.load_weights(path);
      EXPECT_EQ(other.optimizer().iterations(), 3);
      for (const double loss : want) EXPECT_EQ(train(other), loss);
    }
  }
  // Of another optimizer the weights are taken over.
  const Model adam = make("adam"), sgd = make("sgd");
  train(adam);
  train(sgd);
  adam.save_weights(path);
  ::testing::internal::CaptureStderr();
  sgd.load_weights(path);
  const std::string warning = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("the optimizer in " + path + " is not"), std::string::npos) << warning;
  EXPECT_EQ(sgd(x).to_vector<float>(), adam(x).to_vector<float>());
  // A schedule has no rate to save.
  const Model scheduled = make(optimizers::SGD({.learning_rate = schedules::ExponentialDecay(0.1, 10, 0.9)}));
  train(scheduled);
  scheduled.save_weights(path);
  const Model later = make(optimizers::SGD({.learning_rate = schedules::ExponentialDecay(0.1, 10, 0.9)}));
  later.load_weights(path);
  EXPECT_EQ(later.optimizer().iterations(), 1);
}

TEST(KerasWeights, ThatDoNotFitAreRefused) {
  for (const Json& sample : samples_of("hostile/weights")) {
    SCOPED_TRACE(sample.at("file"));
    const Sequential model({layers::Dense(4, {.input_shape = {3}}), layers::Dense(2)});
    ASSERT_EQ(sample.at("model"), "Sequential: input 3, Dense 4, Dense 2");
    const std::vector<Tensor> before = model.get_weights();
    if (sample.at("must") == "load") {
      model.load_weights(sample.at("path"));
      continue;
    }
    EXPECT_EQ(sample.at("must"), "fail");
    EXPECT_THROW(model.load_weights(sample.at("path")), Error);
    const std::vector<Tensor> after = model.get_weights();
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after[i].to_vector<float>(), before[i].to_vector<float>());
    }
  }
}

}  // namespace
}  // namespace capstan::testing
