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
__attribute__((target("sse4.2"))) std::uint32_t hardware_crc32c(const void* data, std::size_t size,
                                                                std::uint32_t start) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t sum = ~start;
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
