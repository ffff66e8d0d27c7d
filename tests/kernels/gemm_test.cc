#include "src/kernels/linalg/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"

namespace capstan {
namespace {

// A product with its operands, which have room between their rows.
template <class T>
struct Case {
  GemmShape shape;
  std::vector<T> a, b, c;

  std::string text() const {
    return "m " + std::to_string(shape.m) + " n " + std::to_string(shape.n) + " k " + std::to_string(shape.k) +
           (shape.transpose_a ? " T" : " N") + (shape.transpose_b ? "T" : "N") + (shape.accumulate ? " +=" : " =") +
           " ld " + std::to_string(shape.lda) + " " + std::to_string(shape.ldb) + " " + std::to_string(shape.ldc);
  }
};

template <class T>
Case<T> make_case(std::mt19937& random, std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                  bool transpose_b, bool accumulate) {
  const auto up_to = [&](int most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  const bool gaps = random() % 2 == 0;
  Case<T> result;
  GemmShape& shape = result.shape;
  shape = {m, n, k, 0, 0, 0, transpose_a, transpose_b, accumulate};
  shape.lda = (transpose_a ? m : k) + (gaps ? up_to(5) : 0);
  shape.ldb = (transpose_b ? k : n) + (gaps ? up_to(5) : 0);
  shape.ldc = n + (gaps ? up_to(5) : 0);
  std::uniform_real_distribution<T> uniform(-1, 1);
  const auto fill = [&](std::vector<T>& to, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    // Exactly as long as the matrix, so that the address sanitizer sees a read past its end.
    to.resize(rows == 0 || columns == 0 ? 0 : (rows - 1) * stride + columns);
    for (T& value : to) value = uniform(random);
  };
  fill(result.a, transpose_a ? k : m, transpose_a ? m : k, shape.lda);
  fill(result.b, transpose_b ? n : k, transpose_b ? k : n, shape.ldb);
  fill(result.c, m, n, shape.ldc);
  return result;
}

// The definition, in double. Elements between the rows of C keep their values.
template <class T>
std::vector<T> expected(const Case<T>& test) {
  const GemmShape& s = test.shape;
  std::vector<T> c = test.c;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = s.accumulate ? c[i * s.ldc + j] : 0;
      for (std::int64_t p = 0; p < s.k; ++p) {
        sum += static_cast<double>(test.a[s.transpose_a ? p * s.lda + i : i * s.lda + p]) *
               test.b[s.transpose_b ? j * s.ldb + p : p * s.ldb + j];
      }
      c[i * s.ldc + j] = static_cast<T>(sum);
    }
  }
  return c;
}

template <class T>
std::vector<T> computed(const Case<T>& test, int set, bool parallel) {
  std::vector<T> c = test.c;
  gemm_with(set, parallel, test.shape, test.a.data(), test.b.data(), c.data());
  return c;
}

template <class T>
void expect_close(const std::vector<T>& actual, const std::vector<T>& reference, std::int64_t k,
                  const std::string& text) {
  const double bound = (static_cast<double>(k) + 4) * std::numeric_limits<T>::epsilon();
  ASSERT_EQ(actual.size(), reference.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], reference[i], bound) << text << " at " << i;
  }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
void check(const Case<T>& test) {
  const std::vector<T> reference = expected(test);
  for (int set = 0; set <= instruction_set(); ++set) {
    const std::string text = test.text() + " set " + std::to_string(set);
    expect_close(computed(test, set, false), reference, test.shape.k, text);
  }
}

struct Threads {
  explicit Threads(int count) : before(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before); }
  int before;
};

template <class T>
class Gemm : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Types);

