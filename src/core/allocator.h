// The caching allocator: where tensors' headers and elements come from.
//
// Small buffers (up to 32 KiB) and the 128-byte blocks come from free lists of the thread, by size class, without a
// lock; a list that grows beyond its cap hands a batch to a shared list, and an empty one takes a batch from there, so
// a thread that only produces and one that only frees do not drift apart. Larger buffers come from shared lists under a
// lock, which is nothing beside touching that much memory: the first touch of a fresh page costs more than any kernel
// does with it, so freed buffers are kept, up to a cap, and big ones ask for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "capstan/tensor.h"

namespace capstan {

// A new block with one reference, no data and no flags; everything but the shape and inline elements is set.
detail::Block* new_block(DType dtype);

// A block with the given shape (dims beyond rank are zero) and room for its elements, inline if they fit into 64 bytes.
// Throws ShapeError when the size in bytes overflows and std::bad_alloc when there is no memory.
detail::Block* new_tensor_block(DType dtype, int rank, const std::uint32_t* dims, std::int64_t count);
detail::Block* new_tensor_block(DType dtype, const Shape& shape);
// The number of elements. Throws ShapeError if their size in bytes may overflow.
std::int64_t checked_size(const Shape& shape);

// Allocates a tensor of the shape; the elements are not initialised.
inline Tensor new_tensor(DType dtype, const Shape& shape) { return Tensor::adopt(new_tensor_block(dtype, shape)); }

// The elements of a tensor that nobody else has seen yet.
template <class T>
T* mutable_data(const Tensor& tensor) {
  return const_cast<T*>(tensor.data<T>());
}
inline void* mutable_raw_data(const Tensor& tensor) { return const_cast<void*>(tensor.raw_data()); }

// A block that holds memory of others for the views of it, and is nobody's tensor: its shape is not set.
using SharedMemory = std::shared_ptr<const void>;
detail::Block* new_shared_block(DType dtype, SharedMemory memory);

namespace detail {
// The memory of a block on a device, which is no view.
void free_on_device(Block* block) noexcept;
}  // namespace detail

// Raw buffers by size class; class 0 is "none". `bytes` is rounded up to the class.
void* allocate_buffer(std::size_t bytes, std::uint8_t* buffer_class);
void free_buffer(void* buffer, std::uint8_t buffer_class) noexcept;

// While it lives this thread has no more large buffers than these bytes beside those that it had: what a file asks for
// is an Error instead of the end of the machine's memory.
class CAPSTAN_EXPORT AllocationBudget {
 public:
  explicit AllocationBudget(std::int64_t bytes);
  ~AllocationBudget();
  AllocationBudget(const AllocationBudget&) = delete;
  AllocationBudget& operator=(const AllocationBudget&) = delete;

 private:
  std::int64_t outer_;
};

}  // namespace capstan
