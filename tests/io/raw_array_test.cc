#include "src/io/raw_array.h"

#include <gtest/gtest.h>

#include <limits>

namespace capstan::io {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMost = (int64_t{1} << 62) - 1;

std::optional<int64_t> count_of(std::vector<int64_t> shape) { return checked_count(shape); }

TEST(CheckedCount, MultipliesTheSizes) {
  EXPECT_EQ(count_of({}), 1);
  EXPECT_EQ(count_of({2, 3, 4}), 24);
  EXPECT_EQ(count_of({kMost}), kMost);
  EXPECT_EQ(count_of({5, 0}), 0);
}

TEST(CheckedCount, RefusesOverflowAlsoWhenASizeIsZero) {
  EXPECT_EQ(count_of({kMax}), std::nullopt);
  EXPECT_EQ(count_of({kMost + 1, 0}), std::nullopt);
  EXPECT_EQ(count_of({kMax, 2}), std::nullopt);
  EXPECT_EQ(count_of({0, kMax, 2}), std::nullopt);
  EXPECT_EQ(count_of({kMax, 2, 0}), std::nullopt);
  EXPECT_EQ(count_of({-1, 3}), std::nullopt);
}

TEST(RawArray, DescribesItself) {
  RawArray array{ElementType::kFloat64, {2, 3}, std::vector<std::byte>(48)};
  EXPECT_EQ(array.description(), "float64[2, 3]");
  EXPECT_EQ(array.count(), 6);
  EXPECT_EQ(array.values<double>().size(), 6u);
}

}  // namespace
}  // namespace capstan::io
