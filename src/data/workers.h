// Threads that belong to a cursor and end with it.
//
// No exception leaves a thread. An error of an input or of a user's function is in the place of its element. What
// the thread itself needs, such as a node of a list, it allocates before it reads its input; if that fails it has read
// nothing, leaves the error in a `failure_` of the cursor, and all threads rest until the consumer has thrown it on.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/core/profiler.h"
#include "src/core/thread_pool.h"
#include "src/data/stage.h"

namespace capstan::detail {

// What a user may ask for; more are not started, since their stacks would fill the address space of small machines.
inline constexpr std::int64_t kMostWorkers = 256;

// The number of threads for `parallel_calls`, which may be kAutotune.
inline std::int64_t worker_count(std::int64_t parallel_calls) {
  return std::clamp<std::int64_t>(parallel_calls == kAutotune ? thread_count() : parallel_calls, 1, kMostWorkers);
}

// Runs a function on some threads. The owner tells it to end and wakes it up before this goes.
class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { join(); }

  // With fewer threads if the system has no more, or no memory for them. Errors: std::system_error or std::bad_alloc if
  // there is not one.
  void start(std::int64_t count, const std::function<void()>& body) {
    for (std::int64_t i = 0; i < count; ++i) {
      try {
        threads_.emplace_back([body] {
          mark_stage_thread();
          body();
        });
      } catch (const std::exception&) {
        if (threads_.empty()) throw;
        return;
      }
    }
  }
  bool started() const { return !threads_.empty(); }
  void join() noexcept {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

// Waits until threads have done something; a span of a profile, unless they have.
template <class Done>
void wait_for_threads(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, const char* stage,
                      const Done& is_done) {
  if (is_done()) return;
  const Span span(SpanKind::kWait, stage);
  changed.wait(lock, is_done);
}

// Throws the error that threads have left for the consumer, after which they may go on. The lock is that of the error.
[[noreturn]] inline void throw_failure(std::exception_ptr& failure, std::unique_lock<std::mutex>& lock,
                                       std::condition_variable& resting) {
  const std::exception_ptr error = std::exchange(failure, nullptr);
  lock.unlock();
  resting.notify_all();
  std::rethrow_exception(error);
}

}  // namespace capstan::detail
