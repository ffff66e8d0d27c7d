// Help for the slow references of ops on matrices: textbook algorithms in complex128, by rows.
//
// A reference is written once, for complex numbers; real_reference makes the one for real numbers of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <utility>
#include <vector>

#include "tests/op_samples/reference.h"

namespace capstan::testing::reference {

using Complex = std::complex<double>;

// One matrix of a reference computation.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Complex> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c), 0.0) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  Complex operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

inline Matrix identity(std::int64_t rows, std::int64_t columns) {
  Matrix result(rows, columns);
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) result(i, i) = 1;
  return result;
}

inline Matrix adjoint_of(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = std::conj(a(i, j));
  }
  return result;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t k = 0; k < a.columns; ++k) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

// a x = b by Gaussian elimination; the determinant as well.
inline Matrix solved(Matrix a, Matrix b, Complex* determinant = nullptr) {
  const std::int64_t n = a.rows;
  Complex product_of_pivots = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k; i < n; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    }
    if (best != k) product_of_pivots = -product_of_pivots;
    for (std::int64_t j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
    for (std::int64_t j = 0; j < b.columns; ++j) std::swap(b(k, j), b(best, j));
    product_of_pivots *= a(k, k);
    if (a(k, k) == 0.0) break;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const Complex factor = a(i, k) / a(k, k);
      for (std::int64_t j = 0; j < n; ++j) a(i, j) -= factor * a(k, j);
      for (std::int64_t j = 0; j < b.columns; ++j) b(i, j) -= factor * b(k, j);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) b(i, j) /= a(i, i);
  }
  if (determinant != nullptr) *determinant = product_of_pivots;
  return b;
}

// Eigenvalues in ascending order and vectors of a real symmetric matrix by rotations (Jacobi).
inline std::pair<std::vector<double>, std::vector<std::vector<double>>> rotated(std::vector<std::vector<double>> a) {
  const std::size_t n = a.size();
  std::vector<std::vector<double>> v(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) v[i][i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1);
        const double s = t * c;
        const auto turn = [&](double& x, double& y) {
          const double before = x;
          x = c * x - s * y;
          y = s * before + c * y;
        };
        for (std::size_t k = 0; k < n; ++k) turn(a[k][p], a[k][q]);
        for (std::size_t k = 0; k < n; ++k) turn(a[p][k], a[q][k]);
        for (std::size_t k = 0; k < n; ++k) turn(v[k][p], v[k][q]);
      }
    }
  }
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return a[i][i] < a[j][j]; });
  std::vector<double> values;
  std::vector<std::vector<double>> vectors(n, std::vector<double>(n, 0.0));
  for (std::size_t j = 0; j < n; ++j) {
    values.push_back(a[order[j]][order[j]]);
    for (std::size_t i = 0; i < n; ++i) vectors[i][j] = v[i][order[j]];
  }
  return {values, vectors};
}

// The same for a Hermitian matrix with distinct eigenvalues, of which the lower triangle is read. As a real matrix of
// twice the size it has every value twice; vectors of a pair differ by a phase only.
inline std::pair<std::vector<double>, Matrix> eigen(const Matrix& a) {
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<std::vector<double>> both(2 * n, std::vector<double>(2 * n, 0.0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto row = static_cast<std::int64_t>(std::max(i, j));
      const auto column = static_cast<std::int64_t>(std::min(i, j));
      const double real = a(row, column).real();
      const double imag = i == j ? 0 : (i > j ? 1 : -1) * a(row, column).imag();
      both[i][j] = both[n + i][n + j] = real;
      both[n + i][j] = imag;
      both[i][n + j] = -imag;
    }
  }
  const auto [values, vectors] = rotated(both);
  std::vector<double> half;
  Matrix v(a.rows, a.rows);
  for (std::size_t j = 0; j < n; ++j) {
    half.push_back(values[2 * j]);
    for (std::size_t i = 0; i < n; ++i) {
      v(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) = {vectors[i][2 * j], vectors[n + i][2 * j]};
    }
    double length = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) length += std::norm(v(i, static_cast<std::int64_t>(j)));
    for (std::int64_t i = 0; i < a.rows; ++i) v(i, static_cast<std::int64_t>(j)) /= std::sqrt(length);
  }
  return {half, v};
}

