#pragma once

#include <cstdint>
#include <string>

#include "capstan/tensor.h"

namespace capstan {

/// Which diagonals of a matrix: one, or all from `lower` to `upper`. Diagonal k holds the elements [i, i + k], so 0 is
/// the main one and those above it are positive.
struct DiagonalRange {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  constexpr DiagonalRange() = default;
  // A template, so that no larger integer is cut to an int.
  template <detail::Integer T>
  constexpr DiagonalRange(T k) : lower(static_cast<std::int64_t>(k)), upper(lower) {}
  constexpr DiagonalRange(std::int64_t first, std::int64_t last) : lower(first), upper(last) {}
};

/// Options of diag. `align` says at which ends diagonals shorter than the longest are padded: first for those above
/// the main one, then for those below; "RIGHT" means that their elements are at the right.
struct DiagOptions {
  DiagonalRange k = {};
  std::int64_t num_rows = -1;
  std::int64_t num_cols = -1;
  double padding_value = 0;
  std::string align = "RIGHT_LEFT";
};
/// Matrices whose diagonals are given: the last axis for one diagonal, the last two for several, the highest first. All
/// other elements are padding_value. Square and as small as can be unless the lengths are given. Any dtype. Errors:
/// ShapeError for lengths that do not fit, ValueError for a range or alignment that makes no sense.
///
///     diag(constant({1.0, 2.0}));         // [[1, 0], [0, 2]]
///     diag(x, {.k = {-1, 1}});            // tridiagonal, from the rows of x[3, n]
CAPSTAN_EXPORT Tensor diag(Operand x, const DiagOptions& options = {});

/// Options of diag_part.
struct DiagPartOptions {
  DiagonalRange k = {};
  double padding_value = 0;
  std::string align = "RIGHT_LEFT";
};
/// The diagonals of matrices: [..., m, n] to [..., length], or [..., count, length] for several, the highest first,
/// padded to the longest. Any dtype. Errors: ShapeError for vectors, ValueError for diagonals outside of the matrix.
///
///     diag_part(constant({{1, 2}, {3, 4}}));  // [1, 4]
CAPSTAN_EXPORT Tensor diag_part(Operand x, const DiagPartOptions& options = {});

/// Options of set_diag.
struct SetDiagOptions {
  DiagonalRange k = {};
  std::string align = "RIGHT_LEFT";
};
/// x with its diagonals replaced by those given, in the form that diag_part returns. Errors: as diag_part, ShapeError
/// for diagonals of another shape.
///
///     set_diag(constant({{1, 2}, {3, 4}}), constant({7, 8}));  // [[7, 2], [3, 8]]
CAPSTAN_EXPORT Tensor set_diag(Operand x, Operand diagonal, const SetDiagOptions& options = {});

/// Matrices with zeros below diagonal -num_lower and above diagonal num_upper; a negative number keeps that whole
/// side. Errors: ShapeError for vectors, ValueError for numbers larger than the matrix.
///
///     band_part(x, -1, 0);                // the lower triangle
CAPSTAN_EXPORT Tensor band_part(Operand x, std::int64_t num_lower, std::int64_t num_upper);

/// The tensor of twice the rank with the elements of x where the first half of the indices is the second, and zeros
/// elsewhere; and the inverse: those elements of a tensor whose shape is some shape twice. Errors: ShapeError for any
/// other shape, or rank above 4 for tensor_diag.
///
///     tensor_diag(constant({1, 2}));  // [[1, 0], [0, 2]]
///     tensor_diag_part(constant({{1, 2}, {3, 4}}));  // [1, 4]
CAPSTAN_EXPORT Tensor tensor_diag(Operand x);
CAPSTAN_EXPORT Tensor tensor_diag_part(Operand x);

}  // namespace capstan
