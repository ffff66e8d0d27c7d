// The thread pool, see thread_pool.h.
//
// One word, `state`, holds everything that caller and workers agree on: the number of the current
// job, whether it may still be joined, and how many workers are inside it. A worker joins by a
// compare-and-swap that succeeds only while the job is open, and reads the job's fields only
// afterwards; the caller closes the job when it finds no task left and waits for those inside, not
// for those that are still waking up. So a short job never waits for a sleeping worker, and the
// fields can be plain variables.
//
// Caller and workers spin for a bounded time before they sleep on a condition variable. Whoever
// changes the state looks at a counter of sleepers afterwards, and a sleeper looks at the state
// after it has counted itself; both use sequentially consistent operations, so one of them sees the
// other.
//
// The pool is never destroyed and its workers are not joined when the process ends: they sleep,
// hold no lock and touch nothing that has a destructor, so the order of static destructors does not
// matter. A child made by fork() has no workers; it starts with a new pool.
#include "src/core/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/core/context.h"

namespace capstan {
namespace {

// The layout of the state word: a job number in the upper half, flags, and a count of workers.
constexpr std::uint64_t kInside = 0xFFFF;
constexpr std::uint64_t kOpen = 1u << 16;
constexpr std::uint64_t kStop = 1u << 17;
constexpr std::uint64_t kNextJob = std::uint64_t{1} << 32;

constexpr std::uint64_t job_number(std::uint64_t state) { return state >> 32; }

// Long enough to bridge the serial code between two jobs of a training step, and about as long as
// the wake-up that it avoids.
constexpr std::chrono::microseconds kSpinTime{40};
constexpr int kMaximumThreads = 1024;
// What waking a worker costs its caller, on a virtual machine.
constexpr std::int64_t kWakeTime = 45'000;

constinit std::atomic<int> wanted_threads{0};  // 0: not decided yet

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until `done()` or until the time is up; returns whether `done()` held.
template <class Done>
bool spin_until(const Done& done) {
  if (done()) return true;
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 16; ++i) {
      pause();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

class Pool {
 public:
  // Runs the tasks with up to `threads` threads. Returns false, having done nothing, when another
  // thread is using the pool, or if everybody sleeps and `gain` is not worth waking them. Throws
  // what a task threw.
  bool run(int threads, std::int64_t tasks, std::int64_t gain, void (*body)(void*, std::int64_t), void* context) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const bool wakes = gain >= kWakeTime || (is_asleep(threads) && is_worth_waking(gain));
    if (!wakes && is_asleep(threads)) {
      busy_.store(false, std::memory_order_release);
      return false;
    }
    if (static_cast<int>(workers_.size()) != threads - 1) resize(threads - 1);  // which throws nothing
    body_ = body;
    context_ = context;
    tasks_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    publish(kOpen, wakes);
    work();
    close_job();
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    busy_.store(false, std::memory_order_release);
    if (failure) [[unlikely]]
      std::rethrow_exception(failure);
    return true;
  }

 private:
  // Takes tasks until none is left.
  void work() noexcept {
    for (;;) {
      const std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks_) return;
      try {
        body_(context_, task);
      } catch (...) {
        next_.store(tasks_, std::memory_order_relaxed);
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        return;
      }
    }
  }

  // Whether no worker waits for a job, or there are none yet.
  bool is_asleep(int threads) const {
    const auto workers = static_cast<int>(workers_.size());
    return workers != threads - 1 || sleeping_workers_.load(std::memory_order_relaxed) == workers;
  }

  // Adds up what short jobs have missed since there was last a pause after which workers sleep again.
  bool is_worth_waking(std::int64_t gain) {
    const auto time = std::chrono::steady_clock::now();
    if (time - last_missed_ > kSpinTime + std::chrono::nanoseconds(2 * gain)) missed_ = 0;
    last_missed_ = time;
    missed_ += gain;
    if (missed_ < kWakeTime) return false;
    missed_ = 0;
    return true;
  }

  void publish(std::uint64_t flags, bool wakes = true) {
    const std::uint64_t old = state_.load(std::memory_order_relaxed);
    state_.store((job_number(old) + 1) * kNextJob | flags, std::memory_order_seq_cst);
    if (wakes && sleeping_workers_.load(std::memory_order_seq_cst) > 0) {
      { std::lock_guard<std::mutex> lock(mutex_); }
      wake_workers_.notify_all();
    }
  }

