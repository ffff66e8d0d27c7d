#include "tests/support/fresh_memory.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "src/core/allocator.h"
#include "src/kernels/scratch.h"

namespace capstan::testing {

void fill_free_memory(int byte) {
  // Blocks with elements of their own, then one buffer size after the other: what is given back last is taken first.
  constexpr std::int64_t kInline = 64;
  constexpr std::int64_t kLargest = std::int64_t{1} << 16;
  std::vector<Tensor> held;
  for (int i = 0; i < 128; ++i) held.push_back(new_tensor(DType::kUInt8, {kInline}));
  for (std::int64_t size = 2 * kInline; size <= kLargest; size *= 2) {
    const std::int64_t count = size <= 4096 ? 12 : 4;
    for (std::int64_t i = 0; i < count; ++i) held.push_back(new_tensor(DType::kUInt8, {size}));
  }
  for (const Tensor& tensor : held)
    std::memset(mutable_raw_data(tensor), byte, static_cast<std::size_t>(tensor.size()));
  held.clear();
  for (int slot = 0; slot < kScratchSlots; ++slot) {
    const Scratch scratch(static_cast<ScratchSlot>(slot), kLargest);
    std::memset(scratch.as<std::byte>(), byte, kLargest);
  }
}

}  // namespace capstan::testing
