#pragma once

#include "capstan/tensor.h"

namespace capstan {

// Reductions over all axes or the given ones; `keepdims` keeps them with length 1.
// Errors: IndexError for an axis out of range or given twice.

CAPSTAN_EXPORT Tensor reduce_sum(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_mean(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_prod(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_max(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_min(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_any(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_all(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_logsumexp(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_variance(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_std(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor reduce_euclidean_norm(Operand x, Axes axis = {}, bool keepdims = false);
/// int64 positions of the largest (smallest) elements along an axis; the first at ties.
CAPSTAN_EXPORT Tensor argmax(Operand x, int axis = 0, DType output_type = int64);
CAPSTAN_EXPORT Tensor argmin(Operand x, int axis = 0, DType output_type = int64);
CAPSTAN_EXPORT Tensor cumsum(Operand x, int axis = 0, bool exclusive = false, bool reverse = false);
CAPSTAN_EXPORT Tensor cumprod(Operand x, int axis = 0, bool exclusive = false, bool reverse = false);
/// Sums of rows with the same id, [num_segments, ...]; negative ids are dropped.
CAPSTAN_EXPORT Tensor unsorted_segment_sum(Operand x, Operand segment_ids, std::int64_t num_segments);

/// True if shapes, dtypes and all elements agree.
CAPSTAN_EXPORT bool equal_tensors(const Tensor& a, const Tensor& b);

}  // namespace capstan
