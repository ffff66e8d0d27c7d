// Models whose weights and outputs are told in an entry of tests/golden/files/models.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/golden/keras_models.h"
#include "tests/support/numbered.h"

namespace capstan::testing {

// The model has the weights of the sample, to the bit, and gives its outputs.
inline void expect_sample(const Model& model, const Json& sample) {
  const std::vector<Variable> weights = model.weights();
  ASSERT_EQ(weights.size(), sample.at("weights").size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Json& entry = sample["weights"][i];
    const Json& want = entry.contains("value") ? entry["value"] : entry;
    EXPECT_EQ(weights[i].value().to_vector<double>(), tensor_from_json(want).to_vector<double>()) << i;
  }
  std::vector<Tensor> inputs;
  for (const Json& input : sample.at("inputs")) inputs.push_back(tensor_from_json(input));
  const std::vector<Tensor> outputs = model(nest_of(inputs)).tensors();
  ASSERT_EQ(outputs.size(), sample.at("outputs").size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    expect_close(outputs[i], sample["outputs"][i], "outputs", {2e-5, 2e-5});
  }
}

}  // namespace capstan::testing
