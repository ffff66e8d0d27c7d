// Samples and references of the ops in src/ops/activation/activation.cc.
#include <cmath>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTest kGeluTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{{.inputs = {{.shape = {2, 3}}}},
                                 {.inputs = {{.shape = {4}}}, .attributes = {{"approximate", true}}}};
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs.push_back(inputs[0]);
    for (double& x : outputs[0].values) {
      x = attributes.empty()
              ? 0.5 * x * std::erfc(-x / std::sqrt(2.0))
              : 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    }
  };
  return test;
}();

const OpTests kActivationTests = {
    {"softsign", {.domain = {0.25, 3.0}}},   {"relu", {.domain = {0.25, 2.0}}}, {"relu6", {.domain = {0.25, 5.0}}},
    {"leaky_relu", {.domain = {0.25, 2.0}}}, {"selu", {.domain = {0.25, 2.0}}}, {"gelu", kGeluTest},
};

}  // namespace

}  // namespace capstan::testing
