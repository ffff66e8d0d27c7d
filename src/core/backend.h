// Backend: what a device is to the library, for devices other than the processor that the program runs on.
//
// A tensor whose block has the flag kOnDevice lies in the memory of a device: its `data` is an address there, which
// only the device's backend may follow. Everything else of such a tensor, and all of tapes, graphs and functions, is as
// it is for others. The backend has memory, copies, kernels, loops and fusion; what it has no kernel for is an error
// that says so. The processor needs no backend: its memory is the allocator's, its kernels and loops are those of the
// OpDef, and its fusion is src/emit. A call of these through a table would cost every small op what it is measured by.
//
// An op runs where its operands are. Operands that lie on the processor are copied to the device first, as in
// TensorFlow. Reading elements (item, to_vector, printing) copies them back; data<T>() of a tensor on a device is an
// error.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"
#include "src/core/allocator.h"
#include "src/core/op_def.h"

namespace capstan {

class FusedGroup;

class Backend {
 public:
  virtual ~Backend() = default;

  // "GPU:0", as tensor.device() and errors have it.
  virtual std::string_view name() const = 0;

  // --- Memory ---

  // Throws std::bad_alloc. Aligned to 64 bytes; `bytes` is at least 1.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  // From the host's memory, to it, and within the device. `bytes` may be 0.
  virtual void write(void* to, const void* host, std::size_t bytes) = 0;
  virtual void read(void* host, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  // --- Work ---

  // The loop of an elementwise op, or of one of its derivatives, over operands that broadcast to the result. `inputs`
  // are by position (LoopArgs::in); some are null. `dtype` is that of the loop.
  virtual void run_loop(const LoopOfOp& loop, DType dtype, const Tensor& out,
                        std::span<detail::Block* const> inputs) = 0;
  // Whether run_kernel takes an op.
  virtual bool has_kernel(const OpDef& op) const = 0;
  // The kernel of a structured op. As OpDef::kernel: the results are allocated unless the op has the flag
  // kReturnsViews; the call has no execution.
  virtual void run_kernel(const Call& call, std::span<Tensor> outputs) = 0;
  // A fused loop of a program (src/graph/fused_group.h), over addresses of the device.
  virtual void run_group(const FusedGroup& group, const void* const* inputs, void* const* outputs) = 0;
};

// Makes a device known; it has to live until the program ends. There can be seven. Throws Error.
void add_backend(Backend& backend);

inline bool is_on_device(const detail::Block* block) {
  return (block->flags.load(std::memory_order_relaxed) & detail::Block::kOnDevice) != 0;
}
// The backend of a block on a device, or null for any other.
Backend* backend_of(const detail::Block* block);

// A tensor in a device's memory whose elements are not set. Null: as new_tensor.
Tensor new_tensor_on(Backend* backend, DType dtype, const Shape& shape);
// The tensor itself, if it is there already or has no elements, or else a copy of it on the device. No op: tapes do not
// see it.
Tensor copy_to(Backend& backend, const TensorRef& tensor);
// The same in the host's memory.
Tensor copy_to_host(const TensorRef& tensor);

// The elements, if they lie in the host's memory; null otherwise.
inline const void* host_elements(const TensorRef& tensor) {
  return is_on_device(tensor.block()) ? nullptr : tensor.block()->data;
}

// Bytes of one device or of the host; both places are of the same. Null: the host.
void copy_bytes(Backend* backend, void* to, const void* from, std::size_t bytes);

// What makes tensors of nothing (constants, ops without operands) makes them on this device while the object lives; for
// this thread.
class MakeTensorsOn {
 public:
  explicit MakeTensorsOn(Backend* backend);
  ~MakeTensorsOn();
  MakeTensorsOn(const MakeTensorsOn&) = delete;
  MakeTensorsOn& operator=(const MakeTensorsOn&) = delete;

 private:
  Backend* outer_;
};

// A new tensor of the host, or its copy on the device that tensors are made on.
Tensor placed(Tensor tensor);

// An op of which an operand, or what is made of nothing, is on a device: its results into `few`, or into `many` if that
// is given, which is sized here.
void run_on_device(const OpDef& op, std::span<detail::Block* const> blocks, const void* attributes,
                   std::vector<Tensor>* many, std::span<Tensor> few);
inline Tensor run_on_device(const OpDef& op, std::span<detail::Block* const> blocks, const void* attributes) {
  Tensor out;
  run_on_device(op, blocks, attributes, nullptr, std::span(&out, 1));
  return out;
}

// The kernel of a call whose operands and results are on the backend's device.
void call_kernel_on(Backend& backend, const Call& call, std::span<Tensor> outputs);

}  // namespace capstan
