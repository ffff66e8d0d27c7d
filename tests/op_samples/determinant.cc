// Samples and references of the ops in src/ops/decompositions/determinant.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

const std::vector<double> kRegular3 = {2, 0.5, -1, 0.3, -1.5, 0.7, 1.1, 0.4, 3};

std::vector<OpSample> det_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kRegular3}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {1, 1}, .values = {-2}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
reference::Complex det_of(const reference::Matrix& a) {
  reference::Complex determinant = 1;
  if (a.rows > 0) reference::solved(a, reference::Matrix(a.rows, 0), &determinant);
  return determinant;
}
void det_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&, std::vector<ComplexTensor>& outputs) {
  outputs = {reference::map_to_number(inputs[0], det_of)};
}
std::vector<OpSample> det_samples_with_singular() {
  std::vector<OpSample> samples = det_samples();
  samples.push_back({.inputs = {{.shape = {3, 3}, .values = {1, 2, 3, 2, 4, 6, 0.5, -1, 2}}}});
  return samples;
}
void slogdet_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                       std::vector<ComplexTensor>& outputs) {
  const ComplexTensor value = reference::map_to_number(inputs[0], det_of);
  outputs = {value, value};
  for (reference::Complex& x : outputs[0].values) x /= std::abs(x);
  for (reference::Complex& x : outputs[1].values) x = std::log(std::abs(x));
}
void cofactors_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                         std::vector<ComplexTensor>& outputs) {
  const std::int64_t n = inputs[0].shape[-1];
  outputs = {reference::map_matrices(inputs[0], n, n, [&](const reference::Matrix& a) {
    reference::Matrix result(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        reference::Matrix minor(n - 1, n - 1);
        for (std::int64_t k = 0; k < n - 1; ++k) {
          for (std::int64_t l = 0; l < n - 1; ++l) minor(k, l) = a(k + (k >= i ? 1 : 0), l + (l >= j ? 1 : 0));
        }
        result(i, j) = ((i + j) % 2 == 0 ? 1.0 : -1.0) * std::conj(det_of(minor));
      }
    }
    return result;
  })};
}

const OpTests kDeterminantTests = {
    {"det",
     {.samples = det_samples_with_singular,
      .reference = reference::real_reference<det_reference>,
      .complex_reference = det_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"slogdet",
     {.samples = det_samples,
      .reference = reference::real_reference<slogdet_reference>,
      .complex_reference = slogdet_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"cofactors",
     {.samples = det_samples,
      .reference = reference::real_reference<cofactors_reference>,
      .complex_reference = cofactors_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
