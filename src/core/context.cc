#include "src/core/context.h"

#include <atomic>

#include "capstan/error.h"

namespace capstan {

thread_local constinit Context context;

void Observer::leave_from_within() {
  Observer** link = &context.observers;
  while (*link != nullptr && *link != this) link = &(*link)->outer;
  if (*link == this) *link = outer;
}

namespace {
constinit std::atomic<std::uint64_t> next_range{1};
}  // namespace

// Threads take ranges of 2^32 numbers, so numbers of different threads never meet and a tape's numbers are consecutive.
void reserve_nodes() {
  if (context.observers != context.guard && context.nodes_end != 0) {
    throw GradientError("tape: more than 4294967295 recorded results on one thread while a tape is active");
  }
  const std::uint64_t range = next_range.fetch_add(1, std::memory_order_relaxed);
  context.next_node = range << 32;
  context.nodes_end = (range + 1) << 32;
}

}  // namespace capstan
