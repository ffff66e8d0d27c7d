// Samples and references of the ops in src/ops/state.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> read_variable_samples() { return {{.inputs = {{.shape = {2, 3}}}}, {.inputs = {{.shape = {}}}}}; }
void read_variable_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                             std::vector<ReferenceTensor>& outputs) {
  outputs = inputs;
}

const OpTests kStateTests = {
    {"read_variable", {.samples = read_variable_samples, .reference = read_variable_reference}},
};

}  // namespace

}  // namespace capstan::testing
