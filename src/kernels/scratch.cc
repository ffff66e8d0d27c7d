#include "src/kernels/scratch.h"

#include <new>

#include "src/core/thread_end.h"

namespace capstan {

constinit thread_local Scratch::Kept Scratch::kept;

void Scratch::grow(std::size_t bytes) {
  at_thread_end(&release_all);
  release(block_);
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // The form that throws ends the process under the address sanitizer.
  block_.memory = ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow);
  if (block_.memory == nullptr) throw std::bad_alloc();
  block_.bytes = bytes;
}

void Scratch::release(Block& block) {
  if (block.memory != nullptr) ::operator delete(block.memory, std::align_val_t(kAlignment));
  block = Block{};
}

void Scratch::release_all() {
  kept.limit = 0;
  for (Block& block : kept.blocks) release(block);
}

}  // namespace capstan
