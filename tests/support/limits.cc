#include "tests/support/limits.h"

#include <stdlib.h>
#include <time.h>

#include <fstream>

namespace capstan::testing {

namespace {

// Threads of OpenBLAS take their buffers when they start, which can be after a limit is set: it shall have none.
[[maybe_unused]] const int no_threads = setenv("OPENBLAS_NUM_THREADS", "1", 1);

}  // namespace

double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

MemoryLimit::MemoryLimit() {
  if (CAPSTAN_SANITIZED) return;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  getrlimit(RLIMIT_AS, &before_);
  rlimit limit = before_;
  limit.rlim_cur = pages * 4096 + (std::size_t{128} << 20);
  setrlimit(RLIMIT_AS, &limit);
}

MemoryLimit::~MemoryLimit() {
  if (!CAPSTAN_SANITIZED) setrlimit(RLIMIT_AS, &before_);
}

}  // namespace capstan::testing

#if CAPSTAN_SANITIZED
// Read by the sanitizers before main; their libraries are shared ones, which find these only if they are visible.
#define CAPSTAN_SANITIZER_OPTIONS extern "C" [[gnu::visibility("default")]] const char*
CAPSTAN_SANITIZER_OPTIONS __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=256:soft_rss_limit_mb=3000:quarantine_size_mb=1";
}
CAPSTAN_SANITIZER_OPTIONS __tsan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=256:halt_on_error=1";
}
#endif
