// Threads of datasets: the order of results, what they hold, and that they end with their iterator.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using datasets::range;
using testing::elements_of;
using testing::thread_total;
using testing::thread_total_down_to;
using testing::Words;

// Takes a time that depends on x in no simple way.
std::int64_t slow_square(std::int64_t x) {
  std::this_thread::sleep_for(std::chrono::microseconds(x * 7919 % 300));
  return x * x;
}

TEST(Workers, GiveTheOrderOfOneThread) {
  const Words want = elements_of(range(100).map(slow_square));
  for (const std::int64_t calls : {1, 2, 7, 200}) {
    EXPECT_EQ(elements_of(range(100).map(slow_square, {.num_parallel_calls = calls})), want) << calls;
  }
  EXPECT_EQ(elements_of(range(100).map(slow_square, {.num_parallel_calls = kAutotune})), want);
  Words unordered = elements_of(range(100).map(slow_square, {.num_parallel_calls = 4, .deterministic = false}));
  Words sorted = want;
  std::sort(unordered.begin(), unordered.end());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(unordered, sorted);
  EXPECT_EQ(testing::message_of<ValueError>([] { range(1).map(slow_square, {.num_parallel_calls = -2}); }),
            "map: num_parallel_calls is -2\n  help: 0 is none, kAutotune chooses");
}

// The slow element would come first.
TEST(Workers, GiveWhatIsDoneFirstIfOrderDoesNotMatter) {
  std::atomic<bool> later_done = false;
  const auto dataset = range(2).map(
      [&](std::int64_t x) {
        while (x == 0 && !later_done) std::this_thread::yield();
        return x;
      },
      {.num_parallel_calls = 2, .deterministic = false});
  auto iterator = dataset.begin();
  EXPECT_EQ(iterator.next(), 1);
  later_done = true;
  EXPECT_EQ(iterator.next(), 0);
}

