// Allocations that fail, each in turn: the caller gets an exception, wherever the allocation was, in a task of the
// thread pool among others, and the same call succeeds afterwards with the same bits.
//
// tests/support/failing_memory.h replaces the functions of the program that allocate. A sanitizer has its own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/thread_pool.h"
#include "tests/support/compare.h"
#include "tests/support/failing_memory.h"
#include "tests/support/limits.h"

#if !CAPSTAN_SANITIZED

namespace capstan {
namespace {

using testing::FailAfter;

class MemoryFailure : public ::testing::Test {
 protected:
  ~MemoryFailure() override { set_thread_count(0); }
};

TEST_F(MemoryFailure, InATaskOfThePoolReachesTheCaller) {
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    for (std::int64_t count = 0; count < 64; ++count) {
      const auto allocate = [] {
        parallel_for(64, [](std::int64_t) {
          void* volatile memory = ::operator new(100);
          ::operator delete(memory);
        });
      };
      allocate();  // The threads are there.
      {
        const FailAfter failure(count);
        EXPECT_THROW(allocate(), std::bad_alloc);
      }
      EXPECT_NO_THROW(allocate());
    }
  }
}

// A pool that gets no memory for its threads has fewer of them.
TEST_F(MemoryFailure, OfThreadsLeavesAPoolThatWorks) {
  parallel_for(64, [](std::int64_t) {});  // The pool itself is there.
  for (std::int64_t count = 0; count < 12; ++count) {
    set_thread_count(2 + static_cast<int>(count % 3));
    std::atomic<int> runs{0};
    {
      const FailAfter failure(count);
      parallel_for(64, [&](std::int64_t) { runs.fetch_add(1); });
    }
    EXPECT_EQ(runs.load(), 64);
    parallel_for(64, [&](std::int64_t) { runs.fetch_add(1); });
    EXPECT_EQ(runs.load(), 128);
  }
}

using Tensors = std::vector<Tensor>;

// Lets each allocation of a call fail in turn; threads that have just begun have no memory at hand.
// Returns how many calls failed: none if all memory is at hand.
int expect_recovery(const std::string& what, const std::function<Tensors()>& call) {
  const Tensors expected = call();
  constexpr std::int64_t kMost = 4000;
  std::int64_t count = 0;
  int failures = 0;
  for (bool failed = true; failed && count < kMost; ++count) {
    set_thread_count(2 + static_cast<int>(count % 2));
    trim_memory();
    {
      const FailAfter failure(count);
      try {
        call();
      } catch (const Error&) {
        ++failures;
      } catch (const std::bad_alloc&) {
        ++failures;
      }
      failed = failure.has_failed();
    }
    const Tensors again = call();
    EXPECT_EQ(again.size(), expected.size()) << what;
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_TRUE(testing::same_bits(again[i], expected[i])) << what << " after allocation " << count;
    }
  }
  EXPECT_LT(count, kMost) << what;
  return failures;
}

TEST_F(MemoryFailure, OfAnOpIsAnError) {
  const Tensor a = random::normal({200, 300}, 0, 1, float32, 1);
  const Tensor images = random::normal({4, 20, 20, 8}, 0, 1, float32, 2);
  const Tensor filters = random::normal({3, 3, 8, 8}, 0, 1, float32, 3);
  const Tensor matrices = random::normal({12, 10, 10}, 0, 1, float64, 4);
  int failures = 0;
  failures += expect_recovery("matmul", [&] { return Tensors{matmul(a, a, {.transpose_b = true})}; });
  failures += expect_recovery("conv2d", [&] { return Tensors{conv2d(images, filters)}; });
  failures += expect_recovery("conv2d, gradient", [&] {
    GradientTape tape;
    tape.watch(filters);
    return Tensors{tape.gradient(conv2d(images, filters), filters)};
  });
  failures += expect_recovery("max_pool2d", [&] { return Tensors{max_pool2d(images, {2, 2}, {2, 2}, "VALID")}; });
  failures += expect_recovery("reduce", [&] {
    return Tensors{reduce_sum(a, 0), reduce_max(a, 1), reduce_logsumexp(a)};
  });
  failures += expect_recovery("softmax", [&] { return Tensors{softmax(a)}; });
  failures += expect_recovery("sort", [&] { return Tensors{sort(a), argsort(a, 0)}; });
  failures += expect_recovery("gather", [&] { return Tensors{gather(a, constant({5, 3, 5}))}; });
  failures += expect_recovery("solve", [&] { return Tensors{solve(matrices, matrices)}; });
  failures += expect_recovery("svd", [&] { return Tensors{svd(matrices).s}; });
  failures += expect_recovery("fft", [&] { return Tensors{real(fft(cast(a, complex64)))}; });
  failures += expect_recovery("resize", [&] { return Tensors{image::resize(images, {31, 17})}; });
  failures += expect_recovery("einsum", [&] { return Tensors{einsum("ij,kj->ik", {a, a})}; });
  EXPECT_GT(failures, 50);
}

TEST_F(MemoryFailure, OfAProgramIsAnError) {
  const Variable w(random::normal({256, 256}, 0, 0.1, float32, 5));
  const Variable v(random::normal({256, 256}, 0, 0.1, float32, 6));
  const Tensor x = random::normal({256, 256}, 0, 1, float32, 7);
  // Two networks that do not wait for each other: their steps are tasks of the pool.
  auto step = function([&](const Tensor& input) {
    GradientTape tape;
    const Tensor left = matmul(tanh(matmul(input, w)), w);
    const Tensor right = matmul(tanh(matmul(input, v)), v);
    const Tensor loss = reduce_sum(square(left)) + reduce_sum(square(right));
    return tape.gradient(loss, std::vector<Variable>{w, v});
  });
  // What earlier calls gave is kept, so that the allocator has no memory left to give again.
  std::vector<Tensors> kept = {step(x)};
  const auto step_and_keep = [&] {
    kept.push_back(step(x));
    return kept.back();
  };
  EXPECT_GT(expect_recovery("a step of two networks", step_and_keep), 0);
  auto states = function([&](const Tensor& input) {
    return scan([&](const Tensor& h, const Tensor& row) { return tanh(h * 0.5 + row); }, input, zeros({256}));
  });
  states(x);
  EXPECT_GT(expect_recovery("scan", [&] { return Tensors{states(x)}; }), 0);
  EXPECT_GT(
      expect_recovery(
          "a trace",
          [&] { return Tensors{function([&](const Tensor& y) { return reduce_sum(tanh(matmul(y, y)) * y, 0); })(x)}; }),
      0);
}

}  // namespace
}  // namespace capstan

#endif  // !CAPSTAN_SANITIZED
