// What the files that join, cut and arrange arrays share.
#pragma once

#include <vector>

#include "src/core/allocator.h"
#include "src/core/op_def.h"
#include "src/kernels/array/strided_copy.h"

namespace capstan {

// Whether an op stacks tensors, or takes a tensor apart, along a new or the first axis, which is in front; `rank` is
// that of the whole.
bool stacks_in_front(const OpDef& op, const void* attributes, int rank);
bool unstacks_in_front(const OpDef& op, const void* attributes, int rank);

inline std::byte* bytes_of(const Tensor& tensor, std::int64_t offset = 0) {
  return static_cast<std::byte*>(mutable_raw_data(tensor)) +
         offset * static_cast<std::ptrdiff_t>(size_of(tensor.dtype()));
}
inline const std::byte* bytes_of(const TensorRef& tensor, std::int64_t offset = 0) {
  return static_cast<const std::byte*>(tensor.raw_data()) +
         offset * static_cast<std::ptrdiff_t>(size_of(tensor.dtype()));
}

// What with_slice puts in the place of a selection, in its shape and the dtype of the tensor; and the same written into
// the tensor itself, which nobody else may hold.
Tensor slice_replacement(const Tensor& tensor, std::span<const Index> indices, const Operand& value);
void overwrite_slice(const Tensor& tensor, std::span<const Index> indices, const Tensor& replacement);

// x[begin:end] along one axis.
inline Tensor part_of(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  std::vector<Index> items(static_cast<std::size_t>(axis), Slice{});
  items.emplace_back(Slice{begin, end});
  return getitem(x, items);
}

}  // namespace capstan