// with_options() says it for every stage before it that does not say it itself; of two calls the later one counts.
TEST(Workers, TakeTheOrderThatThePipelineAsksFor) {
  // Whether the second element comes out while the first one is being made: in order it cannot, and the first one ends
  // after a while.
  const auto overtakes = [](const auto& pipeline) {
    std::atomic<bool> is_out = false;
    const std::function<std::int64_t(std::int64_t)> first_is_slow = [&](std::int64_t x) {
      for (int i = 0; x == 0 && !is_out && i < 100; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return x;
    };
    auto iterator = pipeline(first_is_slow).begin();
    const std::int64_t first = iterator.next().value();
    is_out = true;
    iterator.next();
    return first == 1;
  };
  const MapOptions parallel{.num_parallel_calls = 2};
  const DatasetOptions unordered{.deterministic = false}, ordered{.deterministic = true};
  EXPECT_FALSE(overtakes([&](auto f) { return range(2).map(f, parallel); }));
  EXPECT_TRUE(overtakes([&](auto f) { return range(2).map(f, parallel).with_options(unordered); }));
  EXPECT_TRUE(overtakes([&](auto f) { return range(2).map(f, parallel).repeat(1).take(9).with_options(unordered); }));
  EXPECT_FALSE(overtakes([&](auto f) { return range(2).with_options(unordered).map(f, parallel); }));
  EXPECT_FALSE(
      overtakes([&](auto f) { return range(2).map(f, parallel).with_options(unordered).with_options(ordered); }));
  EXPECT_TRUE(
      overtakes([&](auto f) { return range(2).map(f, parallel).with_options(ordered).with_options(unordered); }));
  EXPECT_TRUE(overtakes([&](auto f) {
    return range(2).map(f, parallel).with_options(unordered).with_options({.autotune_bytes = 1 << 20});
  }));
  EXPECT_FALSE(overtakes([&](auto f) {
    return range(2).map(f, {.num_parallel_calls = 2, .deterministic = true}).with_options(unordered);
  }));
  // The same for inner datasets.
  EXPECT_TRUE(overtakes([&](auto f) {
    const auto open = [f](std::int64_t x) { return range(x, x + 1).map(f); };
    return range(2).interleave(open, {.cycle_length = 2, .num_parallel_calls = 2}).with_options(unordered);
  }));
}

// Batches that threads join are those of the loop: their order, short ones, and errors, which take their batch along.
TEST(Workers, JoinBatchesInTheOrderOfOneThread) {
  const auto slow = [](std::int64_t x) {
    if (x % 13 == 5) throw ValueError("five");
    return slow_square(x);
  };
  for (const std::int64_t n : {0, 1, 6, 7, 50}) {
    for (const bool drop : {false, true}) {
      for (const auto& input : {range(n).map(slow_square), range(n).map(slow),
                                range(n).shuffle(5, {.seed = 1, .reshuffle_each_iteration = false})}) {
        const auto want = input.batch(4, {.drop_remainder = drop});
        const Words elements = elements_of(want);
        for (const std::int64_t calls : {std::int64_t{1}, std::int64_t{3}, kAutotune}) {
          SCOPED_TRACE(::testing::Message() << n << " elements, " << calls << " calls");
          const auto batches = input.batch(4, {.drop_remainder = drop, .num_parallel_calls = calls});
          EXPECT_EQ(elements_of(batches), elements);
          EXPECT_EQ(batches.cardinality(), want.cardinality());
          EXPECT_EQ(batches.unbatch().cardinality(), want.unbatch().cardinality());
          Words unordered =
              elements_of(input.batch(4, {.drop_remainder = drop, .num_parallel_calls = 3, .deterministic = false}));
          Words sorted = elements;
          std::sort(unordered.begin(), unordered.end());
          std::sort(sorted.begin(), sorted.end());
          EXPECT_EQ(unordered, sorted);
        }
      }
    }
  }
  const Tensor images = reshape(capstan::range(0, 60), {20, 3});
  EXPECT_EQ(
      elements_of(
          from_tensor_slices(images, Texts(std::vector<std::string>(20, "x"))).batch(7, {.num_parallel_calls = 2})),
      elements_of(from_tensor_slices(images, Texts(std::vector<std::string>(20, "x"))).batch(7)));
  EXPECT_EQ(testing::message_of<ValueError>([] { range(1).batch(2, {.num_parallel_calls = -2}); }),
            "batch: num_parallel_calls is -2\n  help: 0 is none, kAutotune chooses");
}

TEST(Workers, PadBatchesInTheOrderOfOneThread) {
  const auto input = range(23).map([](std::int64_t n) { return std::pair(fill({n * 7 % 5, 2}, n), n); });
  for (const bool drop : {false, true}) {
    const auto want = input.padded_batch(4, {.padding_values = {constant(-1, int64), {}}, .drop_remainder = drop});
    const auto batches = input.padded_batch(
        4, {.padding_values = {constant(-1, int64), {}}, .drop_remainder = drop, .num_parallel_calls = 3});
    EXPECT_EQ(elements_of(batches), elements_of(want));
    EXPECT_EQ(batches.cardinality(), want.cardinality());
  }
  EXPECT_EQ(testing::message_of<ValueError>([] { range(1).padded_batch(2, {.num_parallel_calls = -2}); }),
            "padded_batch: num_parallel_calls is -2\n  help: 0 is none, kAutotune chooses");
  // An error of joining has no line of a call, as without threads.
  const auto shapes = range(4).map([](std::int64_t n) { return zeros({n}); });
  EXPECT_EQ(elements_of(shapes.batch(2, {.num_parallel_calls = 2})), elements_of(shapes.batch(2)));
}

// Random inner lengths, cycles and blocks: reading ahead never changes the order.
TEST(Workers, InterleaveInTheOrderOfOneThread) {
  std::minstd_rand random(5);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<std::int64_t> lengths(random() % 9);
    for (std::int64_t& length : lengths) length = static_cast<std::int64_t>(random() % 5);
    const std::int64_t cycle = 1 + static_cast<std::int64_t>(random() % 4);
    const std::int64_t block = 1 + static_cast<std::int64_t>(random() % 3);
    const std::int64_t calls = 1 + static_cast<std::int64_t>(random()) % cycle;
    const auto input = from_range(lengths).enumerate();
    const auto open = [](std::int64_t i, std::int64_t length) {
      return range(100 * i, 100 * i + length).map(slow_square);
    };
    const Words want = elements_of(input.interleave(open, {.cycle_length = cycle, .block_length = block}));
    EXPECT_EQ(elements_of(
                  input.interleave(open, {.cycle_length = cycle, .block_length = block, .num_parallel_calls = calls})),
              want)
        << trial;
    Words unordered = elements_of(input.interleave(
        open, {.cycle_length = cycle, .block_length = block, .num_parallel_calls = calls, .deterministic = false}));
    Words sorted = want;
    std::sort(unordered.begin(), unordered.end());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(unordered, sorted) << trial;
  }
}

