#pragma once

#include <cstddef>
#include <cstdint>

#include "capstan/export.h"

namespace capstan {

/// The number of threads that work on one operation, the caller included; by default the cores this process may use.
/// Results have the same bits for any number. Errors: ValueError below 1.
///
///     set_num_threads(num_threads());
///     num_threads();
CAPSTAN_EXPORT void set_num_threads(int count);
CAPSTAN_EXPORT int num_threads();

/// What the allocator holds, in bytes.
struct MemoryStats {
  std::size_t in_use = 0;  ///< Large buffers that tensors hold now.
  std::size_t cached = 0;  ///< Freed and kept for reuse.
  std::size_t peak = 0;    ///< The largest `in_use` so far.
};
/// The numbers as they are now.
///
///     memory_stats().in_use;
CAPSTAN_EXPORT MemoryStats memory_stats();

/// Gives cached memory back to the system.
///
///     trim_memory();
CAPSTAN_EXPORT void trim_memory();

/// The most memory that is kept for reuse; 1 GiB unless set.
///
///     set_memory_cache_limit(std::size_t{1} << 30);
CAPSTAN_EXPORT void set_memory_cache_limit(std::size_t bytes);

}  // namespace capstan
