// Derivatives of decompositions where there are none: NaN for the matrices that have none, numbers for the others.
//
// A rule solves with matrices that the forward pass may have found to be singular. It does so with regular ones in
// their place and marks the results, so one such matrix neither ends the reverse pass nor touches the others.
#pragma once

#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/ops/decompositions/matrices.h"

namespace capstan {

// Square matrices, or identities in place of those where `is_regular`, one truth value per matrix, is false.
inline Tensor or_identity(const Tensor& is_regular, const Tensor& a) {
  const Tensor identities = set_diag(zeros_like(a), ones_like(diag_part(a)));
  return where(as_row(as_column(is_regular)), a, identities);
}

// Results of a rule, or NaN.
inline Tensor or_nan(const Tensor& is_regular, const Tensor& result) {
  const Tensor nan = scalar(std::numeric_limits<double>::quiet_NaN(), result.dtype());
  return where(as_row(as_column(is_regular)), result, nan);
}

}  // namespace capstan
