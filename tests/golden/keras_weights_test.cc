// `.weights.h5` files of Keras in models of the same layers: the same weights and the same outputs.
#include <gtest/gtest.h>

#include "tests/golden/keras_models.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"

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
    const std::vector<Variable> weights = model.weights();
    ASSERT_EQ(weights.size(), sample.at("weights").size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Json& want = sample["weights"][i].contains("value") ? sample["weights"][i]["value"] : sample["weights"][i];
      EXPECT_EQ(weights[i].value().to_vector<double>(), tensor_from_json(want).to_vector<double>()) << i;
    }
    std::vector<Nest> inputs;
    for (const Json& input : sample.at("inputs")) inputs.emplace_back(tensor_from_json(input));
    const std::vector<Tensor> outputs = model(inputs.size() == 1 ? inputs[0] : Nest(inputs)).tensors();
    ASSERT_EQ(outputs.size(), sample.at("outputs").size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      expect_close(outputs[i], sample["outputs"][i], "outputs", {2e-5, 2e-5});
    }
    ++loaded;
  }
  EXPECT_GE(loaded, 8);
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
