#include "src/io/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace capstan::io {
namespace {

TEST(Crc32c, HasTheValuesOfOthers) {
  // The check value of the standard, and test vectors of RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43U);
  EXPECT_EQ(crc32c("", 0), 0U);
  // TensorFlow's.
  EXPECT_EQ(masked_crc32c("123456789", 9), 0xc78ab0e5U);
  EXPECT_EQ(masked_crc32c("", 0), 0xa282ead8U);
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstructionAndInParts) {
  std::string bytes;
  for (unsigned i = 0; i < 300; ++i) bytes += static_cast<char>(i * i * 31 + i / 7);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t end = begin; end <= bytes.size(); ++end) {
      const std::string_view part = std::string_view(bytes).substr(begin, end - begin);
      const std::uint32_t sum = crc32c(part.data(), part.size());
      ASSERT_EQ(sum, portable_crc32c(part.data(), part.size())) << begin << " to " << end;
      const std::size_t half = part.size() / 2;
      ASSERT_EQ(sum, crc32c(part.data() + half, part.size() - half, crc32c(part.data(), half)));
    }
  }
}

// Long inputs are summed in lanes.
TEST(Crc32c, IsTheSameForLongInputs) {
  std::string bytes;
  std::uint32_t state = 1;
  for (int i = 0; i < 40000; ++i) bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (std::size_t size = 6100; size <= bytes.size(); size += size < 6200 ? 1 : 1031) {
    for (const std::uint32_t start : {0U, 0x12345678U, 0xffffffffU}) {
      ASSERT_EQ(crc32c(bytes.data() + size % 5, size - size % 5, start),
                portable_crc32c(bytes.data() + size % 5, size - size % 5, start))
          << size;
    }
  }
}

}  // namespace
}  // namespace capstan::io
