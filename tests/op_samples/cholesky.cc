// Samples and references of the ops in src/ops/decompositions/cholesky.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

const std::vector<double> kPositive2 = {4, 1, 1, 3};
const std::vector<double> kPositive3 = {4, 1, -0.5, 1, 3, 0.7, -0.5, 0.7, 2};

std::vector<OpSample> cholesky_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kPositive3}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {4, 1, 1, 3, 2, -0.5, -0.5, 1}}}},
      {.inputs = {{.shape = {1, 1}, .values = {2.25}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 1}}},
       .error = "cholesky: the matrix is not positive definite: its leading minor of order 2"},
      {.inputs = {{.shape = {2, 2, 2}, .values = {4, 1, 1, 3, 0, 0, 0, 0}}}, .error = "matrix 1 is not positive"},
      {.inputs = {{.shape = {2, 2}, .values = {NAN, 2, 2, 1}}}, .error = "is not positive definite"},
      {.inputs = {{.shape = {2, 3}}}, .error = "cholesky: takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {3}}}, .error = "cholesky: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {0, 1 << 25}}}, .error = "cholesky: matrices of 0 by 33554432 are too large"},
      {.inputs = {{.shape = {2, 2}, .dtype = int32, .differentiable = false}}, .error = "dtype int32 is not supported"},
  };
}
reference::Matrix cholesky_of(const reference::Matrix& a) {
  reference::Matrix l(a.rows, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      reference::Complex sum = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= l(i, k) * std::conj(l(j, k));
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return l;
}
void cholesky_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                        std::vector<ComplexTensor>& outputs) {
  outputs = {reference::map_matrices(inputs[0], inputs[0].shape[-2], inputs[0].shape[-1], cholesky_of)};
}
std::vector<OpSample> cholesky_solve_samples() {
  const std::vector<double> factor = {2, 0, 0, 0.5, 1.5, 0, -0.3, 0.4, 1.2};
  return {
      {.inputs = {{.shape = {3, 3}, .values = factor}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 0, 0.5, 1.5}}, {.shape = {3, 2, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 0, 0.5, 1.5}}, {.shape = {3, 1}}}, .error = "2 rows and 3"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 1}}}, .error = "takes square matrices, not 2 by 3"},
  };
}
void cholesky_solve_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                              std::vector<ComplexTensor>& outputs) {
  outputs = {
      reference::map_matrices(inputs[1], inputs[1].shape[-2], inputs[1].shape[-1], [&](const reference::Matrix& b) {
        const reference::Matrix l = reference::matrix_of(inputs[0], 0);
        return reference::solved(reference::product(l, reference::adjoint_of(l)), b);
      })};
}
std::vector<OpSample> logdet_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kPositive3}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {4, 1, 1, 3, 2, -0.5, -0.5, 1}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 1}}}, .error = "the matrix is not positive definite"},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
  };
}
void logdet_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                      std::vector<ComplexTensor>& outputs) {
  outputs = {reference::map_to_number(inputs[0], [](const reference::Matrix& a) {
    const reference::Matrix l = cholesky_of(a);
    double sum = 0;
    for (std::int64_t i = 0; i < l.rows; ++i) sum += 2 * std::log(l(i, i).real());
    return reference::Complex(sum);
  })};
  outputs[0].dtype = float64;
}

const OpTests kCholeskyTests = {
    {"cholesky",
     {.samples = cholesky_samples,
      .reference = reference::real_reference<cholesky_reference>,
      .complex_reference = cholesky_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"cholesky_solve",
     {.samples = cholesky_solve_samples,
      .reference = reference::real_reference<cholesky_solve_reference>,
      .complex_reference = cholesky_solve_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"logdet",
     {.samples = logdet_samples,
      .reference = reference::real_reference<logdet_reference>,
      .complex_reference = logdet_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
