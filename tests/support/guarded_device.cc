#include "tests/support/guarded_device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <mutex>
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "capstan/error.h"
#include "src/core/apply.h"
#include "src/graph/fused_group.h"
#include "src/graph/loops.h"

namespace capstan::testing {

using detail::Block;

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 40;  // of addresses; pages are there when they are written
constexpr std::size_t kReturned = 1 << 20;            // from so many bytes on, pages go back when memory is freed

std::byte* reserve(int access) {
  void* const range = mmap(nullptr, kBytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(range);
}

}  // namespace

GuardedDevice::GuardedDevice(std::string_view name)
    : name_(name), guarded_(reserve(PROT_NONE)), memory_(reserve(PROT_READ | PROT_WRITE)) {}

GuardedDevice::~GuardedDevice() {
  munmap(guarded_, kBytes);
  munmap(memory_, kBytes);
}

// --- Memory ---

bool GuardedDevice::is_within(const void* address, const std::byte* range) const {
  const auto* const at = static_cast<const std::byte*>(address);
  return at >= range && at < range + kBytes;
}

void* GuardedDevice::elsewhere(const void* address) const {
  if (!is_within(address, guarded_)) throw Error("GuardedDevice: an address that is not of this device");
  return memory_ + (static_cast<const std::byte*>(address) - guarded_);
}

void* GuardedDevice::allocate(std::size_t bytes) {
  if (bytes > kBytes) throw std::bad_alloc();
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(64, bytes));
  const std::lock_guard lock(mutex_);
  std::size_t offset = used_;
  if (std::vector<std::size_t>& ready = free_[size]; !ready.empty()) {
    offset = ready.back();
    ready.pop_back();
  } else if (size > kBytes - used_) {
    throw std::bad_alloc();
  } else {
    used_ += size;
  }
  sizes_[offset] = size;
  ++allocations_;
  std::memset(memory_ + offset, 0xff, std::min<std::size_t>(size, 1 << 16));  // NaN and -1, where nobody writes
  return guarded_ + offset;
}

void GuardedDevice::free(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - guarded_);
  const auto found = sizes_.find(offset);
  if (found == sizes_.end()) std::abort();  // freed twice, or not of this device
  if (found->second >= kReturned) madvise(memory_ + offset, found->second, MADV_DONTNEED);
  free_[found->second].push_back(offset);
  sizes_.erase(found);
  --allocations_;
}

void GuardedDevice::write(void* to, const void* host, std::size_t bytes) {
  if (bytes > 0) std::memcpy(elsewhere(to), host, bytes);
}
void GuardedDevice::read(void* host, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, elsewhere(from), bytes);
}
void GuardedDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memmove(elsewhere(to), elsewhere(from), bytes);
}

// --- Work ---

// A view of the elements that the processor may read and write.
Tensor GuardedDevice::accessible(const TensorRef& tensor) const {
  Block* const block = tensor.block();
  if (!is_on_device(block)) return share(block);
  Tensor view = symbolic(tensor.dtype(), tensor.shape());
  Block* const own = view.block();
  own->owner = (block->flags & Block::kView) != 0 ? block->owner : block;
  detail::retain(own->owner);
  own->flags = Block::kView;
  own->data = elsewhere(block->data);
  return view;
}

// What a kernel has made: a view of an operand becomes one of the device's tensor, anything else a copy.
Tensor GuardedDevice::guarded(Tensor tensor) {
  Block* const block = tensor.block();
  if (block == nullptr || !is_within(block->data, memory_)) return copy_to(*this, tensor);
  Tensor view = symbolic(tensor.dtype(), tensor.shape());
  Block* const own = view.block();
  own->owner = block->owner;
  own->buffer_class = own->owner->buffer_class;
  detail::retain(own->owner);
  own->flags = Block::kView | Block::kOnDevice;
  own->data = guarded_ + (static_cast<std::byte*>(block->data) - memory_);
  return view;
}

void GuardedDevice::run_loop(const LoopOfOp& loop, DType dtype, const Tensor& out, std::span<Block* const> inputs) {
  ++loops_;
  std::vector<Tensor> holders;
  std::vector<const Block*> operands;
  for (Block* const input : inputs) {
    holders.push_back(input == nullptr ? Tensor() : accessible(TensorRef(input)));
    operands.push_back(holders.back().block());
  }
  capstan::run_loop({function_of(loop, dtype), loop.parameters}, accessible(out).block(), operands);
}

void GuardedDevice::run_kernel(const Call& call, std::span<Tensor> outputs) {
  ++kernels_;
  const MakeTensorsOn processor(nullptr);
  std::vector<Tensor> holders;
  std::vector<TensorRef> operands;
  for (const TensorRef& input : call.inputs) {
    holders.push_back(accessible(input));
    operands.emplace_back(holders.back().block());
  }
  std::vector<Tensor> results(outputs.size());
  const bool makes_results = has_flag(call.op, kReturnsViews);
  for (std::size_t i = 0; i < outputs.size() && !makes_results; ++i) results[i] = accessible(outputs[i]);
  call.op.kernel({call.op, operands, call.attribute_data, call.geometry_data}, results);
  for (std::size_t i = 0; i < outputs.size() && makes_results; ++i) outputs[i] = guarded(std::move(results[i]));
}

void GuardedDevice::run_group(const FusedGroup& group, const void* const* inputs, void* const* outputs) {
  ++groups_;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (std::size_t i = 0; i < group.inputs().size(); ++i) in.push_back(elsewhere(inputs[i]));
  for (std::size_t o = 0; o < group.outputs().size(); ++o) out.push_back(elsewhere(outputs[o]));
  group.run(in.data(), out.data());
}

GuardedDevice& guarded_device() {
  static GuardedDevice* const device = [] {
    auto* const made = new GuardedDevice;  // tensors of other static objects may be there when the program ends
    add_backend(*made);
    return made;
  }();
  return *device;
}

// --- Tests on the device ---

namespace {

class OnDevice final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override { scope_ = std::make_unique<MakeTensorsOn>(&guarded_device()); }
  void OnTestEnd(const ::testing::TestInfo&) override { scope_.reset(); }

  std::unique_ptr<MakeTensorsOn> scope_;
};

const bool kIsOnDevice = [] {
  const char* const asked = std::getenv("CAPSTAN_TEST_DEVICE");
  if (asked == nullptr || std::string_view(asked) != "1") return false;
  std::string filter = "*-";
  for (const LackingOnDevice& lacking : lacking_on_device()) filter += std::string(lacking.pattern) + ":";
  // The flag may not have been initialised yet; then it takes the variable.
  setenv("GTEST_FILTER", filter.c_str(), 0);
  GTEST_FLAG_SET(filter, filter);
  ::testing::UnitTest::GetInstance()->listeners().Append(new OnDevice);
  return true;
}();

}  // namespace

}  // namespace capstan::testing
