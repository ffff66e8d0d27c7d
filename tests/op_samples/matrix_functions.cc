// Samples and references of the ops in src/ops/decompositions/matrix_functions.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> expm_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .domain = {-1, 1}}}},
      {.inputs = {{.shape = {2, 2, 2}, .domain = {-1, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 3, -8, 0.5}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 0, 0, 0}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
// The power series of a / 1024, squared ten times.
reference::Matrix expm_of(const reference::Matrix& a) {
  reference::Matrix x = a;
  for (reference::Complex& value : x.values) value /= 1024;
  reference::Matrix sum = reference::identity(a.rows, a.rows);
  reference::Matrix term = sum;
  for (int k = 1; k < 12; ++k) {
    term = reference::product(term, x);
    for (reference::Complex& value : term.values) value /= k;
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
  }
  for (int k = 0; k < 10; ++k) sum = reference::product(sum, sum);
  return sum;
}
void expm_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                    std::vector<ComplexTensor>& outputs) {
  const std::int64_t n = inputs[0].shape[-1];
  outputs = {reference::map_matrices(inputs[0], n, n, expm_of)};
}
std::vector<OpSample> root_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = {3, 0.5, -1, 0.3, 2, 0.7, 0.4, 0.2, 1.5}}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 1, -2, 2, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 1, 0, 2}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 1, 0, 0}}},
       .error = "is not defined for the matrix, which is singular"},
      {.inputs = {{.shape = {2, 2}, .values = {-1, 0, 0, 1}}}, .error = "the matrix is real, but the result is not"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "the matrix has elements that are not finite"},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
  };
}
// Denman and Beavers' iteration: means of a matrix and the inverse of another.
reference::Matrix sqrtm_of(const reference::Matrix& a) {
  reference::Matrix y = a;
  reference::Matrix z = reference::identity(a.rows, a.rows);
  for (int k = 0; k < 30; ++k) {
    const reference::Matrix y_inverse = reference::solved(y, reference::identity(a.rows, a.rows));
    const reference::Matrix z_inverse = reference::solved(z, reference::identity(a.rows, a.rows));
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = (y.values[i] + z_inverse.values[i]) / 2.0;
      z.values[i] = (z.values[i] + y_inverse.values[i]) / 2.0;
    }
  }
  return y;
}
void sqrtm_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                     std::vector<ComplexTensor>& outputs) {
  const std::int64_t n = inputs[0].shape[-1];
  outputs = {reference::map_matrices(inputs[0], n, n, sqrtm_of)};
}
// Of a root near the identity by its power series.
reference::Matrix logm_of(const reference::Matrix& a) {
  reference::Matrix x = a;
  for (int k = 0; k < 8; ++k) x = sqrtm_of(x);
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, i) -= 1;
  reference::Matrix sum(a.rows, a.rows);
  reference::Matrix power = reference::identity(a.rows, a.rows);
  for (int k = 1; k < 20; ++k) {
    power = reference::product(power, x);
    for (std::size_t i = 0; i < sum.values.size(); ++i)
      sum.values[i] += (k % 2 == 1 ? 256.0 : -256.0) / k * power.values[i];
  }
  return sum;
}
void logm_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                    std::vector<ComplexTensor>& outputs) {
  const std::int64_t n = inputs[0].shape[-1];
  outputs = {reference::map_matrices(inputs[0], n, n, logm_of)};
}

const OpTests kMatrixFunctionsTests = {
    {"expm",
     {.samples = expm_samples,
      .reference = reference::real_reference<expm_reference>,
      .complex_reference = expm_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"sqrtm",
     {.samples = root_samples,
      .reference = reference::real_reference<sqrtm_reference>,
      .complex_reference = sqrtm_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"logm",
     {.samples = root_samples,
      .reference = reference::real_reference<logm_reference>,
      .complex_reference = logm_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
