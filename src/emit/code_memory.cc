#include "src/emit/code_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#if defined(__unix__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace capstan::emit {
namespace {

constinit std::atomic<bool> refused{false};

#if defined(__unix__)
constexpr std::size_t kArena = std::size_t{256} << 10;

struct Arena {
  std::mutex mutex;
  std::uint8_t* free = nullptr;
  std::size_t left = 0;
  std::size_t taken = 0;
};
Arena& arena() {
  static auto* const arena = new Arena;  // never destroyed, as its memory
  return *arena;
}
#endif

}  // namespace

void refuse_code_memory(bool refuse) { refused.store(refuse); }

const std::uint8_t* place_code(std::span<const std::uint8_t> code) {
  if (refused.load()) return nullptr;
#if defined(__unix__)
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = (code.size() + page - 1) / page * page;
  Arena& a = arena();
  const std::lock_guard lock(a.mutex);
  if (a.taken + size > kCodeLimit) return nullptr;
  if (a.left < size) {
    // What is left of the last arena is lost: less than one kernel.
    const std::size_t bytes = std::max(size, kArena);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    a.free = static_cast<std::uint8_t*>(memory);
    a.left = bytes;
  }
  // Whole pages, because the pages before may be running.
  std::uint8_t* const at = a.free;
  std::memcpy(at, code.data(), code.size());
  if (mprotect(at, size, PROT_READ | PROT_EXEC) != 0) return nullptr;
  a.free += size;
  a.left -= size;
  a.taken += size;
  return at;
#else
  return nullptr;
#endif
}

}  // namespace capstan::emit
