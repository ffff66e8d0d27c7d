#pragma once

#include <cstdint>
#include <optional>

#include "capstan/tensor.h"

namespace capstan {

// Functions of matrices: of the last two axes, for every position of the leading ones. They take float32, float64,
// complex64 and complex128, and use LAPACK, which is loaded at the first call (Debian: libopenblas0-serial); without it
// they throw an Error that names the package. DTypeError and ShapeError are thrown for other dtypes and shapes by all
// of them, ValueError for matrices beyond LAPACK's sizes: 2^24 rows or columns, 16384 for the smaller of the two.

// --- Equations ---

/// Options of solve and inv.
struct SolveOptions {
  bool adjoint = false;  ///< whether the adjoint of the matrix is meant
};
/// x with matrix x = rhs, or with the adjoint of the matrix: [..., n, n] and [..., n, k] make [..., n, k]; leading axes
/// broadcast. Errors: ValueError for a matrix that is not invertible.
///
///     solve(constant({{2.0, 0.0}, {1.0, 4.0}}), constant({{2.0}, {9.0}}));  // [[1], [2]]
CAPSTAN_EXPORT Tensor solve(Operand matrix, Operand rhs, const SolveOptions& options = {});
/// Options of triangular_solve.
struct TriangularSolveOptions {
  bool lower = true;     ///< which triangle is read
  bool adjoint = false;  ///< whether the adjoint of the triangle is meant
};
/// As solve, with the lower or the upper triangle of the matrix only; the other one is not read.
///
///     triangular_solve(constant({{2.0, 0.0}, {1.0, 4.0}}), constant({{2.0}, {9.0}}));  // [[1], [2]]
CAPSTAN_EXPORT Tensor triangular_solve(Operand matrix, Operand rhs, const TriangularSolveOptions& options = {});
/// As solve for the matrix chol chol^H, given its factor.
///
///     cholesky_solve(cholesky(a), b);
CAPSTAN_EXPORT Tensor cholesky_solve(Operand chol, Operand rhs);
/// Options of lstsq.
struct LstsqOptions {
  double l2_regularizer = 0;
  bool fast = true;
};
/// The x for which matrix x is nearest to rhs in the Euclidean norm, the smallest one if there are several:
/// [..., m, n] and [..., m, k] make [..., n, k]. The fast way solves the normal equations and takes an l2_regularizer,
/// which weighs the squares of x; the other goes by the pseudo-inverse, for any rank, and ignores it. Errors:
/// ValueError if the fast way meets a matrix that does not have full rank.
///
///     lstsq(constant({{1.0, 0.0}, {0.0, 1.0}, {0.0, 1.0}}), ones({3, 1}));  // [[1], [0.9999999]]
CAPSTAN_EXPORT Tensor lstsq(Operand matrix, Operand rhs, const LstsqOptions& options = {});
/// The inverse, or that of the adjoint. Errors: ValueError for a matrix that is not invertible.
///
///     inv(constant({{2.0, 0.0}, {0.0, 4.0}}));  // [[0.5, 0], [0, 0.25]]
CAPSTAN_EXPORT Tensor inv(Operand a, const SolveOptions& options = {});
/// The Moore-Penrose inverse, [..., m, n] to [..., n, m]. Singular values of at most rcond times the largest count as
/// zero; by default that is ten times the rounding of the larger length. Errors: ValueError for elements that are not
/// finite.
///
///     pinv(constant({{2.0, 0.0}, {0.0, 0.0}}));  // [[0.5, 0], [0, 0]]
CAPSTAN_EXPORT Tensor pinv(Operand a, std::optional<double> rcond = {});

// --- Determinants ---

/// The determinant, [..., n, n] to [...]. Gradients exist for singular matrices as well.
///
///     det(constant({{1.0, 2.0}, {3.0, 5.0}}));  // -1
CAPSTAN_EXPORT Tensor det(Operand a);
/// The logarithm of the determinant of positive definite matrices; the gradient is symmetric. Errors: as cholesky.
///
///     logdet(constant({{2.0, 0.0}, {0.0, 4.0}}));  // 2.079442
CAPSTAN_EXPORT Tensor logdet(Operand a);
/// What slogdet returns: the determinant is sign * exp(log_abs_determinant).
struct SignAndLog {
  Tensor sign;
  Tensor log_abs_determinant;
};
/// Sign and logarithm of the determinant, 0 and -inf for a singular matrix, for which there is no gradient
/// (ValueError).
///
///     slogdet(constant({{1.0, 2.0}, {3.0, 4.0}})).sign;  // -1
CAPSTAN_EXPORT SignAndLog slogdet(Operand a);
/// The matrix of cofactors, the gradient of det, hence conjugated for complex numbers; also for singular matrices. Its
/// third and higher derivatives need distinct singular values above zero.
///
///     cofactors(constant({{1.0, 2.0}, {3.0, 5.0}}));  // [[5, -3], [-2, 1]]
CAPSTAN_EXPORT Tensor cofactors(Operand a);

// --- Decompositions ---

/// The lower triangular l with a = l l^H. Reads the lower triangle of a; the gradient is that for a symmetric matrix,
/// shared by both triangles. Errors: ValueError for a matrix that is not positive definite.
///
///     cholesky(constant({{4.0, 2.0}, {2.0, 5.0}}));  // [[2, 0], [1, 2]]
CAPSTAN_EXPORT Tensor cholesky(Operand a);
/// Options of qr.
struct QrOptions {
  bool full_matrices = false;
};
/// What qr returns: a = q r.
struct QrFactors {
  Tensor q;
  Tensor r;
};
/// Orthonormal columns q and an upper triangular r: [..., m, n] makes [..., m, k] and [..., k, n] with the smaller
/// length k, or m in its place for full matrices.
///
///     qr(constant({{3.0, 1.0}, {4.0, 2.0}})).q;  // [[-0.6, -0.8], [-0.8, 0.6]]
CAPSTAN_EXPORT QrFactors qr(Operand a, const QrOptions& options = {});
/// What lu returns: row permutation[i] of a is row i of the product of the unit lower triangle of `packed` and its
/// upper triangle.
struct LuFactors {
  Tensor packed;
  Tensor permutation;
};
/// Triangular factors of square matrices, with partial pivoting; the permutation is int32. Errors: ValueError for a
/// matrix that is not invertible.
///
///     lu(constant({{0.0, 2.0}, {4.0, 6.0}})).permutation;  // [1, 0]
CAPSTAN_EXPORT LuFactors lu(Operand a);

/// What svd returns: a = u diag(s) v^H.
struct SvdFactors {
  Tensor s;
  Tensor u;
  Tensor v;
};
/// Options of svd.
struct SvdOptions {
  bool full_matrices = false;
  bool compute_uv = true;
};
/// Singular values, largest first, and vectors: [..., m, n] makes [..., k], [..., m, k] and [..., n, k] with the
/// smaller length k, or square u and v for full matrices. Without compute_uv, u and v are empty. Of each column of u
/// the first large element (at least half the largest) is positive, so the factors do not depend on the LAPACK in use.
/// Gradients through u and v leave out what equal singular values do not determine. Errors: ValueError for elements
/// that are not finite.
///
///     svd(constant({{3.0, 0.0}, {0.0, -4.0}})).s;  // [4, 3]
CAPSTAN_EXPORT SvdFactors svd(Operand a, const SvdOptions& options = {});
/// What eigh returns: a = eigenvectors diag(eigenvalues) eigenvectors^H.
struct Eigenpairs {
  Tensor eigenvalues;
  Tensor eigenvectors;
};
/// Eigenvalues of Hermitian matrices in ascending order, and vectors in columns of length one, with signs as for svd.
/// The eigenvalues have the dtype of the matrix, also where that is complex. Reads the lower triangle, which therefore
/// has the gradient, as in TensorFlow. Errors: as svd.
///
///     eigh(constant({{2.0, 1.0}, {1.0, 2.0}})).eigenvalues;  // [1, 3]
///     eigvalsh(constant({{2.0, 1.0}, {1.0, 2.0}}));  // [1, 3]
CAPSTAN_EXPORT Eigenpairs eigh(Operand a);
CAPSTAN_EXPORT Tensor eigvalsh(Operand a);
/// Eigenvalues of any square matrices, in no particular order, and vectors in columns of length one, in phase as for
/// svd: a v = v diag(w). Complex, of real matrices as well. Errors: as svd; ValueError where the gradient meets a
/// matrix that cannot be diagonalised.
///
///     eig(constant({{0.0, -1.0}, {1.0, 0.0}})).eigenvalues;  // complex64[2]
///     eigvals(constant({{0.0, -1.0}, {1.0, 0.0}}));  // complex64[2]
CAPSTAN_EXPORT Eigenpairs eig(Operand a);
CAPSTAN_EXPORT Tensor eigvals(Operand a);
/// The number of singular values above a tolerance, as int32; by default the rounding of the larger length times the
/// largest singular value. Not differentiable.
///
///     matrix_rank(constant({{1.0, 2.0}, {2.0, 4.0}}));  // 1
CAPSTAN_EXPORT Tensor matrix_rank(Operand a, std::optional<double> tolerance = {});

// --- Functions ---

/// The exponential of square matrices, I + a + a a / 2 + ...
///
///     expm(constant({{0.0, 1.0}, {0.0, 0.0}}));  // [[1, 1], [0, 1]]
CAPSTAN_EXPORT Tensor expm(Operand a);
/// The principal square root and the principal logarithm of square matrices: their eigenvalues have a positive real
/// part, and imaginary parts from -pi to pi. Those of a real matrix are real, or a ValueError: cast it to a complex
/// dtype. Errors: ValueError for singular matrices, and for elements that are not finite.
///
///     sqrtm(constant({{4.0, 0.0}, {0.0, 9.0}}));  // [[2, 0], [0, 3]]
///     logm(cast(eye(2), complex64));  // complex64[2, 2]
CAPSTAN_EXPORT Tensor sqrtm(Operand a);
CAPSTAN_EXPORT Tensor logm(Operand a);

}  // namespace capstan
