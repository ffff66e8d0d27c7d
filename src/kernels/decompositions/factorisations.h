// Triangular factors of matrices, and what is solved with them.
//
// Matrices are stored by rows. Every function works on one matrix with the calling thread and may run
// on several threads at a time. All but triangular_solve, which needs no more than a check of its own,
// return 0, or a positive number if the matrix is singular or not positive definite: the number of the
// pivot, counted from 1; then the results are undefined. Elements that are not finite give such a
// number or spread to the results; inverses and solutions for such a matrix are NaN, because how far
// infinities spread in LAPACK depends on where the matrix lies.
//
// T is float, double, or a complex number of these. Accuracy is that of LAPACK: backward stable.
#pragma once

#include <cstdint>

#include "src/kernels/decompositions/lapack.h"

namespace capstan {

// The lower triangular l with a = l l^H, zeros above. Reads the lower triangle of a[n, n] only.
template <class T>
int cholesky(const Lapack& lapack, std::int64_t n, const T* a, T* l);

// a[n, n] with its rows in the order of the permutation is l u: the unit lower l below the diagonal of
// `packed`, u on and above it. packed must not overlap a.
template <class T>
int lu(const Lapack& lapack, std::int64_t n, const T* a, T* packed, std::int32_t* permutation);

// a x = b, or a^H x = b if `adjoint`: a[n, n], b[n, columns], x[n, columns].
template <class T>
int solve(const Lapack& lapack, std::int64_t n, std::int64_t columns, bool adjoint, const T* a, const T* b, T* x);

// The inverse of a[n, n], or of a^H.
template <class T>
int inverse(const Lapack& lapack, std::int64_t n, bool adjoint, const T* a, T* out);

// As solve, with the lower or upper triangle of a only; x holds b. Returns the number of a zero on the
// diagonal, counted from 1.
template <class T>
int triangular_solve(const Lapack& lapack, std::int64_t n, std::int64_t columns, bool lower, bool adjoint, const T* a,
                     T* x);

// The determinant of a[n, n]: its value, and as sign * exp(log). A singular matrix has 0, 0 and -inf.
template <class T>
struct Determinant {
  T value;
  T sign;
  RealOf<T> log;
};
template <class T>
Determinant<T> determinant(const Lapack& lapack, std::int64_t n, const T* a);

// a[m, n] = q r with orthonormal columns in q and an upper triangular r: q[m, k] and r[k, n] for the
// smaller length k, or q[m, m] and r[m, n] if `full`.
template <class T>
void qr(const Lapack& lapack, std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r);

}  // namespace capstan
