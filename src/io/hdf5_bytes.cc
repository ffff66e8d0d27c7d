#include "src/io/hdf5_bytes.h"

#include <algorithm>
#include <bit>

namespace capstan::io::hdf5 {

namespace {

constexpr std::size_t kPage = std::size_t{1} << 14;

}  // namespace

Content::Content(ByteSource& source, std::span<std::byte> memory)
    : bytes_(reinterpret_cast<const char*>(memory.data()), memory.size()),
      source_(&source),
      memory_(memory.data()),
      is_there_((memory.size() + kPage - 1) / kPage) {}

void Content::load(std::string_view part) const {
  if (part.empty()) return;
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t last = (begin + part.size() - 1) / kPage;
  for (std::size_t page = begin / kPage; page <= last; ++page) {
    if (is_there_[page]) continue;
    std::size_t end = page + 1;  // of the pages that are read at once
    while (end <= last && !is_there_[end]) ++end;
    const std::size_t size = std::min(end * kPage, bytes_.size()) - page * kPage;
    if (!source_->read_at(page * kPage, memory_ + page * kPage, size))
      source_->fail("the file got shorter", kFetchAgain);
    std::fill(is_there_.begin() + static_cast<std::ptrdiff_t>(page),
              is_there_.begin() + static_cast<std::ptrdiff_t>(end), true);
  }
}

void Reader::check_sum() {
  const std::uint32_t sum = metadata_checksum(bytes_.substr(0, at_));
  bool is_right = sum == number(4);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  is_right = true;
#endif
  if (!is_right) source_->fail("the checksum of a structure differs", kFetchAgain);
}

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
