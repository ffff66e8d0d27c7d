// Tensors without elements of their own: symbolic ones, views, mere shapes, and row-sparse ones.
#pragma once

#include <cstdint>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

// A tensor that shares the elements of `base` starting at element `offset`, with another shape. For kernels of ops with
// the flag kReturnsViews.
Tensor make_view(const TensorRef& base, const Shape& shape, std::int64_t offset = 0);

// A tensor that stands for a value of a traced function, of the name `trace` (see live.h).
Tensor symbolic(DType dtype, const Shape& shape, std::string_view trace = {});
inline bool is_symbolic(const detail::Block* block) {
  return (block->flags.load(std::memory_order_relaxed) & detail::Block::kSymbolic) != 0;
}

// Whether a shape rule can look at elements: not in a trace.
inline bool has_elements(const TensorRef& tensor) { return !is_symbolic(tensor.block()); }

// A block with a shape and dtype but without elements, for rules that need only these.
Tensor shape_only(DType dtype, const Shape& shape);
Tensor shape_only(const TensorRef& like);

// A row-sparse tensor (see Tensor::is_row_sparse) of `rows` rows.
Tensor make_row_sparse(Tensor indices, Tensor values, const Shape& dense_shape);

}  // namespace capstan
