// Samples and references of the ops in src/ops/math/add_n.cc.
#include <cstddef>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> add_n_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}, {.shape = {2, 3}}}},
      {.inputs = {{.shape = {2}}, {.shape = {3}}}, .error = "shapes differ, [2] and [3]"},
  };
}
void add_n_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[0]};
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    for (std::size_t i = 0; i < inputs[k].values.size(); ++i) outputs[0].values[i] += inputs[k].values[i];
  }
}

const OpTests kAddNTests = {
    {"add_n",
     {.samples = add_n_samples,
      .reference = add_n_reference,
      .dtypes = {float32, float64, bfloat16, int32, int64, complex64, complex128}}},
};

}  // namespace

}  // namespace capstan::testing
