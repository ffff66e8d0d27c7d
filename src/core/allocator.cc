#include "src/core/allocator.h"

#include <sys/mman.h>

#include <atomic>
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#include "capstan/runtime.h"
#include "src/core/annotation.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/dims.h"
#include "src/core/thread_end.h"

#if defined(__SANITIZE_ADDRESS__)
#define CAPSTAN_POOLS 0  // The sanitizer sees every block only if none is recycled.
#else
#define CAPSTAN_POOLS 1
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAPSTAN_MAPS 0  // A sanitizer watches over what comes from the heap, and bounds it.
#else
#define CAPSTAN_MAPS 1
#endif

namespace capstan {

using detail::Block;

namespace {

// --- Size classes ---
//
// Class 0 of the thread's lists is the 128-byte block; buffers of class 1 to kSmallClasses are 64 << (c - 1) bytes.
// Larger classes have eight steps per doubling, so that at most an eighth is lost.
constexpr int kSmallClasses = 10;
constexpr std::size_t kLargestSmall = std::size_t{64} << (kSmallClasses - 1);  // 32 KiB
constexpr int kLargeClasses = 256 - kSmallClasses - 2;
constexpr std::uint8_t kMemoryOfOthers = 255;  // The block owns a std::shared_ptr, which lies where its elements would.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMapThreshold = std::size_t{1} << 20;

constexpr std::size_t small_size(int list) { return list == 0 ? sizeof(Block) : std::size_t{64} << (list - 1); }

std::size_t large_size(int index) {
  const std::size_t base = kLargestSmall << (index / 8);
  return base + base / 8 * static_cast<std::size_t>(index % 8 + 1);
}

int large_index(std::size_t bytes) {
  const std::size_t above = bytes - 1;  // bytes > kLargestSmall, so the top bit is at least that of kLargestSmall
  const int doubling = std::bit_width(above) - std::bit_width(kLargestSmall);
  const std::size_t base = kLargestSmall << doubling;
  return doubling * 8 + static_cast<int>((above - base) / (base / 8));
}

[[noreturn, gnu::cold]] void out_of_memory(std::size_t bytes) {
  throw Error(detail::join("allocate: no memory for ", bytes, " bytes"));
}

// --- Shared lists of small buffers ---

struct Free {
  Free* next;        // in the same batch or thread list
  Free* next_batch;  // valid in the first of a batch
};

constexpr std::uint32_t batch_size(int list) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(65536 / small_size(list), 2, 64));
}

struct SharedLists {
  std::mutex mutex;
  Free* batches[kSmallClasses + 1] = {};
};
constinit SharedLists shared;

// --- The thread's lists ---

struct ThreadLists {
  Free* first[kSmallClasses + 1];
  std::uint32_t count[kSmallClasses + 1];
};
thread_local constinit ThreadLists lists __attribute__((tls_model("initial-exec"))) = {};

[[gnu::noinline]] void give_batch(int list, std::uint32_t count) {
  Free* head = lists.first[list];
  if (head == nullptr) return;
  Free* tail = head;
  std::uint32_t taken = 1;
  while (taken < count && tail->next != nullptr) {
    tail = tail->next;
    ++taken;
  }
  lists.first[list] = tail->next;
  lists.count[list] -= taken;
  tail->next = nullptr;
  const std::lock_guard lock(shared.mutex);
  head->next_batch = shared.batches[list];
  shared.batches[list] = head;
}

// Hands the lists of a thread that ends to the others.
void give_all() {
  for (int list = 0; list <= kSmallClasses; ++list) {
    while (lists.first[list] != nullptr) give_batch(list, batch_size(list));
  }
}

[[maybe_unused, gnu::noinline]] void* refill(int list) {
  at_thread_end(&give_all);
  {
    const std::lock_guard lock(shared.mutex);
    if (Free* batch = shared.batches[list]) {
      shared.batches[list] = batch->next_batch;
      lists.first[list] = batch->next;
      std::uint32_t count = 0;
      for (Free* item = batch->next; item != nullptr; item = item->next) ++count;
      lists.count[list] = count;
      return batch;
    }
  }
  const std::size_t size = small_size(list);
  const std::uint32_t items = batch_size(list);
  auto* slab = static_cast<std::byte*>(std::aligned_alloc(64, size * items));
  if (slab == nullptr) out_of_memory(size * items);
  for (std::uint32_t i = 1; i < items; ++i) {
    auto* item = reinterpret_cast<Free*>(slab + i * size);
    item->next = lists.first[list];
    lists.first[list] = item;
  }
  lists.count[list] = items - 1;
  return slab;
}