  void close_job() {
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    const auto empty = [this] { return (state_.load(std::memory_order_seq_cst) & kInside) == 0; };
    if (spin_until(empty)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    caller_sleeps_.store(true, std::memory_order_seq_cst);
    wake_caller_.wait(lock, empty);
    caller_sleeps_.store(false, std::memory_order_relaxed);
  }

  // Waits for a job other than `seen` and returns the state that announced it.
  std::uint64_t wait_for_job(std::uint64_t seen) {
    std::uint64_t state = 0;
    const auto changed = [&] {
      state = state_.load(std::memory_order_seq_cst);
      return job_number(state) != seen;
    };
    if (spin_until(changed)) return state;
    std::unique_lock<std::mutex> lock(mutex_);
    sleeping_workers_.fetch_add(1, std::memory_order_seq_cst);
    wake_workers_.wait(lock, changed);
    sleeping_workers_.fetch_sub(1, std::memory_order_relaxed);
    return state;
  }

  bool join(std::uint64_t state) {
    const std::uint64_t job = job_number(state);
    while ((state & kOpen) != 0 && job_number(state) == job) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }

  void leave() {
    const std::uint64_t old = state_.fetch_sub(1, std::memory_order_seq_cst);
    const bool last = (old & kInside) == 1 && (old & kOpen) == 0;
    if (last && caller_sleeps_.load(std::memory_order_seq_cst)) {
      { std::lock_guard<std::mutex> lock(mutex_); }
      wake_caller_.notify_one();
    }
  }

  void worker(std::uint64_t seen) {
    context.runs_task = true;
    for (;;) {
      const std::uint64_t state = wait_for_job(seen);
      if ((state & kStop) != 0) return;
      seen = job_number(state);
      if (join(state)) {
        work();
        leave();
      }
    }
  }

  // Replaces the workers by `count` new ones; they do not handle signals, which belong to the
  // user's threads. Called by the thread that holds the pool. If the system refuses a thread or the memory for
  // one, the pool is smaller; it tries again at the next job.
  void resize(int count) noexcept {
    publish(kStop);
    for (std::thread& thread : workers_) thread.join();
    workers_.clear();
    // The stop flag goes, the number stays: new workers wait for the next one.
    const std::uint64_t seen = job_number(state_.load(std::memory_order_relaxed));
    state_.store(seen * kNextJob, std::memory_order_seq_cst);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      workers_.reserve(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) workers_.emplace_back([this, seen] { worker(seen); });
    } catch (const std::exception&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Workers spin on the state and all threads write the task counter: one cache line each.
  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<bool> busy_{false};  // held by the thread whose job it is
  void (*body_)(void*, std::int64_t) = nullptr;
  void* context_ = nullptr;
  std::int64_t tasks_ = 0;
  std::exception_ptr failure_;  // of the job; the mutex guards it
  std::int64_t missed_ = 0;     // nanoseconds that short jobs would have saved
  std::chrono::steady_clock::time_point last_missed_;
  std::vector<std::thread> workers_;

  std::mutex mutex_;
  std::condition_variable wake_workers_;
  std::condition_variable wake_caller_;
  std::atomic<int> sleeping_workers_{0};
  std::atomic<bool> caller_sleeps_{false};
};

constinit std::atomic<Pool*> the_pool{nullptr};

Pool& pool() {
  Pool* current = the_pool.load(std::memory_order_acquire);
  if (current != nullptr) [[likely]] {
    return *current;
  }
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr, std::memory_order_relaxed); });
  static_cast<void>(registered);
  Pool* fresh = new Pool;
  if (the_pool.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;  // another thread was first
  return *current;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  if (count == 0) count = static_cast<int>(std::thread::hardware_concurrency());
  return count < 1 ? 1 : count;
}

}  // namespace

int thread_count() {
  int count = wanted_threads.load(std::memory_order_relaxed);
  if (count == 0) [[unlikely]] {
    // A set_thread_count() that comes in between wins.
    const int cores = usable_cores();
    if (wanted_threads.compare_exchange_strong(count, cores, std::memory_order_relaxed)) {
      return cores;
    }
  }
  return count;
}

void set_thread_count(int count) {
  if (count < 1) count = usable_cores();
  if (count > kMaximumThreads) count = kMaximumThreads;
  wanted_threads.store(count, std::memory_order_relaxed);
}

void parallel_for(std::int64_t tasks, void (*body)(void* context, std::int64_t task), void* context) {
  parallel_for_short(tasks, kWakeTime, body, context);
}

void parallel_for_short(std::int64_t tasks, std::int64_t gain, void (*body)(void* context, std::int64_t task),
                        void* context) {
  if (tasks > 1 && !capstan::context.runs_task) {
    const int threads = thread_count();
    if (threads > 1) {
      struct Inside {
        Inside() { capstan::context.runs_task = true; }
        ~Inside() { capstan::context.runs_task = false; }
      };
      const auto run = [&] {
        const Inside inside;
        return pool().run(threads, tasks, gain, body, context);
      };
      if (run()) return;
    }
  }
  for (std::int64_t task = 0; task < tasks; ++task) body(context, task);
}

}  // namespace capstan
