// What the ops on matrices share: checks of shapes, and the loop over a batch.
//
// The last two axes of a tensor are matrices, all axes before them a batch. Matrices of a batch are
// worked on side by side by the pool, each by one thread, so results do not depend on their number.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>

#include "capstan/ops/decompositions.h"
#include "capstan/ops/diagonals.h"
#include "capstan/ops/linalg.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/decompositions/lapack.h"
#include "src/kernels/decompositions/spectral.h"

namespace capstan {

// A tensor as a batch of matrices.
struct Matrices {
  Shape batch;
  std::int64_t count = 1;  // of matrices
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Both throw for a tensor that is no batch of matrices: ShapeError in the name of the op. `matrices_of` takes
// any dtype; the others take those that LAPACK works on, and check that sizes stay far from the end of its
// 32-bit integers.
Matrices matrices_of(std::string_view op, const TensorRef& x);
Matrices factorable(std::string_view op, const TensorRef& x);
Matrices square_matrices(std::string_view op, const TensorRef& x);

// The rule of ops that make a matrix from each square matrix of their operand.
void infer_square(const Call& call, OutputSpecs& outputs);

// The shape of a batch of matrices, or of vectors.
Shape matrix_shape(const Shape& batch, std::int64_t rows, std::int64_t columns);
Shape vector_shape(const Shape& batch, std::int64_t length);

// LAPACK, or an error in the name of the op that names the package.
const Lapack& need_lapack(std::string_view op);

// What went wrong with the first matrix with which something did.
struct MatrixFailure {
  std::int64_t matrix = -1;
  int code = 0;
  explicit operator bool() const { return matrix >= 0; }
};

// Calls code = body(context, i) for each matrix, on the pool where `work` (roughly the multiplications for
// one matrix) is worth it. A code other than 0 is a failure. Throws std::bad_alloc if memory for work runs out.
MatrixFailure for_each_matrix(std::int64_t count, double work, int (*body)(void* context, std::int64_t i),
                              void* context);

template <class Body>
MatrixFailure for_each_matrix(std::int64_t count, double work, const Body& body) {
  return for_each_matrix(
      count, work, [](void* context, std::int64_t i) { return int{(*static_cast<const Body*>(context))(i)}; },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Throws unless a decomposition ended well; the failure's code is a Spectral.
void check_spectral(std::string_view op, const MatrixFailure& failure);

// " of matrix 3", or nothing where there is one only.
std::string which_matrix(const MatrixFailure& failure, const Matrices& matrices);

// Calls run(T{}) for the dtype of matrices that have passed `factorable`.
template <class Run>
void with_matrix_type(DType dtype, const Run& run) {
  switch (dtype) {
    case DType::kFloat32:
      return run(float{});
    case DType::kFloat64:
      return run(double{});
    case DType::kComplex64:
      return run(std::complex<float>{});
    default:
      return run(std::complex<double>{});
  }
}

// The first `count` columns of matrices, or those after them.
Tensor first_columns(const Tensor& x, std::int64_t count);
Tensor columns_after(const Tensor& x, std::int64_t count);
// The first `count` rows.
Tensor first_rows(const Tensor& x, std::int64_t count);

// A real tensor in the dtype of another one, which may be complex.
Tensor as_dtype_of(const Tensor& x, const Tensor& like);

// What a scale of rows or columns by a vector [..., n] multiplies with: [..., n, 1] and [..., 1, n].
Tensor as_column(const Tensor& vector);
Tensor as_row(const Tensor& vector);

// The part of a square matrix that a Hermitian matrix of the same quadratic form has: (x + x^H) / 2.
Tensor hermitian_part(const Tensor& x);

// 1 / (values[j] - values[i]) at [..., i, j], and 0 where they are equal: what the gradients of vectors
// divide by. Vectors of equal values are not determined, and neither is their gradient; the part of it
// that is determined is kept.
Tensor reciprocal_gaps(const Tensor& values);

}  // namespace capstan
