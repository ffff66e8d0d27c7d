#include "src/io/hdf5_bytes.h"

#include <bit>

namespace capstan::io::hdf5 {

std::uint32_t metadata_checksum(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  std::size_t at = 0;
  // Twelve bytes a round; the last round has one to twelve of them.
  const auto add = [&](std::size_t count) {
    std::uint32_t words[3] = {0, 0, 0};
    for (std::size_t i = 0; i < count; ++i) words[i / 4] += byte(at + i) << 8 * (i % 4);
    a += words[0];
    b += words[1];
    c += words[2];
    at += count;
  };
  while (bytes.size() - at > 12) {
    add(12);
    a -= c;
    a ^= std::rotl(c, 4);
    c += b;
    b -= a;
    b ^= std::rotl(a, 6);
    a += c;
    c -= b;
    c ^= std::rotl(b, 8);
    b += a;
    a -= c;
    a ^= std::rotl(c, 16);
    c += b;
    b -= a;
    b ^= std::rotl(a, 19);
    a += c;
    c -= b;
    c ^= std::rotl(b, 4);
    b += a;
  }
  if (at == bytes.size()) return c;
  add(bytes.size() - at);
  c ^= b;
  c -= std::rotl(b, 14);
  a ^= c;
  a -= std::rotl(c, 11);
  b ^= a;
  b -= std::rotl(a, 25);
  c ^= b;
  c -= std::rotl(b, 16);
  a ^= c;
  a -= std::rotl(c, 4);
  b ^= a;
  b -= std::rotl(a, 14);
  c ^= b;
  c -= std::rotl(b, 24);
  return c;
}

std::uint32_t fletcher32(std::string_view bytes) {
  std::uint64_t first = 0, second = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto high = static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << 8;
    const std::uint64_t low = i + 1 < bytes.size() ? static_cast<unsigned char>(bytes[i + 1]) : 0;
    first = (first + (high | low)) % 65535;
    second = (second + first) % 65535;
  }
  // The original folds sums instead of dividing them, so that a multiple of 65535 that is not 0 stays 65535.
  const auto folded = [&](std::uint64_t sum, bool is_zero) {
    return sum == 0 && !is_zero ? std::uint64_t{65535} : sum;
  };
  bool is_zero = true;
  for (const char one : bytes) is_zero = is_zero && one == 0;
  return static_cast<std::uint32_t>(folded(second, is_zero) << 16 | folded(first, is_zero));
}

}  // namespace capstan::io::hdf5
