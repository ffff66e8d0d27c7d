// The one thread pool.
//
// Workers spin for a bounded time after a job and then park, because a futex wake-up costs thirty microseconds and an
// endless spin starves whoever shares the core. Work is cut into tasks by the caller as a function of shape only; which
// thread runs a task never changes a result, so results have the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "capstan/export.h"

namespace capstan {

// Runs body(context, i) for every i in [0, tasks), on the calling thread and the pool's workers, and returns when all
// are done. With one task, one thread, or when called from inside another parallel_for, everything runs inline.
// If a task throws, no further ones are begun, and the exception of one that threw reaches the caller when those that
// run have ended.
CAPSTAN_EXPORT void parallel_for(std::int64_t tasks, void (*body)(void* context, std::int64_t task), void* context);

template <class Body>
void parallel_for(std::int64_t tasks, const Body& body) {
  parallel_for(
      tasks, [](void* context, std::int64_t task) { (*static_cast<const Body*>(context))(task); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// The same for tasks of microseconds: waking a worker that sleeps may take longer than they do, so they run inline if
// all sleep. If such jobs follow each other so closely that workers would stay awake, they are woken once what two
// threads would have saved, `gain` nanoseconds for this job, adds up to more than that costs.
void parallel_for_short(std::int64_t tasks, std::int64_t gain, void (*body)(void* context, std::int64_t task),
                        void* context);

template <class Body>
void parallel_for_short(std::int64_t tasks, std::int64_t gain, const Body& body) {
  parallel_for_short(
      tasks, gain, [](void* context, std::int64_t task) { (*static_cast<const Body*>(context))(task); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// The number of threads that take part, the caller included; by default the number of cores this process may use.
CAPSTAN_EXPORT int thread_count();
CAPSTAN_EXPORT void set_thread_count(int count);

}  // namespace capstan
