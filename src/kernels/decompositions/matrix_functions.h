// Functions of square matrices that are given by power series.
//
// Matrices are stored by rows; see factorisations.h for what holds of all of these.
#pragma once

#include <cstdint>

#include "src/kernels/decompositions/lapack.h"
#include "src/kernels/decompositions/spectral.h"

namespace capstan {

// exp(a) for a[n, n], by Pade's approximant of degree 13 to the scaled matrix, squared as often as it was
// halved (Higham 2005). Accuracy: a few roundings times the condition of the problem. All NaN if an element is
// not finite.
template <class T>
void matrix_exponential(const Lapack& lapack, std::int64_t n, const T* a, T* out);

// How a function of a matrix ended.
enum class MatrixFunctionEnd : std::uint8_t {
  kDone,
  kNotFinite,      // an element of the matrix
  kNoConvergence,  // of the Schur form
  kNotDefined,     // for a singular matrix
  kNotReal,        // the result of a real matrix
};

// The principal square root and the principal logarithm of a[n, n], by its Schur form (Bjorck and Hammarling 1983;
// Higham 2008, chapter 11). Accuracy: a few roundings times the condition of the problem; the logarithm loses as many
// bits more as square roots are taken.
template <class T>
MatrixFunctionEnd matrix_square_root(const Lapack& lapack, std::int64_t n, const T* a, T* out);
template <class T>
MatrixFunctionEnd matrix_logarithm(const Lapack& lapack, std::int64_t n, const T* a, T* out);

}  // namespace capstan
