// Short-lived memory of a kernel, kept by the thread between calls.
//
// A convolution copies a padded image before it multiplies; fresh memory for it would cost a page
// fault per four kilobytes on every call. A Scratch takes the thread's cached block of its slot if
// nobody holds it and gives it back at the end of the scope. Blocks larger than kKeptBytes are not
// kept, so that one large call does not stay in the resident set for ever.
#pragma once

#include <cstddef>
#include <new>

namespace capstan {

// Which cached block a Scratch uses: memory shared by the tasks of a call, or memory of one task.
// The caller of parallel_for runs tasks itself, so the two must not be the same block. A fused loop (src/graph) keeps
// operands in a third while it uses both; sums that are taken while a kernel runs (row_sums.h), and what a prologue
// makes for a task (prologue.h), have blocks of their own, too.
enum class ScratchSlot { kCall, kTask, kSpread, kSums, kMade };
inline constexpr int kScratchSlots = 5;

class Scratch {
 public:
  Scratch(ScratchSlot slot, std::size_t bytes) : cached_(&cache(slot)) {
    block_ = *cached_;
    *cached_ = Block{};
    if (block_.bytes < bytes) {
      release(block_);
      // The form that throws ends the process under the address sanitizer.
      block_.memory = ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow);
      if (block_.memory == nullptr) throw std::bad_alloc();
      block_.bytes = bytes;
    }
  }
  ~Scratch() {
    if (cached_->memory != nullptr || block_.bytes > kKeptBytes) {
      release(block_);
    } else {
      *cached_ = block_;
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(block_.memory);
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

  struct Block {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  struct Cache {
    Block blocks[kScratchSlots];
    ~Cache() {
      for (Block& block : blocks) release(block);
    }
  };

  static void release(Block& block) {
    if (block.memory != nullptr) ::operator delete(block.memory, std::align_val_t(kAlignment));
    block = Block{};
  }
  static Block& cache(ScratchSlot slot) {
    static thread_local Cache cache;
    return cache.blocks[static_cast<int>(slot)];
  }

  Block* cached_;
  Block block_;
};

}  // namespace capstan
