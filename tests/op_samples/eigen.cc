// Samples and references of the ops in src/ops/decompositions/eigen.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "src/ops/decompositions/matrices.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

// Of triangular matrices, whose eigenvalues LAPACK finds in the order of the diagonal.
std::vector<OpSample> eig_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = {2, 0.5, -1, 0, -1.5, 0.7, 0, 0, 3}}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, 0, 1.5, 0.3, -1.5, 0, 0.7}}}},
      {.inputs = {{.shape = {1, 1}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
      {.inputs = {{.shape = {2, 2}, .dtype = int32, .differentiable = false}}, .error = "dtype int32 is not supported"},
  };
}
void eig_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&, std::vector<ComplexTensor>& outputs) {
  const Shape batch = reference::batch_of(inputs[0].shape);
  const std::int64_t n = inputs[0].shape[-1];
  outputs.resize(2);
  outputs[0].shape = vector_shape(batch, n);
  outputs[1].shape = inputs[0].shape;
  for (std::int64_t index = 0; index < batch.size(); ++index) {
    const reference::Matrix a = reference::matrix_of(inputs[0], index);
    reference::Matrix v = reference::identity(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      outputs[0].values.push_back(a(j, j));
      double length = 1;
      for (std::int64_t i = j - 1; i >= 0; --i) {
        reference::Complex sum = 0;
        for (std::int64_t k = i + 1; k <= j; ++k) sum += a(i, k) * v(k, j);
        v(i, j) = sum / (a(j, j) - a(i, i));
        length += std::norm(v(i, j));
      }
      for (std::int64_t i = 0; i <= j; ++i) v(i, j) /= std::sqrt(length);
      reference::fix_sign(v, j);
    }
    reference::append(outputs[1], v.values);
  }
}
void eigvals_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ComplexTensor>& outputs) {
  eig_reference(inputs, attributes, outputs);
  outputs.resize(1);
}

const OpTests kEigenTests = {
    {"eig", {.samples = eig_samples, .complex_reference = eig_reference, .dtypes = {complex64, complex128}}},
    {"eigvals", {.samples = eig_samples, .complex_reference = eigvals_reference, .dtypes = {complex64, complex128}}},
};

}  // namespace

}  // namespace capstan::testing
