#include "src/io/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace capstan::io {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are read as one number");

using Table = std::array<std::uint32_t, 256>;

// Table k has the effect of a byte that k other bytes follow.
constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

std::uint64_t eight_bytes(const unsigned char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

#if defined(__x86_64__)

// The instruction takes three cycles, and one can begin in each, so long inputs are three lanes with a sum each.
constexpr std::size_t kLane = 2048;

// What a sum becomes after kLane bytes of zeros. Sums are linear, so it is the sum of what its four bytes become.
constexpr std::array<Table, 4> make_lane_tables() {
  // What the 32 bits of a sum become after one byte of zeros; twice the way is the same step made with itself.
  std::array<std::uint32_t, 32> step{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    const std::uint32_t sum = std::uint32_t{1} << bit;
    step[bit] = (sum >> 8) ^ kTables[0][sum & 255];
  }
  const auto moved = [&](std::uint32_t sum) {
    std::uint32_t result = 0;
    for (std::size_t bit = 0; sum != 0; ++bit, sum >>= 1) {
      if ((sum & 1) != 0) result ^= step[bit];
    }
    return result;
  };
  for (std::size_t length = 1; length < kLane; length *= 2) {
    std::array<std::uint32_t, 32> twice{};
    for (std::size_t bit = 0; bit < 32; ++bit) twice[bit] = moved(step[bit]);
    step = twice;
  }
  std::array<Table, 4> tables{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) tables[k][byte] = moved(byte << 8 * k);
  }
  return tables;
}

constexpr std::array<Table, 4> kLaneTables = make_lane_tables();

std::uint64_t behind_a_lane(std::uint64_t sum) {
  return kLaneTables[0][sum & 255] ^ kLaneTables[1][(sum >> 8) & 255] ^ kLaneTables[2][(sum >> 16) & 255] ^
         kLaneTables[3][(sum >> 24) & 255];
}

__attribute__((target("sse4.2"))) std::uint32_t hardware_crc32c(const void* data, std::size_t size,
                                                                std::uint32_t start) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t sum = ~start;
  for (; size >= 3 * kLane; size -= 3 * kLane, at += 3 * kLane) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      sum = _mm_crc32_u64(sum, eight_bytes(at + i));
      second = _mm_crc32_u64(second, eight_bytes(at + kLane + i));
      third = _mm_crc32_u64(third, eight_bytes(at + 2 * kLane + i));
    }
    sum = behind_a_lane(behind_a_lane(sum) ^ second) ^ third;
  }
  for (; size >= 8; size -= 8, at += 8) sum = _mm_crc32_u64(sum, eight_bytes(at));
  auto last = static_cast<std::uint32_t>(sum);
  for (; size > 0; --size, ++at) last = _mm_crc32_u8(last, *at);
  return ~last;
}

#endif

}  // namespace

std::uint32_t portable_crc32c(const void* data, std::size_t size, std::uint32_t start) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint32_t sum = ~start;
  for (; size >= 8; size -= 8, at += 8) {
    const std::uint64_t bytes = eight_bytes(at) ^ sum;
    sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum ^= kTables[7 - k][(bytes >> 8 * k) & 255];
  }
  for (; size > 0; --size, ++at) sum = (sum >> 8) ^ kTables[0][(sum ^ *at) & 255];
  return ~sum;
}

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t start) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return hardware_crc32c(data, size, start);
#endif
  return portable_crc32c(data, size, start);
}

std::uint32_t masked_crc32c(const void* data, std::size_t size) { return mask_crc32c(crc32c(data, size)); }

}  // namespace capstan::io
