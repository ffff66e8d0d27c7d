// Samples and references of the ops in src/ops/nn/dropout.cc.
#include <cstdint>
#include <vector>

#include "src/core/philox.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> dropout_samples() {
  return {
      {.inputs = {{.shape = {20}}}, .attributes = {{"rate", 0.5}, {"seed", 7}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"rate", 0.0}, {"seed", 7}}},
      {.inputs = {{.shape = {0}}}, .attributes = {{"rate", 0.25}, {"seed", 7}}},
      {.inputs = {{.shape = {3}}},
       .attributes = {{"rate", 1.0}, {"seed", 7}},
       .error = "the rate must be in [0, 1), not 1"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"rate", -0.5}, {"seed", 7}}, .error = "the rate must be in [0, 1)"},
  };
}
// Word i of the stream decides on element i.
void dropout_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  const double rate = attributes.at("rate").number;
  const auto seed = static_cast<std::uint64_t>(attributes.at("seed").integer);
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const double draw = philox(seed, i / 4).words[i % 4] / 4294967296.0;
    outputs[0].values[i] = draw >= rate ? outputs[0].values[i] / (1 - rate) : 0;
  }
}
const OpTest kDropoutTest = {.samples = dropout_samples, .reference = dropout_reference};

std::vector<OpSample> mask_samples() {
  const SampleInput mask{.shape = {4}, .values = {1, 0, 0, 1}, .dtype = bool_, .differentiable = false};
  return {
      {.inputs = {{.shape = {4}}, mask}, .attributes = {{"rate", 0.25}}},
      {.inputs = {{.shape = {4}}, mask}, .attributes = {{"rate", 1.5}}, .error = "the rate must be in [0, 1), not 1.5"},
  };
}
void mask_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    outputs[0].values[i] = inputs[1].values[i] != 0 ? inputs[0].values[i] / (1 - attributes.at("rate").number) : 0.0;
  }
}

const OpTests kDropoutTests = {
    {"keyed_dropout", kDropoutTest},
    {"dropout", kDropoutTest},
    {"dropout_with_mask", {.samples = mask_samples, .reference = mask_reference}},
};

}  // namespace

}  // namespace capstan::testing
