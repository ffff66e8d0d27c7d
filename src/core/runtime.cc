#include "capstan/runtime.h"

#include "src/core/check.h"
#include "src/core/thread_pool.h"

namespace capstan {

void set_num_threads(int count) {
  CAPSTAN_CHECK(count >= 1, ValueError, "set_num_threads: needs at least one thread, not ", count);
  set_thread_count(count);
}

int num_threads() { return thread_count(); }

}  // namespace capstan
