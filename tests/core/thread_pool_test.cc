#include "src/core/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <mutex>
#include <thread>
#include <vector>

#include "src/core/cpu.h"

namespace capstan {
namespace {

class ThreadPool : public testing::Test {
 protected:
  ~ThreadPool() override { set_thread_count(0); }
};

// Runs a job and counts how often each task ran.
void expect_each_task_once(std::int64_t tasks) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
  parallel_for(tasks, [&](std::int64_t task) { runs[static_cast<std::size_t>(task)].fetch_add(1); });
  for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
}

TEST_F(ThreadPool, RunsEachTaskOnce) {
  for (int threads : {1, 2, 5}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    for (std::int64_t tasks : {0, 1, 2, 3, 100, 5000}) expect_each_task_once(tasks);
  }
}

TEST_F(ThreadPool, SeesTheResultsOfAllTasksAfterwards) {
  set_thread_count(3);
  std::vector<std::int64_t> values(64);  // plain variables, for the thread sanitizer
  for (std::int64_t round = 0; round < 2000; ++round) {
    parallel_for(64, [&](std::int64_t task) { values[static_cast<std::size_t>(task)] += task + round; });
  }
  for (std::int64_t task = 0; task < 64; ++task) {
    EXPECT_EQ(values[static_cast<std::size_t>(task)], 2000 * task + 1999 * 2000 / 2);
  }
}

TEST_F(ThreadPool, UsesSeveralThreads) {
  set_thread_count(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Each of the two tasks waits until the other has begun.
  std::atomic<int> begun{0};
  parallel_for(2, [&](std::int64_t) {
    begun.fetch_add(1);
    while (begun.load() < 2) std::this_thread::yield();
    std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST_F(ThreadPool, RunsNestedJobsInline) {
  set_thread_count(4);
  std::atomic<int> runs{0};
  std::atomic<int> elsewhere{0};
  parallel_for(8, [&](std::int64_t) {
    const auto self = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      runs.fetch_add(1);
      if (std::this_thread::get_id() != self) elsewhere.fetch_add(1);
    });
  });
  EXPECT_EQ(runs.load(), 64);
  EXPECT_EQ(elsewhere.load(), 0);
  expect_each_task_once(100);
}

TEST_F(ThreadPool, ServesSeveralUserThreads) {
  set_thread_count(3);
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([] {
      for (int i = 0; i < 300; ++i) expect_each_task_once(1 + i % 17);
    });
  }
  for (std::thread& user : users) user.join();
}

TEST_F(ThreadPool, TakesANewCountAtAnyTime) {
  std::atomic<bool> stop{false};
  std::thread setter([&] {
    for (int i = 0; !stop.load(); ++i) {
      set_thread_count(1 + i % 5);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 200; ++i) expect_each_task_once(20);
  stop = true;
  setter.join();
}

TEST_F(ThreadPool, WakesWorkersThatSleep) {
  set_thread_count(3);
  for (int i = 0; i < 20; ++i) {
    expect_each_task_once(50);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_F(ThreadPool, RunsEachTaskOfShortJobsOnce) {
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    // Of no gain, of some, and of so much that sleepers are woken.
    for (const std::int64_t gain : {0, 2000, 1'000'000}) {
      for (int round = 0; round < 300; ++round) {
        std::vector<std::atomic<int>> runs(7);
        parallel_for_short(7, gain, [&](std::int64_t task) { runs[static_cast<std::size_t>(task)].fetch_add(1); });
        for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

TEST_F(ThreadPool, WakesNobodyForOneShortJob) {
  set_thread_count(2);
  for (int i = 0; i < 20; ++i) {
    expect_each_task_once(50);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::thread::id self = std::this_thread::get_id();
    std::atomic<int> others{0};
    parallel_for_short(4, 1000, [&](std::int64_t) { others += std::this_thread::get_id() != self ? 1 : 0; });
    EXPECT_EQ(others.load(), 0);
  }
}

// Jobs that follow each other closely wake workers after a while, who stay awake.
TEST_F(ThreadPool, UsesSeveralThreadsForManyShortJobs) {
  set_thread_count(2);
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<int> others{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (others.load() == 0 && std::chrono::steady_clock::now() < end) {
    parallel_for_short(2, 5000, [&](std::int64_t) {
      others += std::this_thread::get_id() != self ? 1 : 0;
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
      while (std::chrono::steady_clock::now() < until) {
      }
    });
  }
  EXPECT_GT(others.load(), 0);
}

TEST_F(ThreadPool, UsesTheCoresOfTheProcessByDefault) {
  set_thread_count(3);
  set_thread_count(0);
  EXPECT_GE(thread_count(), 1);
  EXPECT_LE(thread_count(), static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
}

// The thread sanitizer does not support threads in a forked child.
#if defined(__SANITIZE_THREAD__)
constexpr bool kCanForkThreads = false;
#else
constexpr bool kCanForkThreads = true;
#endif

// A child has no workers; it must neither hang nor lose tasks, and must end.
TEST_F(ThreadPool, WorksInAForkedChild) {
  if (!kCanForkThreads) GTEST_SKIP() << "the thread sanitizer cannot start threads in a child";
  set_thread_count(2);
  expect_each_task_once(100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    std::atomic<int> runs{0};
    parallel_for(100, [&](std::int64_t) { runs.fetch_add(1); });
    _exit(runs.load() == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ThreadPool, HandsOnWhatATaskThrows) {
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    for (const std::int64_t bad : {0, 57, 99}) {
      std::atomic<int> runs{0};
      const auto run = [&] {
        parallel_for(100, [&](std::int64_t task) {
          runs.fetch_add(1);
          if (task == bad) throw std::runtime_error("task");
        });
      };
      EXPECT_THROW(run(), std::runtime_error);
      EXPECT_GE(runs.load(), 1);
      // The pool is as good as new, and a call from inside a task still runs inline.
      expect_each_task_once(100);
    }
  }
}

// Workers are left alone when the process ends, also while they spin.
TEST_F(ThreadPool, LetsTheProcessEnd) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        set_thread_count(3);
        expect_each_task_once(100);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InstructionSet, IsOneOfTheTable) {
  EXPECT_GE(instruction_set(), kPortable);
  EXPECT_LT(instruction_set(), kInstructionSets);
}

// Runs before the constructors of other files may have; the answer must not change afterwards.
const int early = instruction_set();
TEST(InstructionSet, IsKnownBeforeMain) { EXPECT_EQ(early, instruction_set()); }

}  // namespace
}  // namespace capstan