#if CAPSTAN_POOLS
// From the thread's own list, or nothing if it is empty.
inline void* take_at_hand(int list) {
  Free* item = lists.first[list];
  if (item == nullptr) [[unlikely]]
    return nullptr;
  lists.first[list] = item->next;
  --lists.count[list];
  return item;
}

inline void* take(int list) {
  void* item = take_at_hand(list);
  return item != nullptr ? item : refill(list);
}

inline void put(void* memory, int list) {
  auto* item = static_cast<Free*>(memory);
  item->next = lists.first[list];
  lists.first[list] = item;
  if (++lists.count[list] >= 4 * batch_size(list)) [[unlikely]]
    give_batch(list, batch_size(list));
}
#else
inline void* take_at_hand(int) { return nullptr; }
inline void* take(int list) {
  void* memory = std::aligned_alloc(64, small_size(list));
  if (memory == nullptr) out_of_memory(small_size(list));
  return memory;
}
inline void put(void* memory, int) { std::free(memory); }
#endif

// --- Large buffers ---

struct LargeLists {
  std::mutex mutex;
  Free* first[kLargeClasses] = {};
  MemoryStats stats;
  std::size_t limit = std::size_t{1} << 30;
};
constinit LargeLists large;

void* map_large(std::size_t bytes) {
  if (CAPSTAN_MAPS == 0 || bytes < kMapThreshold) return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  const bool huge = bytes >= 2 * kHugePage;
  const std::size_t extra = huge ? kHugePage : 0;
  void* raw = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (!huge) return raw;
  // Cut the mapping to a huge-page boundary.
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > address) munmap(raw, aligned - address);
  const std::size_t rest = address + extra - aligned;
  if (rest > 0) munmap(reinterpret_cast<void*>(aligned + bytes), rest);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

void unmap_large(void* buffer, std::size_t bytes) {
  if (CAPSTAN_MAPS == 0 || bytes < kMapThreshold) {
    std::free(buffer);
  } else {
    munmap(buffer, (bytes + 4095) / 4096 * 4096);
  }
}

// Takes a kept buffer, or nothing.
void* take_large(std::size_t bytes, int index) {
  const std::lock_guard lock(large.mutex);
  large.stats.in_use += bytes;
  large.stats.peak = std::max(large.stats.peak, large.stats.in_use);
  Free* item = large.first[index];
  if (item == nullptr) return nullptr;
  large.first[index] = item->next;
  large.stats.cached -= bytes;
  return item;
}

// Keeps a buffer, or says that it is not worth keeping.
bool keep_large(void* buffer, std::size_t bytes, int index) {
  const std::lock_guard lock(large.mutex);
  large.stats.in_use -= bytes;
  if (CAPSTAN_POOLS == 0 || large.stats.cached + bytes > large.limit) return false;
  auto* item = static_cast<Free*>(buffer);
  item->next = large.first[index];
  large.first[index] = item;
  large.stats.cached += bytes;
  return true;
}

void* allocate_large(std::size_t bytes, int index) {
  if (context.memory_budget < static_cast<std::int64_t>(bytes)) out_of_memory(bytes);
  context.memory_budget -= static_cast<std::int64_t>(bytes);
  if (void* kept = take_large(bytes, index)) return kept;
  void* buffer = map_large(bytes);
  if (buffer == nullptr) {
    trim_memory();
    buffer = map_large(bytes);
  }
  if (buffer == nullptr) {
    {
      const std::lock_guard lock(large.mutex);
      large.stats.in_use -= bytes;
    }
    context.memory_budget += static_cast<std::int64_t>(bytes);
    out_of_memory(bytes);
  }
  return buffer;
}

void free_large(void* buffer, int index) {
  const std::size_t bytes = large_size(index);
  context.memory_budget += static_cast<std::int64_t>(bytes);
  if (!keep_large(buffer, bytes, index)) unmap_large(buffer, bytes);
}

}  // namespace

void* allocate_buffer(std::size_t bytes, std::uint8_t* buffer_class) {
  if (bytes <= kLargestSmall) {
    const int list = bytes <= 64 ? 1 : std::bit_width(bytes - 1) - 5;
    *buffer_class = static_cast<std::uint8_t>(list);
    return take(list);
  }
  const int index = bytes >> 46 != 0 ? kLargeClasses : large_index(bytes);
  if (index >= kLargeClasses) out_of_memory(bytes);
  *buffer_class = static_cast<std::uint8_t>(kSmallClasses + 1 + index);
  return allocate_large(large_size(index), index);
}

void free_buffer(void* buffer, std::uint8_t buffer_class) noexcept {
  if (buffer_class <= kSmallClasses) {
    put(buffer, buffer_class);
  } else {
    free_large(buffer, buffer_class - kSmallClasses - 1);
  }
}

