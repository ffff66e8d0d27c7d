#include "src/core/shaped_blocks.h"

#include <cstring>
#include <utility>

#include "src/core/allocator.h"
#include "src/core/backend.h"
#include "src/core/dims.h"
#include "src/core/live.h"

namespace capstan {

using detail::Block;

namespace {

// A block of the shape that has no elements of its own.
Block* new_shape_block(DType dtype, const Shape& shape, std::uint8_t flags) {
  std::uint32_t dims[kMaxRank];
  write_dims(shape, dims);
  const std::int64_t count = shape.size();
  Block* block = new_block(dtype);
  block->rank = static_cast<std::uint8_t>(shape.rank());
  std::memcpy(block->dims, dims, sizeof(dims));
  block->count = count;
  block->data = nullptr;
  block->flags = flags;
  return block;
}

}  // namespace

Tensor symbolic(DType dtype, const Shape& shape, std::string_view trace) {
  Block* block = new_shape_block(dtype, shape, Block::kSymbolic);
  auto* const name = reinterpret_cast<char*>(block->inline_data);
  name[trace.copy(name, kTraceNameSize - 1)] = '\0';
  return Tensor::adopt(block);
}

Tensor make_view(const TensorRef& base, const Shape& shape, std::int64_t offset) {
  Block* owner = base.block();
  if ((owner->flags & Block::kView) != 0) owner = owner->owner;  // Views refer to the buffer's owner directly.
  Block* view = new_shape_block(base.dtype(), shape, Block::kView);
  if (is_on_device(base.block())) {
    view->flags = Block::kView | Block::kOnDevice;
    view->buffer_class = base.block()->buffer_class;
  }
  view->data = static_cast<std::byte*>(base.block()->data) + static_cast<std::size_t>(offset) * size_of(base.dtype());
  view->owner = owner;
  detail::retain(owner);
  return Tensor::adopt(view);
}

Tensor shape_only(DType dtype, const Shape& shape) {
  return Tensor::adopt(new_shape_block(dtype, shape, Block::kShapeOnly));
}
Tensor shape_only(const TensorRef& like) {
  Block* block = new_block(like.block()->dtype);
  block->rank = like.block()->rank;
  std::memcpy(block->dims, like.block()->dims, sizeof(block->dims));
  block->count = like.block()->count;
  block->data = nullptr;
  block->flags = Block::kShapeOnly;
  return Tensor::adopt(block);
}

Tensor make_row_sparse(Tensor indices, Tensor values, const Shape& dense_shape) {
  Block* block = new_shape_block(values.dtype(), dense_shape, Block::kRowSparse);
  block->sparse.indices = indices.release();
  block->sparse.values = values.release();
  return Tensor::adopt(block);
}

}  // namespace capstan
