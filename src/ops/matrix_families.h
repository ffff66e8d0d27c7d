// The families of ops on matrices, as families.h has the others.
#pragma once

#include "src/ops/families.h"

namespace capstan {

OpFamily diagonal_ops();         // diagonal.cc: diagonals and bands of matrices
OpFamily vector_ops();           // vectors.cc: products of vectors, traces, transposes
OpFamily cholesky_ops();         // cholesky.cc
OpFamily solve_ops();            // solve.cc: linear equations, inverses
OpFamily least_squares_ops();    // least_squares.cc: pseudo-inverses, least squares
OpFamily determinant_ops();      // determinant.cc
OpFamily decomposition_ops();    // decompositions.cc: qr, lu
OpFamily spectral_ops();         // spectral.cc: singular values, eigenvalues
OpFamily matrix_function_ops();  // matrix_functions.cc: exponential, square root, logarithm

}  // namespace capstan