AllocationBudget::AllocationBudget(std::int64_t bytes) : outer_(context.memory_budget) {
  context.memory_budget = std::min(outer_, bytes);
}
AllocationBudget::~AllocationBudget() { context.memory_budget = outer_; }

namespace {

inline Block* make_block(void* memory, DType dtype) {
  auto* block = static_cast<Block*>(memory);
  new (&block->refs) std::atomic<std::uint32_t>(1);
  new (&block->flags) std::atomic<std::uint8_t>(0);
  block->dtype = dtype;
  block->buffer_class = 0;
  block->node = 0;
  return block;
}

inline Block* make_tensor_block(void* memory, DType dtype, int rank, const std::uint32_t* dims, std::int64_t count) {
  Block* block = make_block(memory, dtype);
  block->rank = static_cast<std::uint8_t>(rank);
  std::memcpy(block->dims, dims, sizeof(block->dims));
  block->count = count;
  block->data = block->inline_data;
  return block;
}

// Any block: one with a buffer, or the first of a batch.
[[gnu::noinline]] Block* new_other_block(DType dtype, int rank, const std::uint32_t* dims, std::int64_t count) {
  Block* block = make_tensor_block(take(0), dtype, rank, dims, count);
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
  if (bytes <= sizeof(block->inline_data)) return block;
  try {
    block->data = allocate_buffer(bytes, &block->buffer_class);
  } catch (...) {
    put(block, 0);
    throw;
  }
  return block;
}

}  // namespace

Block* new_block(DType dtype) { return make_block(take(0), dtype); }

// A small block from the thread's list needs no call, and so none of a call's saving of registers, which is a third of
// the instructions.
Block* new_tensor_block(DType dtype, int rank, const std::uint32_t* dims, std::int64_t count) {
  if (static_cast<std::size_t>(count) * size_of(dtype) <= sizeof(Block::inline_data)) [[likely]] {
    if (void* memory = take_at_hand(0)) [[likely]]
      return make_tensor_block(memory, dtype, rank, dims, count);
  }
  return new_other_block(dtype, rank, dims, count);
}

std::int64_t checked_size(const Shape& shape) {
  const std::int64_t count = shape.size();
  CAPSTAN_CHECK(count < (std::int64_t{1} << 58), ShapeError, "shape: ", shape, " has too many elements");
  return count;
}

Block* new_tensor_block(DType dtype, const Shape& shape) {
  const std::int64_t count = checked_size(shape);
  std::uint32_t dims[kMaxRank];
  write_dims(shape, dims);
  return new_tensor_block(dtype, shape.rank(), dims, count);
}

namespace {

// Frees what a block has beside itself, and the block.
[[gnu::noinline]] void destroy_with_buffer(Block* block, unsigned flags) noexcept {
  if ((flags & Block::kAnnotated) != 0) detail::drop_annotation(block);
  if ((flags & Block::kView) != 0) {
    release(block->owner);
  } else if ((flags & Block::kRowSparse) != 0) {
    release(block->sparse.indices);
    release(block->sparse.values);
  } else if ((flags & Block::kOnDevice) != 0) {
    detail::free_on_device(block);
  } else if (block->buffer_class == kMemoryOfOthers) {
    std::destroy_at(static_cast<SharedMemory*>(static_cast<void*>(block->inline_data)));
  } else if (block->buffer_class != 0) {
    free_buffer(block->data, block->buffer_class);
  }
  put(block, 0);
}

}  // namespace

Block* new_shared_block(DType dtype, SharedMemory memory) {
  Block* const block = new_block(dtype);
  block->buffer_class = kMemoryOfOthers;
  block->data = const_cast<void*>(memory.get());
  new (block->inline_data) SharedMemory(std::move(memory));
  return block;
}

// As in new_tensor_block, the usual case makes no call.
void detail::destroy(Block* block) noexcept {
  const unsigned flags = block->flags.load(std::memory_order_relaxed);
  if ((flags & (Block::kView | Block::kRowSparse | Block::kAnnotated)) != 0 || block->buffer_class != 0)
    return destroy_with_buffer(block, flags);
  put(block, 0);
}

MemoryStats memory_stats() {
  const std::lock_guard lock(large.mutex);
  return large.stats;
}

void trim_memory() {
  const std::lock_guard lock(large.mutex);
  for (int index = 0; index < kLargeClasses; ++index) {
    while (Free* item = large.first[index]) {
      large.first[index] = item->next;
      unmap_large(item, large_size(index));
    }
  }
  large.stats.cached = 0;
}

void set_memory_cache_limit(std::size_t bytes) {
  const std::lock_guard lock(large.mutex);
  large.limit = bytes;
}

}  // namespace capstan
