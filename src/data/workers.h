// Threads that belong to a cursor and end with it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

  // With fewer threads if the system has no more. Errors: std::system_error if it has none.
  void start(std::int64_t count, const std::function<void()>& body) {
    for (std::int64_t i = 0; i < count; ++i) {
      try {
        threads_.emplace_back(body);
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;
        return;
      }
    }
  }
  bool started() const { return !threads_.empty(); }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace capstan::detail
