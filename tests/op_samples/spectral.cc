// Samples and references of the ops in src/ops/decompositions/spectral.cc.
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

std::vector<OpSample> svd_samples() {
  const std::vector<double> tall = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = tall}}},
      {.inputs = {{.shape = {2, 3}, .values = tall}}},
      {.inputs = {{.shape = {3, 2}, .values = tall}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {2, 3}, .values = tall}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {3, 2}, .values = tall}}, .attributes = {{"compute_uv", false}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {0, 2}}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, INFINITY, 3}}}, .error = "svd: matrix 0 has elements that are"},
  };
}
// From the eigenvalues of a^T a; full matrices for a difference of one between the lengths.
void svd_of(const reference::Matrix& a, bool full, std::vector<double>& s, reference::Matrix& u, reference::Matrix& v) {
  const std::int64_t m = a.rows;
  const std::int64_t n = a.columns;
  const std::int64_t k = std::min(m, n);
  if (m < n) {
    svd_of(reference::adjoint_of(a), full, s, v, u);
  } else {
    auto [squares, vectors] = reference::eigen(reference::product(reference::adjoint_of(a), a));
    v = reference::Matrix(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      s.push_back(std::sqrt(squares[static_cast<std::size_t>(n - 1 - j)]));
      for (std::int64_t i = 0; i < n; ++i) v(i, j) = vectors(i, n - 1 - j);
    }
    const reference::Matrix av = reference::product(a, v);
    u = reference::Matrix(m, full ? m : k);
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t i = 0; i < m; ++i) u(i, j) = av(i, j) / s[static_cast<std::size_t>(j)];
    }
    // The vector that is left: what a unit vector has outside of the span.
    for (std::int64_t start = 0; full && m == k + 1 && start < m; ++start) {
      double length = 0;
      for (std::int64_t i = 0; i < m; ++i) {
        u(i, k) = i == start ? 1 : 0;
        for (std::int64_t j = 0; j < k; ++j) u(i, k) -= u(i, j) * std::conj(u(start, j));
        length += std::norm(u(i, k));
      }
      for (std::int64_t i = 0; i < m; ++i) u(i, k) /= std::sqrt(length);
      if (length > 0.1) break;
    }
    if (full && k == 0) u = reference::identity(m, m);
  }
  for (std::int64_t j = 0; j < k; ++j) reference::fix_sign(u, j, &v);
  for (std::int64_t j = k; j < u.columns; ++j) reference::fix_sign(u, j);
  for (std::int64_t j = k; j < v.columns; ++j) reference::fix_sign(v, j);
}
void svd_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ComplexTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  const Shape batch = reference::batch_of(shape);
  const bool full = reference::flag(attributes, "full_matrices");
  const std::int64_t k = std::min(shape[-1], shape[-2]);
  outputs.resize(3);
  outputs[0].dtype = float64;
  outputs[0].shape = vector_shape(batch, k);
  outputs[1].shape = matrix_shape(batch, shape[-2], full ? shape[-2] : k);
  outputs[2].shape = matrix_shape(batch, shape[-1], full ? shape[-1] : k);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    std::vector<double> s;
    reference::Matrix u;
    reference::Matrix v;
    if (k == 0) {
      u = reference::identity(shape[-2], outputs[1].shape[-1]);
      v = reference::identity(shape[-1], outputs[2].shape[-1]);
    } else {
      svd_of(reference::matrix_of(inputs[0], i), full, s, u, v);
    }
    reference::append(outputs[0], s);
    reference::append(outputs[1], u.values);
    reference::append(outputs[2], v.values);
  }
  if (!reference::flag(attributes, "compute_uv", true)) outputs.resize(1);
}
std::vector<OpSample> eigh_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = {2, 0.5, -1, 0.5, -1.5, 0.7, -1, 0.7, 3}}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, 0.5, 1.5, 0.3, -1.5, -1.5, 0.7}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 99, 0.5, 1.5}}}},
      {.inputs = {{.shape = {1, 1}, .values = {-2}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
  };
}
void eigh_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                    std::vector<ComplexTensor>& outputs) {
  const Shape batch = reference::batch_of(inputs[0].shape);
  outputs.resize(2);
  outputs[0].shape = vector_shape(batch, inputs[0].shape[-1]);
  outputs[1].shape = inputs[0].shape;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    auto [values, vectors] = reference::eigen(reference::matrix_of(inputs[0], i));
    for (std::int64_t j = 0; j < vectors.columns; ++j) reference::fix_sign(vectors, j);
    reference::append(outputs[0], values);
    reference::append(outputs[1], vectors.values);
  }
}
void eigvalsh_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ComplexTensor>& outputs) {
  eigh_reference(inputs, attributes, outputs);
  outputs.resize(1);
}
// --- matrix_rank ---

std::vector<OpSample> rank_samples() {
  return {
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}}},
      {.inputs = {{.shape = {2, 2, 3}, .values = {1, 2, 3, 2, 4, 6, 1, 0, 0, 0, 1, 0}}}},
      {.inputs = {{.shape = {2, 2}, .values = {3, 0, 0, 0.01}}}, .attributes = {{"tol", 0.1}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 0, 0, 0}}}},
      {.inputs = {{.shape = {0, 2}}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
void rank_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ComplexTensor>& outputs) {
  // By elimination with complete pivots.
  const double tolerance = std::max(1e-5, reference::number(attributes, "tol", 0));
  ComplexTensor out = reference::map_to_number(inputs[0], [&](reference::Matrix a) {
    int rank = 0;
    for (; rank < std::min(a.rows, a.columns); ++rank) {
      std::int64_t row = rank;
      std::int64_t column = rank;
      for (std::int64_t i = rank; i < a.rows; ++i) {
        for (std::int64_t j = rank; j < a.columns; ++j) {
          if (std::abs(a(i, j)) <= std::abs(a(row, column))) continue;
          row = i;
          column = j;
        }
      }
      if (std::abs(a(row, column)) <= tolerance) break;
      for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a(rank, j), a(row, j));
      for (std::int64_t i = 0; i < a.rows; ++i) std::swap(a(i, rank), a(i, column));
      for (std::int64_t i = rank + 1; i < a.rows; ++i) {
        const reference::Complex factor = a(i, rank) / a(rank, rank);
        for (std::int64_t j = rank; j < a.columns; ++j) a(i, j) -= factor * a(rank, j);
      }
    }
    return reference::Complex(rank);
  });
  out.dtype = int32;
  outputs = {out};
}

const OpTests kSpectralTests = {
    {"svd",
     {.samples = svd_samples,
      .reference = reference::real_reference<svd_reference>,
      .complex_reference = svd_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"eigh",
     {.samples = eigh_samples,
      .reference = reference::real_reference<eigh_reference>,
      .complex_reference = eigh_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"eigvalsh",
     {.samples = eigh_samples,
      .reference = reference::real_reference<eigvalsh_reference>,
      .complex_reference = eigvalsh_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"matrix_rank",
     {.samples = rank_samples,
      .reference = reference::real_reference<rank_reference>,
      .complex_reference = rank_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
