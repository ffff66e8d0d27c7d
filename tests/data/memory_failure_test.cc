// Allocations that fail, each in turn, while threads read a dataset: the loop gets std::bad_alloc, nothing ends the
// program, and what the threads themselves could not allocate loses no element.
#include "tests/support/failing_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/data/elements.h"

#if !CAPSTAN_SANITIZED

namespace capstan {
namespace {

using datasets::range;
using Numbers = std::vector<std::int64_t>;
using testing::FailAfter;

// Reads on after each error. Gives the elements; `failures` counts the errors.
Numbers read_all(const Dataset<std::int64_t>& dataset, int* failures) {
  Numbers numbers;
  numbers.reserve(100);
  auto iterator = dataset.begin();
  for (;;) {
    try {
      const std::optional<std::int64_t> one = iterator.next();
      if (!one.has_value()) return numbers;
      numbers.push_back(*one);
    } catch (const std::bad_alloc&) {
      ++*failures;
    } catch (const Error&) {  // of a user's function, with the element
      ++*failures;
    }
  }
}

// Every allocation of the loop fails once. An element may be missing only if an error stood in its place.
void expect_recovery(const char* what, const Dataset<std::int64_t>& dataset) {
  int none = 0;
  const Numbers all = read_all(dataset, &none);
  EXPECT_EQ(none, 0) << what;
  int failures = 0;
  for (std::int64_t count = 0; count < 400; ++count) {
    int here = 0;
    Numbers numbers;
    try {
      const FailAfter failure(count);
      numbers = read_all(dataset, &here);
    } catch (const std::bad_alloc&) {
      ++failures;
      continue;  // there was no iterator
    }
    failures += here;
    EXPECT_LE(here, 1) << what << ", allocation " << count;
    EXPECT_TRUE(std::includes(all.begin(), all.end(), numbers.begin(), numbers.end())) << what;
    EXPECT_LE(all.size(), numbers.size() + static_cast<std::size_t>(here)) << what << ", allocation " << count;
  }
  EXPECT_GT(failures, 10) << what;
  EXPECT_EQ(read_all(dataset, &none), all) << what;
}

TEST(DatasetMemoryFailure, OfParallelMapReachesTheLoop) {
  expect_recovery("map", range(40).map([](std::int64_t x) { return 2 * x; }, {.num_parallel_calls = 3}));
}

// A batch that fails is missing as a whole.
TEST(DatasetMemoryFailure, OfParallelBatchesReachesTheLoop) {
  const auto dataset =
      range(40).batch(4, {.num_parallel_calls = 3}).map([](const Tensor& x) { return x(0).item<std::int64_t>(); });
  expect_recovery("batch", dataset);
}

TEST(DatasetMemoryFailure, OfPrefetchReachesTheLoop) { expect_recovery("prefetch", range(60).prefetch(3)); }

TEST(DatasetMemoryFailure, OfStagesBehindEachOtherReachesTheLoop) {
  expect_recovery("all", range(40)
                             .map([](std::int64_t x) { return x + 1; }, {.num_parallel_calls = 2})
                             .map([](std::int64_t x) { return x + 1; }, {.num_parallel_calls = 2})
                             .prefetch(2));
}

// An inner dataset that could not be opened is missing, which is more than one element.
TEST(DatasetMemoryFailure, OfParallelInterleaveReachesTheLoop) {
  const auto dataset = range(6).interleave([](std::int64_t x) { return range(10 * x, 10 * x + 10); },
                                           {.cycle_length = 3, .num_parallel_calls = 2});
  int none = 0;
  const Numbers all = read_all(dataset, &none);
  EXPECT_EQ(all.size(), 60U);
  int failures = 0;
  for (std::int64_t count = 0; count < 400; ++count) {
    int here = 0;
    Numbers numbers;
    try {
      const FailAfter failure(count);
      numbers = read_all(dataset, &here);
    } catch (const std::bad_alloc&) {
      ++failures;
      continue;
    }
    failures += here;
    EXPECT_LE(here, 1) << count;
    EXPECT_GE(numbers.size(), here == 0 ? 60U : 50U) << count;
  }
  EXPECT_GT(failures, 10);
  EXPECT_EQ(read_all(dataset, &none), all);
  EXPECT_EQ(none, 0);
}

// A loop that stops while a failure waits for it ends its threads.
TEST(DatasetMemoryFailure, DoesNotKeepThreads) {
  for (std::int64_t count = 0; count < 60; ++count) {
    try {
      auto iterator = range(40).map([](std::int64_t x) { return x; }, {.num_parallel_calls = 2}).prefetch(2).begin();
      const FailAfter failure(count);
      iterator.next();
    } catch (const std::bad_alloc&) {
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace capstan

#endif
