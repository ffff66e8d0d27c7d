// Cotangents as values: how the reverse pass makes and joins them.
#pragma once

#include <atomic>

#include "src/core/apply.h"
#include "src/core/op_def.h"

namespace capstan {

// sum_like without an op, when nobody observes: a cotangent summed over the axes along which the input was stretched.
Tensor sum_to(const Tensor& cotangent, const detail::Block* like);

// Sums two cotangents of one tensor; row-sparse ones keep their rows.
Tensor add_cotangents(const Tensor& a, const Tensor& b);

// A tensor of one number in the shape and dtype of `like`.
Tensor filled_like(const TensorRef& like, double number);

// True if the block's buffer is ours alone to write.
inline bool writable(const detail::Block* block) {
  using detail::Block;
  return block->refs.load(std::memory_order_acquire) == 1 &&
         (block->flags.load(std::memory_order_relaxed) &
          (Block::kView | Block::kRowSparse | Block::kShapeOnly | Block::kLeaf | Block::kOnDevice)) == 0;
}

// Whether a loop of the op that adds to its result gives the bits of an addition. A loop in a wider type rounds once,
// where the two ops that it is in a trace do so twice.
inline bool adds_like_an_op(const OpDef& op, DType dtype) { return dtype != DType::kBFloat16 && op.formula != nullptr; }

// What loops over memory cannot read: rules for it run in library ops.
inline bool needs_ops(const detail::Block* block) {
  return (block->flags.load(std::memory_order_relaxed) & (detail::Block::kRowSparse | detail::Block::kOnDevice)) != 0;
}

}  // namespace capstan
