// Rows placed by their numbers.
//
// Rows with the same number are taken in their order: a task owns rows of the result and passes over all numbers, so no
// two tasks meet and the bits do not depend on threads. bfloat16 is computed in float32 and rounded once.
#pragma once

#include <cstdint>
#include <span>

#include "capstan/dtype.h"

namespace capstan {

enum class Scatter : std::uint8_t { kAdd, kSubtract, kUpdate, kMaximum, kMinimum };

// Joins row i of `updates` with row numbers[i] of `out` [rows, row_length]. Integers wrap around; the larger and
// smaller of NaN and a number is NaN, and complex numbers have none; only kUpdate takes bool.
void scatter_rows(Scatter mode, DType dtype, std::span<const std::int64_t> numbers, std::int64_t rows,
                  std::int64_t row_length, const void* updates, void* out);

}  // namespace capstan
