// Singular values and eigenvalues of matrices.
//
// Matrices are stored by rows; see factorisations.h for what holds of all of these. Elements that are
// not finite are found before LAPACK sees them, because its iterations need not end for them.
//
// Vectors are unique up to a factor of magnitude one, and which one LAPACK gives depends on its build.
// So they are brought into one form: of the elements of a vector whose magnitude is at least half of the
// largest, the first is positive. (The largest itself would do, but its place hangs on the last bit
// where two are equal.) For singular values this holds of the columns of u, and of those of v that have
// no counterpart.
#pragma once

#include <cstdint>

#include "src/kernels/decompositions/lapack.h"

namespace capstan {

// How a decomposition ended.
enum class Spectral : std::uint8_t { kDone, kNotFinite, kNoConvergence };

// a[m, n] = u diag(s) v^H with s[k] in descending order, k the smaller length: u[m, k] and v[n, k], or
// u[m, m] and v[n, n] if `full`. If u is null only s is computed.
template <class T>
Spectral svd(const Lapack& lapack, std::int64_t m, std::int64_t n, bool full, const T* a, RealOf<T>* s, T* u, T* v);

// a[n, n] = v diag(w) v^H for a Hermitian a, of which the lower triangle is read: w ascending, vectors in
// the columns of v. If v is null only w is computed.
template <class T>
Spectral eigh(const Lapack& lapack, std::int64_t n, const T* a, RealOf<T>* w, T* v);

// a[n, n] v = v diag(w) with columns of length one, in LAPACK's order. If v is null only w is computed.
// T is complex.
template <class T>
Spectral eig(const Lapack& lapack, std::int64_t n, const T* a, T* w, T* v);

// a[n, n] = u t u^H with a unitary u and an upper triangular t. T is complex.
template <class T>
Spectral schur(const Lapack& lapack, std::int64_t n, const T* a, T* t, T* u);

// The matrix of cofactors of a[n, n]: det(a) a^-H where that exists, and its limit elsewhere. NaN if an
// element is not finite.
template <class T>
void cofactors(const Lapack& lapack, std::int64_t n, const T* a, T* out);

// The Moore-Penrose inverse out[n, m] of a[m, n]; singular values of at most rcond times the largest
// count as zero.
template <class T>
Spectral pseudo_inverse(const Lapack& lapack, std::int64_t m, std::int64_t n, double rcond, const T* a, T* out);

}  // namespace capstan
