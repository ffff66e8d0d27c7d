// Samples and references of the ops in src/ops/special/special.cc.
#include <cstdint>
#include <vector>

#include "src/ops/special/special_formula.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTest kLbetaTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 3}, .domain = {0.5, 3}}}},
        {.inputs = {{.shape = {4}, .domain = {0.5, 3}}}},
        {.inputs = {{.shape = {}}}, .error = "axis -1 is out of range for rank 0"},
        {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
         .error = "dtype int32 is not supported"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    const Shape& shape = inputs[0].shape;
    const auto length = static_cast<std::size_t>(shape[shape.rank() - 1]);
    ReferenceTensor result{inputs[0].dtype, shape.rank() == 1 ? Shape{} : Shape{shape[0]}, {}};
    for (std::size_t i = 0; i < inputs[0].values.size(); i += length) {
      double sum = 0;
      double value = 0;
      for (std::size_t k = i; k < i + length; ++k) {
        sum += inputs[0].values[k];
        value += special::lgamma(inputs[0].values[k]);
      }
      result.values.push_back(value - special::lgamma(sum));
    }
    outputs.push_back(result);
  };
  return test;
}();

const OpTests kSpecialTests = {
    {"lgamma", {.domain = {0.5, 4.0}}},
    {"digamma", {.domain = {0.5, 4.0}}},
    {"erfinv", {.domain = {-0.9, 0.9}}},
    {"erfcinv", {.domain = {0.1, 1.9}}},
    {"ndtri", {.domain = {0.1, 0.9}}},
    {"bessel_j0", {.domain = {0.25, 4.0}}},
    {"bessel_j1", {.domain = {0.25, 4.0}}},
    {"bessel_y0", {.domain = {0.5, 4.0}}},
    {"bessel_y1", {.domain = {0.5, 4.0}}},
    {"bessel_i0", {.domain = {0.25, 4.0}}},
    {"bessel_i1", {.domain = {0.25, 4.0}}},
    {"bessel_i0e", {.domain = {0.25, 4.0}}},
    {"bessel_i1e", {.domain = {0.25, 4.0}}},
    {"bessel_k0", {.domain = {0.5, 4.0}}},
    {"bessel_k1", {.domain = {0.5, 4.0}}},
    {"bessel_k0e", {.domain = {0.5, 4.0}}},
    {"bessel_k1e", {.domain = {0.5, 4.0}}},
    {"expint", {.domain = {0.5, 3.0}}},
    {"spence", {.domain = {0.2, 0.9}}},
    {"fresnel_cos", {.domain = {-1.5, 1.5}}},
    {"fresnel_sin", {.domain = {-1.5, 1.5}}},
    {"igamma", {.domain = {0.5, 3.0}}},
    {"igammac", {.domain = {0.5, 3.0}}},
    {"igamma_grad_a", {.domain = {0.5, 3.0}}},
    {"random_gamma_grad", {.domain = {0.5, 3.0}}},
    {"polygamma", {.domain = {1.0, 1.0}}},
    {"zeta", {.domain = {1.5, 4.0}}},
    {"betainc", {.domain = {0.2, 0.8}}},
    {"lbeta", kLbetaTest},
};

}  // namespace

}  // namespace capstan::testing
