// Something that is done once, by the first thread that needs it.
//
// std::call_once keeps what it calls in thread-local variables of libstdc++. With the initial-exec model, which the
// library is compiled with, such an access is possible only if libstdc++ was loaded with the program, so a library that
// uses it cannot be opened by a program that opened libstdc++ itself.
#pragma once

#include <atomic>
#include <mutex>

namespace capstan {

class Once {
 public:
  // Runs `f` unless an earlier call has; waits for one that is running. If `f` throws, the next call runs it again.
  template <class F>
  void run(const F& f) {
    if (done_.load(std::memory_order_acquire)) [[likely]]
      return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    f();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
};

}  // namespace capstan
