// Weights in `.h5` files of Keras 1 and 2.
#include <gtest/gtest.h>

#include <fstream>
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
    return;
  }
  ADD_FAILURE();
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
TEST(LegacyWeights, ThatAreDamagedAreAnErrorOrWeights) {
  const io::TemporaryDirectory directory;
  const Sequential model = nested_model();
  for (const std::string file : {"fixed", "parts"}) {
    std::ifstream stream(sample_path("legacy_weights/" + file + ".h5"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    int errors = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 37) {
      std::string changed = i % 16 == 0 ? bytes.substr(0, i) : bytes;
      if (i % 16 != 0) changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
      const std::string path = directory.write("x.h5", changed);
      try {
        model.load_weights(path);
      } catch (const Error&) {
        ++errors;
      }
    }
    EXPECT_GT(errors, 50);
  }
}

}  // namespace
}  // namespace capstan
