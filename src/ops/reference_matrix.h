// Help for the slow references of ops on matrices: textbook algorithms in float64, by rows.
#pragma once

#if CAPSTAN_TESTING

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "src/ops/reference.h"

namespace capstan::reference {

// One matrix of a reference computation.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c), 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

inline Matrix identity(std::int64_t rows, std::int64_t columns) {
  Matrix result(rows, columns);
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) result(i, i) = 1;
  return result;
}

inline Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
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
inline Matrix solved(Matrix a, Matrix b, double* determinant = nullptr) {
  const std::int64_t n = a.rows;
  double product_of_pivots = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k; i < n; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    }
    if (best != k) product_of_pivots = -product_of_pivots;
    for (std::int64_t j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
    for (std::int64_t j = 0; j < b.columns; ++j) std::swap(b(k, j), b(best, j));
    product_of_pivots *= a(k, k);
    if (a(k, k) == 0) break;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a(i, k) / a(k, k);
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

// Eigenvalues in ascending order and vectors of a symmetric matrix, of which the lower triangle is read, by rotations
// (Jacobi).
inline std::pair<std::vector<double>, Matrix> eigen(Matrix a) {
  const std::int64_t n = a.rows;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) a(i, j) = a(j, i);
  }
  Matrix v = identity(n, n);
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1);
        const double s = t * c;
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = a(k, p);
          const double y = a(k, q);
          a(k, p) = c * x - s * y;
          a(k, q) = s * x + c * y;
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = a(p, k);
          const double y = a(q, k);
          a(p, k) = c * x - s * y;
          a(q, k) = s * x + c * y;
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = v(k, p);
          const double y = v(k, q);
          v(k, p) = c * x - s * y;
          v(k, q) = s * x + c * y;
        }
      }
    }
  }
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return a(i, i) < a(j, j); });
  std::vector<double> values;
  Matrix vectors(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    values.push_back(a(from, from));
    for (std::int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, from);
  }
  return {values, vectors};
}

// Brings a column into the form of src/kernels/spectral.h; the same sign for the column of `partner` if there is one.
inline void fix_sign(Matrix& a, std::int64_t column, Matrix* partner = nullptr) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) largest = std::max(largest, std::abs(a(i, column)));
  std::int64_t first = 0;
  while (first + 1 < a.rows && std::abs(a(first, column)) < largest / 2) ++first;
  if (a.rows == 0 || a(first, column) >= 0) return;
  for (std::int64_t i = 0; i < a.rows; ++i) a(i, column) = -a(i, column);
  for (std::int64_t i = 0; partner != nullptr && i < partner->rows; ++i) (*partner)(i, column) = -(*partner)(i, column);
}

// Matrix number `index` of a batch; a batch of one stands for any.
inline Matrix matrix_of(const ReferenceTensor& x, std::int64_t index) {
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
inline void append(ReferenceTensor& out, const std::vector<double>& values) {
  out.values.insert(out.values.end(), values.begin(), values.end());
}

// The reference of an op from one batch of matrices to another of matrices [rows, columns].
inline ReferenceTensor map_matrices(const ReferenceTensor& x, std::int64_t rows, std::int64_t columns,
                                    const std::function<Matrix(const Matrix&)>& f) {
  ReferenceTensor out;
  out.shape = batch_of(x.shape);
  for (std::int64_t i = 0; i < batch_of(x.shape).size(); ++i) append(out, f(matrix_of(x, i)).values);
  out.shape.push_back(rows);
  out.shape.push_back(columns);
  return out;
}

// The same from matrices to one number each.
inline ReferenceTensor map_to_number(const ReferenceTensor& x, const std::function<double(const Matrix&)>& f) {
  ReferenceTensor out;
  out.shape = batch_of(x.shape);
  for (std::int64_t i = 0; i < out.shape.size(); ++i) out.values.push_back(f(matrix_of(x, i)));
  return out;
}

inline bool flag(const AttributeMap& attributes, std::string_view name, bool fallback = false) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? fallback : found->second.truth;
}

}  // namespace capstan::reference

#endif  // CAPSTAN_TESTING