// Brings a column into the form of src/kernels/decompositions/spectral.h; by the same factor the column of `partner` if
// there is one.
inline void fix_sign(Matrix& a, std::int64_t column, Matrix* partner = nullptr) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) largest = std::max(largest, std::abs(a(i, column)));
  std::int64_t first = 0;
  while (first + 1 < a.rows && std::abs(a(first, column)) < largest / 2) ++first;
  if (largest == 0) return;
  const Complex factor = std::conj(a(first, column)) / std::abs(a(first, column));
  for (std::int64_t i = 0; i < a.rows; ++i) a(i, column) *= factor;
  for (std::int64_t i = 0; partner != nullptr && i < partner->rows; ++i) (*partner)(i, column) *= factor;
}

// Matrix number `index` of a batch; a batch of one stands for any.
inline Matrix matrix_of(const ComplexTensor& x, std::int64_t index) {
  Matrix matrix(x.shape[-2], x.shape[-1]);
  const std::size_t size = matrix.values.size();
  const std::size_t count = size == 0 ? 0 : x.values.size() / size;
  if (count == 0) return matrix;
  const std::size_t start = (static_cast<std::size_t>(index) % count) * size;
  std::copy_n(x.values.begin() + static_cast<std::ptrdiff_t>(start), size, matrix.values.begin());
  return matrix;
}

inline Shape batch_of(const Shape& shape) {
  return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 2)));
}

// Appends what is computed for one matrix to a batch of results, whose shape is set at the end.
template <class Values>
inline void append(ComplexTensor& out, const Values& values) {
  out.values.insert(out.values.end(), values.begin(), values.end());
}

// The reference of an op from one batch of matrices to another of matrices [rows, columns].
inline ComplexTensor map_matrices(const ComplexTensor& x, std::int64_t rows, std::int64_t columns,
                                  const std::function<Matrix(const Matrix&)>& f) {
  ComplexTensor out;
  out.shape = batch_of(x.shape);
  for (std::int64_t i = 0; i < batch_of(x.shape).size(); ++i) append(out, f(matrix_of(x, i)).values);
  out.shape.push_back(rows);
  out.shape.push_back(columns);
  return out;
}

// The same from matrices to one number each.
inline ComplexTensor map_to_number(const ComplexTensor& x, const std::function<Complex(const Matrix&)>& f) {
  ComplexTensor out;
  out.shape = batch_of(x.shape);
  for (std::int64_t i = 0; i < out.shape.size(); ++i) out.values.push_back(f(matrix_of(x, i)));
  return out;
}

// The reference over real numbers.
template <void (*F)(const std::vector<ComplexTensor>&, const AttributeMap&, std::vector<ComplexTensor>&)>
void real_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  std::vector<ComplexTensor> wide;
  for (const ReferenceTensor& input : inputs) {
    wide.push_back({DType::kComplex128, input.shape, {input.values.begin(), input.values.end()}});
  }
  std::vector<ComplexTensor> results;
  F(wide, attributes, results);
  for (const ComplexTensor& result : results) {
    ReferenceTensor output{result.dtype == DType::kComplex128 ? DType::kFloat64 : result.dtype, result.shape, {}};
    for (const Complex& value : result.values) output.values.push_back(value.real());
    outputs.push_back(std::move(output));
  }
}

inline const std::vector<DType> kMatrixDTypes = {DType::kFloat32, DType::kFloat64, DType::kComplex64,
                                                 DType::kComplex128};

inline bool flag(const AttributeMap& attributes, std::string_view name, bool fallback = false) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? fallback : found->second.truth;
}

}  // namespace capstan::testing::reference
