// Rows joined by segments. Rows are taken in their order, so repeated ids give the same bits in every run.
#pragma once

#include <cstdint>

#include "capstan/dtype.h"

namespace capstan {

enum class Segments : std::uint8_t { kSum, kProduct, kMaximum, kMinimum };

constexpr bool needs_order(Segments join) { return join == Segments::kMaximum || join == Segments::kMinimum; }

// Joins row i of `in` [rows, width] with row ids[i] of `out`, which has `size` elements and begins with what changes
// nothing: 0, 1, the lowest or the largest number. Rows with a negative id are left out. Integers wrap around, bfloat16
// is joined in float32 and rounded once, and the larger and smaller of NaN and a number is NaN.
void join_segments(Segments join, DType dtype, const std::int32_t* ids, std::int64_t rows, std::int64_t width,
                   std::int64_t size, const void* in, void* out);
void join_segments(Segments join, DType dtype, const std::int64_t* ids, std::int64_t rows, std::int64_t width,
                   std::int64_t size, const void* in, void* out);

}  // namespace capstan
