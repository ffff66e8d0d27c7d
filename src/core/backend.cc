#include "src/core/backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "src/core/apply.h"
#include "src/core/call_kernel.h"
#include "src/core/check.h"
#include "src/core/context.h"

namespace capstan {

using detail::Block;

namespace {

// By number; 0 is the processor.
constexpr std::size_t kMostBackends = 8;
std::array<std::atomic<Backend*>, kMostBackends> backends;
std::mutex adding;

std::size_t bytes_of(const TensorRef& tensor) {
  return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
}

std::uint8_t number_of(const Backend& backend) {
  for (std::size_t i = 1; i < kMostBackends; ++i) {
    if (backends[i].load(std::memory_order_acquire) == &backend) return static_cast<std::uint8_t>(i);
  }
  throw Error(detail::join("device ", backend.name(), ": it was not added"));
}

// Stand-ins for a shape, and values of a trace, are nowhere.
bool has_memory(const Block* block) {
  return (block->flags.load(std::memory_order_relaxed) & (Block::kShapeOnly | Block::kSymbolic | Block::kRowSparse)) ==
         0;
}

// The device of a call: that of its operands, or where tensors are made.
Backend& backend_of_call(const OpDef& op, std::span<Block* const> blocks) {
  Backend* found = nullptr;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Backend* const own = backend_of(blocks[i]);
    if (own == nullptr || own == found) continue;
    CAPSTAN_CHECK(found == nullptr, ValueError, op.name, ": argument ", i, " is on ", own->name(), ", another one on ",
                  found->name(), help("copy one of them to the device of the other"));
    found = own;
  }
  return found != nullptr ? *found : *context.backend;
}

}  // namespace

void add_backend(Backend& backend) {
  const std::lock_guard lock(adding);
  const auto free = std::find_if(backends.begin() + 1, backends.end(),
                                 [](const auto& slot) { return slot.load(std::memory_order_relaxed) == nullptr; });
  CAPSTAN_CHECK(free != backends.end(), Error, "device ", backend.name(), ": there are ", kMostBackends - 1,
                " devices already");
  free->store(&backend, std::memory_order_release);
}

Backend* backend_of(const Block* block) {
  return is_on_device(block) ? backends[block->buffer_class].load(std::memory_order_acquire) : nullptr;
}

Tensor new_tensor_on(Backend* backend, DType dtype, const Shape& shape) {
  if (backend == nullptr) return new_tensor(dtype, shape);
  const std::uint8_t number = number_of(*backend);
  checked_size(shape);
  Tensor tensor = shape_only(dtype, shape);
  Block* const block = tensor.block();
  block->data = backend->allocate(std::max<std::size_t>(1, bytes_of(tensor)));
  block->buffer_class = number;
  block->flags = Block::kOnDevice;
  return tensor;
}

void detail::free_on_device(Block* block) noexcept { backend_of(block)->free(block->data); }

Tensor copy_to(Backend& backend, const TensorRef& tensor) {
  Block* const block = tensor.block();
  if (!has_memory(block)) return share(block);
  Backend* const own = backend_of(block);
  if (own == &backend) return share(block);
  if (own != nullptr) return copy_to(backend, copy_to_host(tensor));
  Tensor copy = new_tensor_on(&backend, tensor.dtype(), tensor.shape());
  backend.write(copy.block()->data, block->data, bytes_of(tensor));
  return copy;
}

Tensor copy_to_host(const TensorRef& tensor) {
  Backend* const backend = backend_of(tensor.block());
  if (backend == nullptr) return share(tensor.block());
  Tensor copy = new_tensor(tensor.dtype(), tensor.shape());
  backend->read(copy.block()->data, tensor.block()->data, bytes_of(tensor));
  return copy;
}

void copy_bytes(Backend* backend, void* to, const void* from, std::size_t bytes) {
  if (backend != nullptr) {
    backend->copy(to, from, bytes);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

MakeTensorsOn::MakeTensorsOn(Backend* backend) : outer_(std::exchange(context.backend, backend)) {}
MakeTensorsOn::~MakeTensorsOn() { context.backend = outer_; }

Tensor placed(Tensor tensor) { return context.backend == nullptr ? tensor : copy_to(*context.backend, tensor); }

std::string_view TensorRef::device() const {
  const Backend* const backend = backend_of(checked("device"));
  return backend == nullptr ? "CPU:0" : backend->name();
}

void run_on_device(const OpDef& op, std::span<Block* const> blocks, const void* attributes, std::vector<Tensor>* many,
                   std::span<Tensor> few) {
  Backend& backend = backend_of_call(op, blocks);
  OutputSpecs specs;
  infer_outputs(op, blocks, attributes, specs);
  if (many != nullptr) {
    many->resize(static_cast<std::size_t>(specs.size()));
    few = *many;
  }
  const std::span<Tensor> outputs = few.first(static_cast<std::size_t>(specs.size()));
  // A kernel that calls ops looks at no element itself, so operands may stay where they are.
  const bool calls_ops = has_flag(op, kCallsOps);
  std::vector<Tensor> holders;
  std::vector<Block*> there;
  std::vector<TensorRef> operands;
  for (Block* const block : blocks) {
    holders.push_back(calls_ops ? share(block) : copy_to(backend, TensorRef(block)));
    there.push_back(holders.back().block());
    operands.emplace_back(there.back());
  }
  if (!has_flag(op, kReturnsViews)) {
    for (int i = 0; i < specs.size(); ++i)
      outputs[static_cast<std::size_t>(i)] = new_tensor_on(&backend, specs[i].dtype, specs[i].shape);
  }
  if (op.kind != OpKind::kElementwise)
    return call_kernel_on(backend, {op, operands, attributes, specs.geometry().data()}, outputs);
  const LoopOfOp loop{&op, -1, (1u << blocks.size()) - 1, static_cast<const double*>(attributes)};
  backend.run_loop(loop, blocks.back()->dtype, outputs[0], there);
}

void call_kernel_on(Backend& backend, const Call& call, std::span<Tensor> outputs) {
  if (has_flag(call.op, kCallsOps)) return call_kernel(call, outputs);
  CAPSTAN_CHECK(backend.has_kernel(call.op), Error, call.op.name, ": there is no kernel for ", backend.name(),
                help("compute it on the processor, from copies of its operands"));
  with_memory_errors(call.op, [&] { backend.run_kernel(call, outputs); });
}

}  // namespace capstan