TYPED_TEST(Gemm, AgreesWithTheDefinitionForSmallSizes) {
  std::mt19937 random(1);
  for (int i = 0; i < 1500; ++i) {
    const auto size = [&] { return static_cast<std::int64_t>(random() % (random() % 3 ? 71 : 6)); };
    const std::int64_t m = size(), n = size(), k = size();
    check(make_case<TypeParam>(random, m, n, k, random() % 2, random() % 2, random() % 2));
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(Gemm, AgreesWithTheDefinitionForLargeSizes) {
  std::mt19937 random(2);
  const std::int64_t sizes[][3] = {{100, 300, 300}, {300, 129, 257}, {7, 1100, 300}, {2000, 9, 600},
                                   {100, 90, 1100}, {97, 1049, 33},  {90, 1033, 530}};
  for (const auto& size : sizes) {
    for (int flags : {0, 5, 2, 7}) {
      check(make_case<TypeParam>(random, size[0], size[1], size[2], flags & 1, flags & 2, flags & 4));
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Gemm, AgreesWithTheDefinitionForVectors) {
  std::mt19937 random(3);
  for (std::int64_t k : {1, 3, 15, 16, 17, 64, 1000}) {
    for (std::int64_t length : {1, 2, 3, 4, 5, 31, 200}) {
      for (int flags = 0; flags < 8; ++flags) {
        check(make_case<TypeParam>(random, 1, length, k, flags & 1, flags & 2, flags & 4));
        check(make_case<TypeParam>(random, length, 1, k, flags & 1, flags & 2, flags & 4));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Sixteen steps and few columns, with rows of A side by side and apart.
TYPED_TEST(Gemm, StreamsManyShortRows) {
  std::mt19937 random(9);
  for (std::int64_t m : {1, 13, 14, 15, 41, 113, 1000}) {
    for (std::int64_t n : {1, 2, 5, 7, 8, 9, 15, 16, 17}) {
      for (int flags = 0; flags < 8; ++flags) {
        const auto test = make_case<TypeParam>(random, m, n, 16, flags & 1, flags & 2, flags & 4);
        check(test);
        if (this->HasFatalFailure()) return;
        if (instruction_set() < kAvx512) continue;
        EXPECT_TRUE(same_bits(computed(test, kAvx2, false), computed(test, kAvx512, false))) << test.text();
      }
    }
  }
}

TYPED_TEST(Gemm, GivesTheSameBitsForAnyNumberOfThreads) {
  std::mt19937 random(4);
  const std::int64_t sizes[][3] = {{128, 128, 128}, {64, 256, 576}, {128, 128, 129}, {150, 700, 300},
                                   {5, 3000, 100},  {3000, 5, 100}, {1, 2000, 1000}, {2000, 1, 1000},
                                   {400, 2500, 40}, {9001, 16, 16}, {20000, 7, 16}};
  for (const auto& size : sizes) {
    const int flags = static_cast<int>(random() % 4);
    const auto test = make_case<TypeParam>(random, size[0], size[1], size[2], flags & 1, flags & 2, false);
    for (int set = 0; set <= instruction_set(); ++set) {
      {
        const auto serial = computed(test, set, false);
        for (int threads = 1; threads <= 3; ++threads) {
          Threads scope(threads);
          EXPECT_TRUE(same_bits(computed(test, set, true), serial))
              << test.text() << " set " << set << " threads " << threads;
        }
      }
    }
  }
}

TYPED_TEST(Gemm, GivesTheSameBitsWithAvx2AndAvx512) {
  if (instruction_set() < kAvx512) GTEST_SKIP() << "this processor has no AVX-512";
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 300); };
    const std::int64_t m = i % 10 == 0 ? 1 : size(), n = i % 10 == 1 ? 1 : size(), k = 4 * size();
    const auto test = make_case<TypeParam>(random, m, n, k, random() % 2, random() % 2, random() % 2);
    EXPECT_TRUE(same_bits(computed(test, kAvx2, false), computed(test, kAvx512, false))) << test.text();
  }
}

// What a row of the result is does not depend on the rows beside it.
TYPED_TEST(Gemm, GivesTheSameBitsForABatchAndForItsRows) {
  std::mt19937 random(6);
  const auto test = make_case<TypeParam>(random, 37, 45, 700, false, false, false);
  const auto whole = computed(test, instruction_set(), false);
  for (std::int64_t i = 0; i < test.shape.m; ++i) {
    GemmShape shape = test.shape;
    shape.m = 1;
    std::vector<TypeParam> row(shape.n);
    gemm(shape, test.a.data() + i * shape.lda, test.b.data(), row.data());
    EXPECT_EQ(std::memcmp(row.data(), whole.data() + i * shape.ldc, shape.n * sizeof(TypeParam)), 0);
  }
}

TYPED_TEST(Gemm, GivesZerosForAnEmptySum) {
  std::vector<TypeParam> c(6, TypeParam(7));
  GemmShape shape{2, 2, 0, 0, 2, 3, false, false, false};
  gemm(shape, static_cast<const TypeParam*>(nullptr), nullptr, c.data());
  EXPECT_EQ(c, (std::vector<TypeParam>{0, 0, 7, 0, 0, 7}));
  shape.accumulate = true;
  c.assign(6, TypeParam(7));
  gemm(shape, static_cast<const TypeParam*>(nullptr), nullptr, c.data());
  EXPECT_EQ(c, std::vector<TypeParam>(6, TypeParam(7)));
}

TYPED_TEST(Gemm, PassesOnNotANumberAndNothingElse) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (std::int64_t size : {3, 20, 70, 150}) {
    for (int flags = 0; flags < 4; ++flags) {
      for (int set = 0; set <= instruction_set(); ++set) {
        std::mt19937 random(7);
        auto test = make_case<TypeParam>(random, size, size, size, flags & 1, flags & 2, false);
        const GemmShape& s = test.shape;
        // Row 1 of A holds the NaN and B is zero, so 0 * NaN must not be skipped.
        test.a[s.transpose_a ? 2 * s.lda + 1 : s.lda + 2] = nan;
        test.b.assign(test.b.size(), TypeParam(0));
        const auto c = computed(test, set, false);
        for (std::int64_t i = 0; i < size; ++i) {
          for (std::int64_t j = 0; j < size; ++j) {
            ASSERT_EQ(std::isnan(c[i * s.ldc + j]), i == 1) << test.text() << " at " << i << " " << j;
          }
        }
      }
    }
  }
}

TYPED_TEST(Gemm, RunsInsideATaskOfThePool) {
  Threads scope(2);
  std::mt19937 random(8);
  const auto test = make_case<TypeParam>(random, 150, 150, 150, false, true, false);
  const auto reference = computed(test, instruction_set(), false);
  std::vector<std::vector<TypeParam>> results(8, test.c);
  parallel_for(8, [&](std::int64_t task) { gemm(test.shape, test.a.data(), test.b.data(), results[task].data()); });
  for (const auto& result : results) EXPECT_TRUE(same_bits(result, reference));
}

template <class T>
void expect_same_together(const std::vector<std::int64_t>& other, std::int64_t same, std::int64_t k, bool same_right,
                          bool transpose_a, bool transpose_b) {
  std::mt19937 random(7);
  std::vector<Case<T>> cases;
  for (const std::int64_t length : other) {
    cases.push_back(make_case<T>(random, same_right ? length : same, same_right ? same : length, k, transpose_a,
                                 transpose_b, random() % 2 == 0));
  }
  for (Case<T>& test : cases) {
    GemmShape& shape = test.shape;
    (same_right ? shape.ldb : shape.lda) = same_right ? cases[0].shape.ldb : cases[0].shape.lda;
    SCOPED_TRACE(test.text());
    (same_right ? test.b : test.a) = same_right ? cases[0].b : cases[0].a;
  }
  std::vector<std::vector<T>> results;
  for (const Case<T>& test : cases) {
    results.push_back(test.c);
    gemm(test.shape, test.a.data(), test.b.data(), results.back().data());
  }
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    std::vector<std::vector<T>> together;
    std::vector<GemmItem> items;
    for (const Case<T>& test : cases) together.push_back(test.c);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const T* const a = same_right ? cases[i].a.data() : cases[0].a.data();
      const T* const b = same_right ? cases[0].b.data() : cases[i].b.data();
      items.push_back({cases[i].shape, a, b, together[i].data()});
    }
    gemm_together<T>(items);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ASSERT_EQ(together[i].size(), results[i].size());
      const std::size_t bytes = results[i].size() * sizeof(T);
      EXPECT_TRUE(bytes == 0 || std::memcmp(together[i].data(), results[i].data(), bytes) == 0)
          << cases[i].text() << ", product " << i << ", " << threads << " threads";
    }
  }
  set_thread_count(0);
}

TEST(Gemm, TogetherWithOthersOfOneOperand) {
  for (const bool same_right : {false, true}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        SCOPED_TRACE(std::to_string(same_right) + std::to_string(a) + std::to_string(b));
        // Nothing, vectors, small ones, several blocks along k and the columns, and what several threads share.
        for (const auto& other :
             std::vector<std::vector<std::int64_t>>{{0, 3}, {1, 1}, {1, 5, 9}, {8, 8}, {33, 70, 5}, {200, 130}}) {
          for (const auto& [same, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{
                   {0, 4}, {1, 30}, {20, 0}, {48, 17}, {130, 600}, {2100, 40}}) {
            expect_same_together<float>(other, same, k, same_right, a, b);
            expect_same_together<double>(other, same, k, same_right, a, b);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace capstan
