#include "src/tape/cotangents.h"

#include <algorithm>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/backend.h"
#include "src/kernels/reduce/reduce.h"

namespace capstan {

using detail::Block;

Tensor sum_to(const Tensor& cotangent, const Block* like) {
  const Block* from = cotangent.block();
  Tensor sum = Tensor::adopt(new_tensor_block(from->dtype, like->rank, like->dims, like->count));
  ReduceShape shape;
  if (like->count == 1) {
    shape.add(from->count, true);
  } else {
    for (int i = 0; i < from->rank; ++i) {
      const int axis = i - (from->rank - like->rank);
      shape.add(from->dims[i], axis < 0 || like->dims[axis] != from->dims[i]);
    }
  }
  reduce(Reduction::kSum, from->dtype, shape, from->data, mutable_raw_data(sum));
  return sum;
}

Tensor add_cotangents(const Tensor& a, const Tensor& b) {
  if (a.is_row_sparse() && b.is_row_sparse()) {
    Tensor a_indices = a.indices();
    Tensor b_indices = b.indices();
    if (a_indices.dtype() != b_indices.dtype()) {
      a_indices = cast(a_indices, int64);
      b_indices = cast(b_indices, int64);
    }
    return make_row_sparse(concat({a_indices, b_indices}, 0), concat({a.values(), b.values()}, 0), a.shape());
  }
  return add(a, b);
}

namespace {

[[gnu::noinline]] Tensor filled_like_any(const TensorRef& like, double number) {
  if (is_symbolic(like.block()) && like.rank() > 0) {
    // Its lengths may be open, so they must not become part of a constant.
    const Tensor symbol = share(like.block());
    return number == 0 ? zeros_like(symbol) : ones_like(symbol);
  }
  const Block* shape = like.block();
  Tensor tensor = Tensor::adopt(new_tensor_block(shape->dtype, shape->rank, shape->dims, shape->count));
  const Tensor element = scalar(number, shape->dtype);
  const std::size_t size = size_of(shape->dtype);
  auto* out = static_cast<std::byte*>(mutable_raw_data(tensor));
  for (std::int64_t i = 0; i < shape->count; ++i, out += size) std::memcpy(out, element.raw_data(), size);
  return tensor;
}

}  // namespace

Tensor filled_like(const TensorRef& like, double number) {
  const Block* shape = like.block();
  if (Backend* const backend = backend_of(shape)) [[unlikely]]
    return copy_to(*backend, filled_like(shape_only(like), number));
  if (shape->dtype != DType::kFloat32 || is_symbolic(shape)) return filled_like_any(like, number);
  Block* block = new_tensor_block(shape->dtype, shape->rank, shape->dims, shape->count);
  std::fill_n(static_cast<float*>(block->data), shape->count, static_cast<float>(number));
  return Tensor::adopt(block);
}

}  // namespace capstan
