// kAutotune: threads where they pay, the order of one thread, and no more ahead than the budget allows.
#include "src/data/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using datasets::range;
using std::chrono::microseconds;
using testing::elements_of;
using testing::rest_of;
using testing::thread_total;
using testing::thread_total_down_to;
using testing::Words;

std::int64_t cheap(std::int64_t x) { return 3 * x; }

std::int64_t slow(std::int64_t x) {
  std::this_thread::sleep_for(microseconds(200 + x * 7919 % 300));
  return 3 * x;
}

// As many threads as a test needs, whatever the machine has.
class Autotune : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = num_threads();
    set_num_threads(3);
    elements_of(range(1).prefetch(1));  // what the C library starts once
    std::this_thread::sleep_for(microseconds(20000));
  }
  void TearDown() override { set_num_threads(before_); }

  // Threads that a loop with some work of its own has while it reads.
  template <class D>
  static std::ptrdiff_t threads_of(const D& dataset, int work_microseconds = 0) {
    const std::ptrdiff_t before = thread_total();
    std::ptrdiff_t most = 0;
    for ([[maybe_unused]] const auto& element : dataset) {
      std::this_thread::sleep_for(microseconds(work_microseconds));
      most = std::max(most, thread_total() - before);
    }
    EXPECT_EQ(thread_total_down_to(before), before);
    return most;
  }

 private:
  int before_ = 0;
};

TEST_F(Autotune, StartsNoThreadForWhatIsCheap) {
  EXPECT_EQ(threads_of(range(2000).map(cheap, {.num_parallel_calls = kAutotune})), 0);
  EXPECT_EQ(threads_of(range(2000).map(cheap).prefetch()), 0);
  EXPECT_EQ(threads_of(range(2000).batch(2, {.num_parallel_calls = kAutotune})), 0);
  EXPECT_EQ(threads_of(from_tensor_slices(zeros({2000, 1000})).batch(100, {.num_parallel_calls = kAutotune})), 0);
  const auto three = [](std::int64_t x) { return range(x, x + 3); };
  EXPECT_EQ(threads_of(range(700).interleave(three, {.cycle_length = 3, .num_parallel_calls = kAutotune})), 0);
}

TEST_F(Autotune, StartsThreadsForWhatIsSlow) {
  EXPECT_EQ(threads_of(range(100).map(slow, {.num_parallel_calls = kAutotune})), 3);
  const auto slow_ones = [](std::int64_t x) { return range(x, x + 20).map(slow); };
  EXPECT_EQ(threads_of(range(9).interleave(slow_ones, {.cycle_length = 3, .num_parallel_calls = kAutotune})), 3);
  EXPECT_EQ(threads_of(range(9).interleave(slow_ones, {.cycle_length = 2, .num_parallel_calls = kAutotune})), 2);
  // One is enough for a loop that takes longer.
  EXPECT_LE(threads_of(range(60).map(slow, {.num_parallel_calls = kAutotune}), 3000), 2);
  EXPECT_EQ(threads_of(range(60).map(slow).prefetch(), 300), 1);
  // Nothing is won by a thread that works while the loop waits.
  const std::ptrdiff_t before = thread_total();
  const auto dataset = range(60).map(slow).prefetch();
  auto iterator = dataset.begin();
  for (int i = 0; i < 50; ++i) iterator.next();
  EXPECT_EQ(thread_total(), before);
  // A function that becomes slow.
  const auto later = [](std::int64_t x) { return x < 600 ? cheap(x) : slow(x); };
  EXPECT_GE(threads_of(range(1200).map(later, {.num_parallel_calls = kAutotune})), 1);
}

TEST_F(Autotune, KeepsTheOrder) {
  const auto fails = [](std::int64_t x) {
    if (x % 11 == 3) throw ValueError("three");
    return slow(x);
  };
  EXPECT_EQ(elements_of(range(200).map(slow, {.num_parallel_calls = kAutotune}).prefetch()),
            elements_of(range(200).map(slow)));
  EXPECT_EQ(elements_of(range(100).map(fails, {.num_parallel_calls = kAutotune}).prefetch()),
            elements_of(range(100).map(fails)));
  EXPECT_EQ(elements_of(range(100).map(fails).batch(3, {.num_parallel_calls = kAutotune})),
            elements_of(range(100).map(fails).batch(3)));
  for (const bool drop : {false, true}) {
    const auto big = range(50).map([](std::int64_t x) { return fill({20000}, static_cast<float>(x)); });
    EXPECT_EQ(elements_of(big.batch(4, {.drop_remainder = drop, .num_parallel_calls = kAutotune})),
              elements_of(big.batch(4, {.drop_remainder = drop})));
  }
}

