// Samples and references of the ops in src/ops/nn/bias_add.cc.
#include <cstddef>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> bias_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 3, 2, 4}}, {.shape = {4}}}},
      {.inputs = {{.shape = {2, 3, 2, 2}}, {.shape = {3}}}, .attributes = {{"data_format", "NCHW"}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}, .error = "bias_add: 2 values for 3 channels"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}},
       .attributes = {{"data_format", "CHWN"}},
       .error = "bias_add: the data format must begin with \"NC\" or end with \"C\", not \"CHWN\""},
      {.inputs = {{.shape = {3}}, {.shape = {3}}}, .error = "bias_add: the input needs rank 2 or more, not 1"},
  };
}
void bias_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[0]};
  // Of the sample with the channels in second place.
  const std::size_t pixels = attributes.contains("data_format") ? 4 : 1;
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    outputs[0].values[i] += inputs[1].values[i / pixels % inputs[1].values.size()];
  }
}

const OpTests kBiasAddTests = {
    {"bias_add", {.samples = bias_samples, .reference = bias_reference}},
};

}  // namespace

}  // namespace capstan::testing
