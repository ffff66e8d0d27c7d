#pragma once

#include "capstan/tensor.h"

namespace capstan {

/// A row-sparse gradient with one row for rows that repeat, their sum, in ascending order; int64 indices. The last
/// index repeats, with zeros, so that there are as many as before: in a trace, lengths cannot depend on values. Any
/// other tensor is returned as it is. Errors: IndexError for a row that does not exist, DTypeError unless the dtype is
/// float32 or float64.
///
///     Tensor g = tape.gradient(reduce_sum(gather(table, constant({2, 0, 2}))), table);
///     Tensor merged = merge_rows(g);  // indices 0, 2, 2; rows of 1, 2 and 0
CAPSTAN_EXPORT Tensor merge_rows(const Tensor& gradient);

}  // namespace capstan
