// The program mnist has no library, so the test takes its sources in.
#include <algorithm>

#include "examples/mnist/digits.cc"
#include "examples/mnist/glyphs.cc"

#include <gtest/gtest.h>

namespace mnist {
namespace {

uint64_t fingerprint(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

TEST(DrawDigits, HaveTheShapeOfMnist) {
  const DrawnDigits digits = draw_digits(7, 1);
  EXPECT_EQ(digits.images.size(), 7u * 28 * 28);
  EXPECT_EQ(digits.labels.size(), 7u);
  EXPECT_TRUE(draw_digits(0, 1).images.empty());
  EXPECT_TRUE(draw_digits(-5, 1).labels.empty());
}

TEST(DrawDigits, AreTheSameForASeedOnEveryMachine) {
  const DrawnDigits digits = draw_digits(2000, 42);
  EXPECT_EQ(fingerprint(digits.labels), uint64_t{8218011004943310328});
  EXPECT_EQ(fingerprint(digits.images), uint64_t{1108641116396799712});
}

TEST(DrawDigits, DoNotDependOnHowManyAreDrawn) {
  const DrawnDigits few = draw_digits(20, 3), many = draw_digits(50, 3);
  EXPECT_TRUE(std::equal(few.images.begin(), few.images.end(), many.images.begin()));
  EXPECT_TRUE(std::equal(few.labels.begin(), few.labels.end(), many.labels.begin()));
}

TEST(DrawDigits, DifferBetweenSeedsAndWithinOne) {
  const DrawnDigits a = draw_digits(300, 1), b = draw_digits(300, 2);
  std::vector<uint64_t> seen;
  for (const DrawnDigits* digits : {&a, &b}) {
    for (size_t i = 0; i < 300; ++i) {
      const auto begin = digits->images.begin() + static_cast<ptrdiff_t>(i * kPixels);
      seen.push_back(fingerprint({begin, begin + kPixels}));
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(DrawDigits, AreEachAboutEquallyOften) {
  std::array<int, 10> counts{};
  for (uint8_t label : draw_digits(10'000, 5).labels) {
    ASSERT_LT(label, 10);
    ++counts[label];
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(DrawDigits, KeepTheirInkInTheMiddle) {
  const DrawnDigits digits = draw_digits(2000, 6);
  for (size_t i = 0; i < 2000; ++i) {
    int ink = 0, low_x = kSide, high_x = -1, low_y = kSide, high_y = -1;
    for (int p = 0; p < kPixels; ++p) {
      if (digits.images[i * kPixels + p] < 128) continue;
      ++ink;
      low_x = std::min(low_x, p % kSide);
      high_x = std::max(high_x, p % kSide);
      low_y = std::min(low_y, p / kSide);
      high_y = std::max(high_y, p / kSide);
    }
    ASSERT_GE(ink, 12) << "digit " << i;
    ASSERT_LE(ink, 350) << "digit " << i;
    ASSERT_GE(std::max(high_x - low_x, high_y - low_y), 13) << "digit " << i;
    // No digit touches the edge: MNIST leaves a margin too.
    ASSERT_TRUE(low_x >= 1 && low_y >= 1 && high_x < kSide - 1 && high_y < kSide - 1) << "digit " << i;
  }
}

// The pictures show what the labels say, but not so plainly that the nearest mean picture would
// tell.
TEST(DrawDigits, CanBeToldApartButNotByTheMeanPicture) {
  const DrawnDigits known = draw_digits(3000, 8), asked = draw_digits(300, 9);
  std::array<std::array<double, kPixels>, 10> mean{};
  std::array<int, 10> counts{};
  for (size_t i = 0; i < known.labels.size(); ++i) {
    ++counts[known.labels[i]];
    for (int p = 0; p < kPixels; ++p) mean[known.labels[i]][p] += known.images[i * kPixels + p];
  }
  for (int digit = 0; digit < 10; ++digit) {
    for (double& value : mean[digit]) value /= counts[digit];
  }
  int by_mean = 0, by_neighbour = 0;
  for (size_t i = 0; i < asked.labels.size(); ++i) {
    const uint8_t* image = &asked.images[i * kPixels];
    double nearest_mean = 1e30;
    int nearest = 1 << 30, mean_says = -1, neighbour_says = -1;
    for (int digit = 0; digit < 10; ++digit) {
      double sum = 0;
      for (int p = 0; p < kPixels; ++p) sum += (image[p] - mean[digit][p]) * (image[p] - mean[digit][p]);
      if (sum < nearest_mean) {
        nearest_mean = sum;
        mean_says = digit;
      }
    }
    for (size_t j = 0; j < known.labels.size(); ++j) {
      const uint8_t* other = &known.images[j * kPixels];
      int sum = 0;
      for (int p = 0; p < kPixels; ++p) sum += (image[p] - other[p]) * (image[p] - other[p]);
      if (sum < nearest) {
        nearest = sum;
        neighbour_says = known.labels[j];
      }
    }
    by_mean += mean_says == asked.labels[i];
    by_neighbour += neighbour_says == asked.labels[i];
  }
  EXPECT_GE(by_neighbour, 250) << "of 300";
  EXPECT_LE(by_mean, 250) << "of 300";
}

}  // namespace
}  // namespace mnist
