// Allocations that fail on purpose: the functions of the program that allocate, replaced.
//
// For one file of a program, and not under a sanitizer, which has its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/support/limits.h"

#if !CAPSTAN_SANITIZED

namespace {

constexpr std::int64_t kNever = INT64_MIN;
// How many allocations succeed before one fails.
constinit std::atomic<std::int64_t> left{kNever};

bool fails() {
  return left.load(std::memory_order_relaxed) != kNever && left.fetch_sub(1, std::memory_order_relaxed) == 0;
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = fails() ? nullptr : std::malloc(bytes + (bytes == 0));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (fails() || posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes + (bytes == 0)) != 0)
    throw std::bad_alloc();
  return memory;
}
// Not inlined: the compiler would see memory of `new` go to `free`.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

// What the allocator and kernels call.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* memory = nullptr;
  return fails() || posix_memalign(&memory, alignment, bytes) != 0 ? nullptr : memory;
}

namespace capstan::testing {

// While it lives the allocation after `count` others fails.
class FailAfter {
 public:
  explicit FailAfter(std::int64_t count) { left = count; }
  ~FailAfter() { left = kNever; }
  FailAfter(const FailAfter&) = delete;
  FailAfter& operator=(const FailAfter&) = delete;

  bool has_failed() const { return left.load() < 0; }
};

}  // namespace capstan::testing

#endif
