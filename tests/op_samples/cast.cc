// Samples and references of the ops in src/ops/math/cast.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

void same_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  outputs.push_back(inputs[0]);
}

std::vector<OpSample> same_samples() {
  return {{.inputs = {{.shape = {2, 3}}}}, {.inputs = {{.shape = {}}}}, {.inputs = {{.shape = {0, 2}}}}};
}

const OpTest kCastTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 3}}}, .attributes = {{"dtype", "float64"}}},
        {.inputs = {{.shape = {4}}}, .attributes = {{"dtype", "float64"}}},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    outputs.push_back(inputs[0]);
    outputs[0].dtype = DType::kFloat64;
  };
  return test;
}();

const OpTest kSaturateTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2}, .values = {1.5, -1.5}}}, .attributes = {{"dtype", "float64"}}}};
  };
  test.reference = kCastTest.reference;
  return test;
}();

const OpTest kSameTest = [] {
  OpTest test;
  test.samples = &same_samples;
  test.reference = &same_reference;
  return test;
}();

const OpTests kCastTests = {
    {"cast", kCastTest},
    {"saturate_cast", kSaturateTest},
    {"identity", kSameTest},
    {"stop_gradient", kSameTest},
};

}  // namespace

}  // namespace capstan::testing
