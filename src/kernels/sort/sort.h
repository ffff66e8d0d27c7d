// Orders of numbers: sorting along an axis, the largest of a row, places in a sorted row.
//
// A NaN counts as larger than every number, as in NumPy, and zeros of either sign as equal. Equal elements keep
// their order, whichever direction is asked for, so every result is determined.
#pragma once

#include <cstdint>

#include "capstan/dtype.h"
#include "src/kernels/axis_view.h"

namespace capstan {

// The rows in order; `out` has the layout of `in`.
void sort_rows(DType dtype, const AxisView& view, bool descending, const void* in, void* out);

// The positions of the elements in that order. n is at most 2^31 - 1.
void argsort_rows(DType dtype, const AxisView& view, bool descending, const void* in, std::int32_t* out);

// For each of n elements the number of its value, in the order in which values appear first; returns how many there
// are. `order` are the positions in order.
std::int32_t number_values(DType dtype, std::int64_t n, const void* x, const std::int32_t* order,
                           std::int32_t* numbers);

// The k largest elements of each row of `in` [rows, n], largest first, and their positions. k <= n <= 2^31 - 1.
void top_k_rows(DType dtype, std::int64_t rows, std::int64_t n, std::int64_t k, const void* in, void* values,
                std::int32_t* indices);

// For each of m values of a row the number of elements of the sorted row of n that are before it: those that are
// smaller, and with `right` also those that are equal. n is at most 2^31 - 1.
void search_rows(DType dtype, std::int64_t rows, std::int64_t n, std::int64_t m, bool right, const void* sorted,
                 const void* values, std::int32_t* out);

}  // namespace capstan
