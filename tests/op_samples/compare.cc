// Samples and references of the ops in src/ops/math/compare.cc.
#include <complex>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTest kWhereTest = [] {
  OpTest test;
  test.domain = {-2.0, 2.0};
  test.value = [](const double* x, const double*) { return x[0] != 0 ? x[1] : x[2]; };
  test.complex_value = [](const std::complex<double>* x, const double*) { return x[0] != 0.0 ? x[1] : x[2]; };
  return test;
}();

double clip(double x, double low, double high) {
  const double capped = x <= high ? x : high;
  return capped >= low ? capped : low;
}

const OpTest kClipTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {3, 4}}, {.shape = {}, .values = {-0.75}}, {.shape = {}, .values = {0.8}}}},
        {.inputs = {{.shape = {2, 3}}, {.shape = {3}, .values = {-1, 0, 0.5}}, {.shape = {2, 1}, .values = {0.6, 1}}}},
        {.inputs = {{.shape = {3}}, {.shape = {2, 3}}, {.shape = {}}}, .error = "would grow"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    ReferenceTensor out = inputs[0];
    const auto element = [&](const ReferenceTensor& bound, std::size_t i) {
      if (bound.values.size() == 1) return bound.values[0];
      const auto columns = static_cast<std::size_t>(out.shape[-1]);
      return bound.shape[-1] == 1 ? bound.values[i / columns] : bound.values[i % columns];
    };
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = clip(out.values[i], element(inputs[1], i), element(inputs[2], i));
    }
    outputs.push_back(out);
  };
  return test;
}();

const OpTests kCompareTests = {
    {"where", kWhereTest},
    {"clip_by_value", kClipTest},
};

}  // namespace

}  // namespace capstan::testing
