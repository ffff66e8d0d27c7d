#pragma once

#include <vector>

#include "capstan/tensor.h"

namespace capstan {

// Reductions over rows with the same id. Ids are int32 or int64. Errors: ShapeError for ids that are not the leading
// axes of x, DTypeError.

/// Sums of the rows of x with the same id, [num_segments, ...]. `segment_ids` has the shape of x's leading axes and any
/// order; rows with negative ids are dropped. Errors: IndexError for an id of num_segments or more.
///
///     unsorted_segment_sum(constant({1, 2, 4}), constant({1, 0, 1}), 2);   // 2 5
CAPSTAN_EXPORT Tensor unsorted_segment_sum(Operand x, Operand segment_ids, std::int64_t num_segments);
/// The same, divided by the number of rows, or by its square root; 0 for segments without any.
///
///     unsorted_segment_mean(constant({1.0, 2.0, 4.0}), constant({1, 0, 1}), 2);  // [2, 2.5]
///     unsorted_segment_sqrt_n(constant({1.0, 2.0, 4.0}), constant({1, 0, 1}), 2);  // [2, 3.535534]
CAPSTAN_EXPORT Tensor unsorted_segment_mean(Operand x, Operand segment_ids, std::int64_t num_segments);
CAPSTAN_EXPORT Tensor unsorted_segment_sqrt_n(Operand x, Operand segment_ids, std::int64_t num_segments);
/// The products of the rows; 1 for segments without any. The gradients are right where elements are zero.
///
///     unsorted_segment_prod(constant({1, 2, 4}), constant({1, 0, 1}), 3);  // [2, 4, 1]
CAPSTAN_EXPORT Tensor unsorted_segment_prod(Operand x, Operand segment_ids, std::int64_t num_segments);
/// The largest and the smallest elements; the lowest and the highest finite number of the dtype for segments without
/// rows. A NaN wins. The gradient is shared equally among ties.
///
///     unsorted_segment_max(constant({1, 2, 4}), constant({1, 0, 1}), 2);  // [2, 4]
///     unsorted_segment_min(constant({1, 2, 4}), constant({1, 0, 1}), 2);  // [2, 1]
CAPSTAN_EXPORT Tensor unsorted_segment_max(Operand x, Operand segment_ids, std::int64_t num_segments);
CAPSTAN_EXPORT Tensor unsorted_segment_min(Operand x, Operand segment_ids, std::int64_t num_segments);

/// The same for ids that never go down, one per row; the number of segments is one more than the last id. Segments
/// without rows are 0, products 1. Means have the dtype of `x`, of integers rounded towards zero, while those of
/// unsorted_segment_mean are quotients. Errors: ValueError for ids that are negative or go down.
///
///     segment_sum(constant({1, 2, 4}), constant({0, 0, 1}));               // 3 4
///     segment_mean(constant({1.0, 2.0, 4.0}), constant({0, 0, 1}));  // [1.5, 4]
///     segment_prod(constant({1, 2, 4}), constant({0, 0, 1}));  // [2, 4]
///     segment_max(constant({1, 2, 4}), constant({0, 0, 1}));  // [2, 4]
///     segment_min(constant({1, 2, 4}), constant({0, 0, 1}));  // [1, 4]
CAPSTAN_EXPORT Tensor segment_sum(Operand x, Operand segment_ids);
CAPSTAN_EXPORT Tensor segment_mean(Operand x, Operand segment_ids);
CAPSTAN_EXPORT Tensor segment_prod(Operand x, Operand segment_ids);
CAPSTAN_EXPORT Tensor segment_max(Operand x, Operand segment_ids);
CAPSTAN_EXPORT Tensor segment_min(Operand x, Operand segment_ids);

/// The rows of x by the number of the part that each belongs to: one tensor per part, rows in their order. `partitions`
/// (int32 or int64) has the shape of x's leading axes. Errors: ValueError for num_partitions below 1 or above 65536,
/// IndexError for a part out of range.
///
///     dynamic_partition(constant({1, 2, 4}), constant({1, 0, 1}), 2);      // {2}, {1 4}
CAPSTAN_EXPORT std::vector<Tensor> dynamic_partition(Operand x, Operand partitions, std::int64_t num_partitions);
/// The inverse: row i of data[m] goes to row indices[m][i]. Of rows that go to the same place the last one wins; rows
/// that nobody names are zeros. Errors: ShapeError for data that do not fit each other or their indices, IndexError for
/// a negative index.
///
///     dynamic_stitch({constant({2, 0}), constant({1})}, {constant({10, 20}), constant({30})});  // [20, 30, 10]
CAPSTAN_EXPORT Tensor dynamic_stitch(const std::vector<Tensor>& indices, const std::vector<Tensor>& data);

}  // namespace capstan
