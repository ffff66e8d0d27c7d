#include "src/core/execution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "src/core/thread_pool.h"
#include "src/kernels/conv/conv2d.h"
#include "src/kernels/linalg/gemm.h"

namespace capstan {
namespace {

// Counts how often each element is given, and checks that it is finished then.
struct Seen {
  const float* result;
  const std::vector<float>& expected;
  std::unique_ptr<std::atomic<int>[]> times;
  std::atomic<int> unfinished = 0;

  Seen(const float* r, const std::vector<float>& e)
      : result(r), expected(e), times(std::make_unique<std::atomic<int>[]>(e.size())) {}
  static void note(const void* self, std::int64_t begin, std::int64_t end) {
    auto& seen = *static_cast<Seen*>(const_cast<void*>(self));
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      ++seen.times[i];
      if (seen.result[i] != seen.expected[i]) ++seen.unfinished;
    }
  }
};

template <class Run>
bool is_taken(std::size_t elements, const Run& run) {
  std::vector<float> expected(elements, -1), result(elements, -1);
  run(expected.data(), kAlone);
  Seen seen(result.data(), expected);
  Epilogue epilogue(result.data(), static_cast<std::int64_t>(elements), &Seen::note, &seen);
  run(result.data(), Execution{nullptr, &epilogue});
  EXPECT_EQ(result, expected);
  EXPECT_EQ(seen.unfinished, 0);
  for (std::size_t i = 0; i < elements; ++i) EXPECT_EQ(seen.times[i], epilogue.is_taken() ? 1 : 0);
  return epilogue.is_taken();
}

std::vector<float> numbers(std::size_t n) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<float>(i * 7 % 31) - 15;
  return all;
}

TEST(Epilogue, OfLargeProductsWithWholeRowsToATask) {
  const auto taken = [](std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t ldc, bool accumulate) {
    const std::vector<float> a = numbers(static_cast<std::size_t>(m * k)), b = numbers(static_cast<std::size_t>(k * n));
    const GemmShape shape{.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = ldc, .accumulate = accumulate};
    return is_taken(static_cast<std::size_t>(m * ldc), [&](float* c, const Execution& execution) {
      if (accumulate) std::fill_n(c, m * ldc, 1.0f);
      gemm(shape, a.data(), b.data(), c, execution);
    });
  };
  for (const int threads : {1, 3}) {
    const int before = thread_count();
    set_thread_count(threads);
    EXPECT_TRUE(taken(2000, 40, 24, 24, false));
    EXPECT_TRUE(taken(2000, 40, 33, 33, false));
    EXPECT_TRUE(taken(900, 1100, 20, 20, false));    // several steps along k
    EXPECT_TRUE(taken(900, 20, 2100, 2100, false));  // several blocks of columns
    EXPECT_FALSE(taken(10, 10, 10, 10, false));
    EXPECT_FALSE(taken(2000, 40, 24, 25, false));
    EXPECT_FALSE(taken(2000, 40, 24, 24, true));
    set_thread_count(before);
  }
}

TEST(Epilogue, OfConvolutions) {
  for (const std::int64_t units : {2, 3, 16, 70, 400}) {
    const Conv2DShape shape{.batch = 3,
                            .in_height = 20,
                            .in_width = 11,
                            .in_channels = 200,
                            .kernel_height = 3,
                            .kernel_width = 3,
                            .out_channels = units,
                            .out_height = 20,
                            .out_width = 11,
                            .pad_top = 1,
                            .pad_left = 1};
    const std::vector<float> x = numbers(3 * 20 * 11 * 200),
                             filter = numbers(static_cast<std::size_t>(9 * 200 * units));
    EXPECT_TRUE(is_taken(static_cast<std::size_t>(3 * 20 * 11 * units), [&](float* y, const Execution& execution) {
      conv2d_forward(shape, x.data(), filter.data(), y, execution);
    })) << units;
  }
}

TEST(Epilogue, IsTakenOnceByWhoWritesTheWholeResult) {
  const float memory[8] = {};
  const auto nothing = [](const void*, std::int64_t, std::int64_t) {};
  EXPECT_EQ(kAlone.take_epilogue(memory, 4), nullptr);
  Epilogue epilogue(memory, 4, nothing, nullptr);
  const Execution execution{nullptr, &epilogue};
  EXPECT_EQ(execution.take_epilogue(memory + 4, 4), nullptr);
  EXPECT_EQ(execution.take_epilogue(memory, 2), nullptr);
  EXPECT_FALSE(epilogue.is_taken());
  EXPECT_EQ(execution.take_epilogue(memory, 4), &epilogue);
  EXPECT_TRUE(epilogue.is_taken());
  EXPECT_EQ(execution.take_epilogue(memory, 4), nullptr);
}

}  // namespace
}  // namespace capstan
