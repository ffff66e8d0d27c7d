// Samples and references of the ops in src/ops/decompositions/decompositions.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/ops/decompositions/matrices.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> qr_samples() {
  const std::vector<double> values = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = values}}},
      {.inputs = {{.shape = {2, 3}, .values = values}}},
      {.inputs = {{.shape = {3, 2}, .values = values}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {2, 3}, .values = values}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 0}}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {0, 1 << 25}}}, .error = "qr: matrices of 0 by 33554432 are too large"},
  };
}
// By Householder's reflections, which make the diagonal of r real and opposite to what stood there.
void qr_of(reference::Matrix a, std::int64_t width, reference::Matrix& q, reference::Matrix& r) {
  const std::int64_t m = a.rows;
  q = reference::identity(m, m);
  for (std::int64_t k = 0; k < std::min(m, a.columns); ++k) {
    double below = 0;
    for (std::int64_t i = k + 1; i < m; ++i) below += std::norm(a(i, k));
    const reference::Complex alpha = a(k, k);
    if (below == 0 && alpha.imag() == 0) continue;
    const double length = std::sqrt(below + std::norm(alpha));
    const double beta = alpha.real() < 0 ? length : -length;
    const reference::Complex tau((beta - alpha.real()) / beta, -alpha.imag() / beta);
    std::vector<reference::Complex> v(static_cast<std::size_t>(m), 0.0);
    v[static_cast<std::size_t>(k)] = 1;
    for (std::int64_t i = k + 1; i < m; ++i) v[static_cast<std::size_t>(i)] = a(i, k) / (alpha - beta);
    const auto reflect = [&](reference::Matrix& b) {
      for (std::int64_t j = 0; j < b.columns; ++j) {
        reference::Complex dot = 0;
        for (std::int64_t i = 0; i < m; ++i) dot += std::conj(v[static_cast<std::size_t>(i)]) * b(i, j);
        for (std::int64_t i = 0; i < m; ++i) b(i, j) -= std::conj(tau) * dot * v[static_cast<std::size_t>(i)];
      }
    };
    reflect(a);
    reflect(q);
  }
  const reference::Matrix turned = reference::adjoint_of(q);
  q = reference::Matrix(m, width);
  r = reference::Matrix(width, a.columns);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < width; ++j) q(i, j) = turned(i, j);
  }
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = i; j < a.columns; ++j) r(i, j) = a(i, j);
  }
}
void qr_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                  std::vector<ComplexTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  const Shape batch = reference::batch_of(shape);
  const std::int64_t k = reference::flag(attributes, "full_matrices") ? shape[-2] : std::min(shape[-2], shape[-1]);
  outputs.resize(2);
  outputs[0].shape = matrix_shape(batch, shape[-2], k);
  outputs[1].shape = matrix_shape(batch, k, shape[-1]);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    reference::Matrix q;
    reference::Matrix r;
    qr_of(reference::matrix_of(inputs[0], i), k, q, r);
    reference::append(outputs[0], q.values);
    reference::append(outputs[1], r.values);
  }
}
std::vector<OpSample> lu_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = {0.3, -1.5, 0.7, 2, 0.5, -1, 1.1, 0.4, 3}}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}}, .error = "lu: the matrix is not invertible"},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
  };
}
void lu_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&, std::vector<ComplexTensor>& outputs) {
  const Shape batch = reference::batch_of(inputs[0].shape);
  const std::int64_t n = inputs[0].shape[-1];
  outputs.resize(2);
  outputs[0].shape = inputs[0].shape;
  outputs[1].shape = vector_shape(batch, n);
  outputs[1].dtype = int32;
  for (std::int64_t index = 0; index < batch.size(); ++index) {
    reference::Matrix a = reference::matrix_of(inputs[0], index);
    std::vector<double> permutation;
    for (std::int64_t i = 0; i < n; ++i) permutation.push_back(static_cast<double>(i));
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t best = k;
      for (std::int64_t i = k; i < n; ++i) {
        if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
      }
      std::swap(permutation[static_cast<std::size_t>(k)], permutation[static_cast<std::size_t>(best)]);
      for (std::int64_t j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
      for (std::int64_t i = k + 1; i < n; ++i) {
        a(i, k) /= a(k, k);
        for (std::int64_t j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
      }
    }
    reference::append(outputs[0], a.values);
    reference::append(outputs[1], permutation);
  }
}

const OpTests kDecompositionsTests = {
    {"qr",
     {.samples = qr_samples,
      .reference = reference::real_reference<qr_reference>,
      .complex_reference = qr_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"lu",
     {.samples = lu_samples,
      .reference = reference::real_reference<lu_reference>,
      .complex_reference = lu_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
