// Short-lived memory of a kernel, kept by the thread between calls.
//
// A convolution copies a padded image before it multiplies; fresh memory for it would cost a page
// fault per four kilobytes on every call. A Scratch takes the thread's cached block of its slot if
// nobody holds it and gives it back at the end of the scope. Blocks larger than kKeptBytes are not
// kept, so that one large call does not stay in the resident set for ever.
#pragma once

#include <cstddef>

namespace capstan {

// Which cached block a Scratch uses: memory shared by the tasks of a call, or memory of one task.
// The caller of parallel_for runs tasks itself, so the two must not be the same block. A fused loop (src/graph) keeps
// operands in a third while it uses both; sums that are taken while a kernel runs (row_sums.h), what a prologue
// makes for a task (src/core/execution.h), and the parts of A and B that a matrix product packs have blocks of their
// own, too.
enum class ScratchSlot { kCall, kTask, kSpread, kSums, kMade, kPackedA, kPackedB };
inline constexpr int kScratchSlots = 7;

class Scratch {
 public:
  Scratch(ScratchSlot slot, std::size_t bytes) : cached_(&kept.blocks[static_cast<int>(slot)]), block_(*cached_) {
    *cached_ = Block{};
    if (block_.bytes < bytes) [[unlikely]]
      grow(bytes);
  }
  ~Scratch() {
    if (cached_->memory != nullptr || block_.bytes > kept.limit) [[unlikely]] {
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
  static constexpr std::size_t kAlignment = 4096;  // a page: large blocks begin where tiles like their rows to begin
  static constexpr std::size_t kKeptBytes = std::size_t{2} << 20;

  struct Block {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  // Without a destructor, so that an access is one instruction and what runs while the process ends finds memory.
  struct Kept {
    Block blocks[kScratchSlots];
    std::size_t limit = kKeptBytes;
  };
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Kept kept;

  void grow(std::size_t bytes);
  static void release(Block& block);
  static void release_all();  // when the thread ends

  Block* cached_;
  Block block_;
};

}  // namespace capstan
