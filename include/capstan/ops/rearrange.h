#pragma once

#include <span>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/tensor.h"

namespace capstan {

// --- Blocks: images are [batch, height, width, channels] ---

/// Blocks of block_size x block_size pixels as one pixel with the channels of all, row by row. Errors: ShapeError if
/// height or width does not divide into blocks, ValueError for a block_size below 2.
///
///     space_to_depth(reshape(range(4), {1, 2, 2, 1}), 2);  // [[[[0, 1, 2, 3]]]]
CAPSTAN_EXPORT Tensor space_to_depth(Operand x, std::int64_t block_size);
/// The inverse. Errors: ShapeError if the channels do not divide into block_size^2 parts.
///
///     depth_to_space(reshape(range(4), {1, 1, 1, 4}), 2);  // [[[[0], [1]], [[2], [3]]]]
CAPSTAN_EXPORT Tensor depth_to_space(Operand x, std::int64_t block_size);
/// Pads the axes after the first with zeros, cuts them into blocks, and makes each place in a block an image of its
/// own: [batch * blocks, ...]. block_shape[i] and paddings[i] are for axis i + 1. Errors: ShapeError, ValueError.
///
///     const std::int64_t block[] = {2, 2};
///     const PadWidth paddings[] = {{0, 0}, {0, 2}};
///     space_to_batch(zeros({1, 4, 6, 3}), block, paddings);  // float32[4, 2, 4, 3]
CAPSTAN_EXPORT Tensor space_to_batch(Operand x, std::span<const std::int64_t> block_shape,
                                     std::span<const PadWidth> paddings);
/// The inverse; what space_to_batch has padded is cropped.
///
///     const std::int64_t block[] = {2, 2};
///     const PadWidth crops[] = {{0, 0}, {0, 2}};
///     batch_to_space(zeros({4, 2, 4, 3}), block, crops);  // float32[1, 4, 6, 3]
CAPSTAN_EXPORT Tensor batch_to_space(Operand x, std::span<const std::int64_t> block_shape,
                                     std::span<const PadWidth> crops);

// --- By place ---

/// The first lengths[b] elements along seq_axis in opposite order, for each place b along batch_axis. Errors:
/// ShapeError, IndexError for an axis or for a length that is negative or above that of the axis.
///
///     reverse_sequence(constant({{1, 2, 3}, {4, 5, 6}}), constant({2, 3}), 1);  // [[2, 1, 3], [6, 5, 4]]
CAPSTAN_EXPORT Tensor reverse_sequence(Operand x, Operand lengths, int seq_axis, int batch_axis = 0);
/// For a vector that holds each of 0 ... n - 1 once, the index of each of them. int32 or int64. Errors: ValueError for
/// anything else.
///
///     invert_permutation(constant({2, 0, 1}));         // 1 2 0
CAPSTAN_EXPORT Tensor invert_permutation(Operand x);

// --- Checks and creation ---

/// x, once its shape is found to be `shape`; a length of -1 fits any. Errors: ShapeError.
///
///     ensure_shape(zeros({2, 3}), {-1, 3});  // [[0, 0, 0], [0, 0, 0]]
CAPSTAN_EXPORT Tensor ensure_shape(Operand x, const Shape& shape);
/// one_hot whose two values are tensors, as an op. They have no gradient.
///
///     one_hot_of(constant({2, 0}), 5, -1, 3);  // [[-1, -1, 5], [5, -1, -1]]
CAPSTAN_EXPORT Tensor one_hot_of(Operand indices, Operand on_value, Operand off_value, std::int64_t depth,
                                 int axis = -1);
/// range whose arguments are tensors, as an op. They have no gradient.
///
///     range_of(constant(3), constant(10), constant(2));  // [3, 5, 7, 9]
CAPSTAN_EXPORT Tensor range_of(Operand start, Operand limit, Operand delta);

}  // namespace capstan