TEST(Workers, RefuseMoreCallsThanACycleHas) {
  const auto open = [](std::int64_t x) { return range(x); };
  EXPECT_EQ(
      testing::message_of<ValueError>([&] { range(1).interleave(open, {.cycle_length = 2, .num_parallel_calls = 3}); }),
      "interleave: num_parallel_calls 3 is beyond the cycle_length 2");
  EXPECT_EQ(testing::message_of<ValueError>([&] { range(1).interleave(open, {.cycle_length = 0}); }),
            "interleave: cycle_length and block_length must be at least 1, not 0 and 1");
}

TEST(Workers, HoldNoMoreThanTheirBounds) {
  std::atomic<int> calls = 0;
  const auto counted = [&calls](std::int64_t x) {
    ++calls;
    return x;
  };
  {
    auto iterator = range(100).map(counted, {.num_parallel_calls = 3}).begin();
    iterator.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(calls, 7);  // twice as many as threads, and the one that was taken
    EXPECT_GE(calls, 6);
  }
  calls = 0;
  {
    auto iterator = range(100).map(counted).prefetch(2).begin();
    iterator.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(calls, 3);
  }
}

// A dataset of every kind that has threads.
Dataset<std::int64_t> with_threads(std::int64_t n) {
  const auto open = [](std::int64_t x) { return range(x, x + 3).prefetch(1); };
  return range(n)
      .map(slow_square, {.num_parallel_calls = 3})
      .prefetch(2)
      .interleave(open, {.cycle_length = 2, .num_parallel_calls = 2})
      .map(slow_square, {.num_parallel_calls = 2, .deterministic = false})
      .batch(2, {.num_parallel_calls = 2})
      .unbatch()
      .map([](const Tensor& x) { return x.item<std::int64_t>(); })
      .prefetch(3);
}

TEST(Workers, EndWithTheirIterator) {
  elements_of(range(1).prefetch(1));  // what the C library starts once
  const std::ptrdiff_t before = thread_total();
  for (const std::int64_t reads : {0, 1, 5, 100}) {
    {
      auto iterator = with_threads(1000).begin();
      for (std::int64_t i = 0; i < reads; ++i) iterator.next();
      if (reads > 0) {
        EXPECT_GT(thread_total(), before);
      }
    }
    EXPECT_EQ(thread_total_down_to(before), before) << reads;
  }
  for (const std::int64_t x : with_threads(1000)) {
    if (x >= 0) break;
  }
  EXPECT_EQ(thread_total_down_to(before), before);
  // They end with the pass, too.
  auto iterator = with_threads(5).begin();
  while (iterator.next()) {
  }
  EXPECT_EQ(thread_total_down_to(before), before);
}

TEST(Workers, EndWhenTheLoopThrows) {
  const std::ptrdiff_t before = thread_total();
  EXPECT_THROW(
      for (const std::int64_t x
           : with_threads(1000)) {
        if (x >= 0) throw ValueError("enough");
      },
      ValueError);
  EXPECT_EQ(thread_total_down_to(before), before);
}

// Tensors are made on workers, handed to the loop, and freed there.
TEST(Workers, MakeTensors) {
  const auto dataset = range(200)
                           .map(
                               [](std::int64_t x) {
                                 return fill({64, 64}, static_cast<float>(x)) * 2.0;
                               },
                               {.num_parallel_calls = 4})
                           .batch(8)
                           .prefetch(2);
  std::int64_t row = 0;
  for (const Tensor& batch : dataset) {
    ASSERT_EQ(batch.shape(), (Shape{8, 64, 64}));
    EXPECT_EQ(batch(3, 1, 5).item<float>(), static_cast<float>(2 * (row + 3)));
    row += 8;
  }
  EXPECT_EQ(row, 200);
}

// Several passes over one dataset, each on a thread of its own.
TEST(Workers, ServePassesOnSeveralThreads) {
  const auto dataset = range(50).shuffle(10).map(slow_square, {.num_parallel_calls = 2}).cache().prefetch(2);
  std::vector<std::multiset<std::int64_t>> found(4);
  std::vector<std::thread> threads;
  for (auto& set : found) {
    threads.emplace_back([&set, &dataset] {
      for (const std::int64_t x : dataset) set.insert(x);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& set : found) EXPECT_EQ(set, found[0]);
  EXPECT_EQ(found[0].size(), 50U);
}

}  // namespace
}  // namespace capstan