// Whenever threads start, with inner datasets of any length, some of which cannot be opened or fail.
TEST_F(Autotune, KeepsTheOrderOfInnerDatasets) {
  std::minstd_rand random(7);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<std::int64_t> lengths(random() % 12);
    for (std::int64_t& length : lengths) length = static_cast<std::int64_t>(random() % 9);
    const std::int64_t cycle = 1 + static_cast<std::int64_t>(random() % 4);
    const std::int64_t block = 1 + static_cast<std::int64_t>(random() % 3);
    const std::int64_t cheap_until = static_cast<std::int64_t>(random() % 600);
    const auto input = from_range(lengths).enumerate().map([](std::int64_t i, std::int64_t length) {
      if (i == 7) throw ValueError("the seventh");
      return std::tuple(i, length);
    });
    const auto open = [&](std::int64_t i, std::int64_t length) {
      if (length == 8) throw ValueError("eight");
      return range(100 * i, 100 * i + length).map([&](std::int64_t x) {
        if (x % 37 == 5) throw ValueError("five");
        return x < cheap_until ? cheap(x) : slow(x);
      });
    };
    const auto make = [&](std::int64_t calls, bool deterministic = true) {
      return input.interleave(
          open,
          {.cycle_length = cycle, .block_length = block, .num_parallel_calls = calls, .deterministic = deterministic});
    };
    const Words want = elements_of(make(0));
    EXPECT_EQ(elements_of(make(kAutotune)), want) << trial;
    Words any = elements_of(make(kAutotune, false)), sorted = want;
    std::sort(any.begin(), any.end());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(any, sorted) << trial;
  }
}

TEST_F(Autotune, InterleavesWithinItsBudget) {
  std::atomic<int> made = 0;
  const auto open = [&made](std::int64_t) {
    return range(500).map([&made](std::int64_t) {
      ++made;
      std::this_thread::sleep_for(microseconds(300));
      return zeros({1 << 18});
    });
  };
  const auto ahead_of = [&](std::int64_t bytes) {
    auto iterator = range(3)
                        .interleave(open, {.cycle_length = 3, .num_parallel_calls = kAutotune})
                        .with_options({.autotune_bytes = bytes})
                        .begin();
    int taken = 0;
    for (; taken < 60; ++taken) iterator.next();
    std::this_thread::sleep_for(microseconds(50000));
    return made.exchange(0) - taken;
  };
  EXPECT_GE(ahead_of(std::int64_t{1} << 30), 4);
  EXPECT_LE(ahead_of(0), 3);
}

// Before and after threads start.
TEST_F(Autotune, HasPositionsAtEveryElement) {
  const auto make = [] {
    return range(20)
        .map(slow, {.num_parallel_calls = kAutotune})
        .interleave([](std::int64_t x) { return range(x, x + 2).map(slow); },
                    {.cycle_length = 2, .num_parallel_calls = kAutotune})
        .batch(2, {.num_parallel_calls = kAutotune})
        .prefetch();
  };
  const Words all = elements_of(make());
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    SCOPED_TRACE(cut);
    auto iterator = make().begin();
    for (std::size_t i = 0; i < cut; ++i) {
      iterator.next();
      std::this_thread::sleep_for(microseconds(100));
    }
    auto restored = make().begin();
    restored.restore(iterator.save());
    auto again = make().begin();
    again.restore(restored.save());
    const Words rest(all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
    EXPECT_EQ(rest_of(restored), rest);
    EXPECT_EQ(rest_of(again), rest);
    EXPECT_EQ(rest_of(iterator), rest);
  }
}

// Tensors of 1 MB: how many are made while the loop rests.
TEST_F(Autotune, HoldsNoMoreThanItsBudget) {
  std::atomic<int> made = 0;
  const auto large = [&made](std::int64_t) {
    ++made;
    std::this_thread::sleep_for(microseconds(300));
    return zeros({1 << 18});
  };
  const auto ahead_of = [&](std::int64_t bytes) {
    auto iterator = range(1000)
                        .map(large, {.num_parallel_calls = kAutotune})
                        .prefetch()
                        .with_options({.autotune_bytes = bytes})
                        .begin();
    int taken = 0;
    for (; taken < 60; ++taken) {
      iterator.next();
      std::this_thread::sleep_for(microseconds(20));
    }
    std::this_thread::sleep_for(microseconds(50000));
    return made.exchange(0) - taken;
  };
  EXPECT_GE(ahead_of(std::int64_t{1} << 30), 4);
  // One of each stage, and one that each worker may have begun.
  EXPECT_LE(ahead_of(0), 5);
  const auto dataset = range(6).batch(2).with_options({});
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(elements_of(dataset), elements_of(range(6).batch(2)));
  EXPECT_EQ(testing::message_of<ValueError>([] { range(1).with_options({.autotune_bytes = -1}); }),
            "with_options: autotune_bytes is -1\n  help: 0 allows one element of each stage");
}

TEST_F(Autotune, MakesMoreAheadWhereElementsComeInBursts) {
  // Ten elements that are there, and one that takes as long as ten turns of the loop.
  std::atomic<int> made = 0;
  const auto bursts = range(2000).map([&made](std::int64_t x) {
    ++made;
    std::this_thread::sleep_for(microseconds(x % 10 == 0 ? 3000 : 30));
    return x;
  });
  const auto dataset = bursts.prefetch();
  int taken = 0, most = 0;
  for (auto iterator = dataset.begin(); taken < 200; ++taken) {
    EXPECT_EQ(*iterator.next(), taken);
    std::this_thread::sleep_for(microseconds(300));
    most = std::max(most, made - taken - 1);
  }
  EXPECT_GT(most, 3);
}

TEST(Sampler, GivesMeansOfFewElements) {
  detail::Sampler sampler;
  int rows = 0, sampled = 0;
  for (int i = 0; i < 1100; ++i) {
    if (!sampler.is_next()) continue;
    sampler.begin();
    const bool is_row = sampler.end();
    if (is_row) {
      ++rows;
      sampled = i;
      EXPECT_GE(sampler.take_within(), 0);
      EXPECT_GE(sampler.take_between(), 0);
    }
  }
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(sampled, 1027);
}

}  // namespace
}  // namespace capstan
