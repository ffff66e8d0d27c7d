// Functions of square matrices that are given by power series.
//
// Matrices are stored by rows; see factorisations.h for what holds of all of these.
#pragma once

#include <cstdint>

#include "src/kernels/lapack.h"
#include "src/kernels/spectral.h"

namespace capstan {

// exp(a) for a[n, n], by Pade's approximant of degree 13 to the scaled matrix, squared as often as it was
// halved (Higham 2005). Accuracy: a few roundings times the condition of the problem. All NaN if an element is
// not finite.
template <class T>
void matrix_exponential(const Lapack& lapack, std::int64_t n, const T* a, T* out);

}  // namespace capstan
