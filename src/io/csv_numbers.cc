// The numbers of tables.
//
// Nearly all numbers in tables are short decimals as "-12.345": at most sixteen characters beside the sign, digits and
// one point. Their characters fit into two words, where all of them become digits at once, without a loop that ends
// after another number of steps in each field, which a processor cannot foresee. The digits make an integer that a
// double holds exactly, over a power of ten that it holds exactly, so one division gives the nearest double. All other
// texts are left to the standard library.
#include "src/io/csv_numbers.h"

#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace capstan::io {

namespace {

static_assert(std::endian::native == std::endian::little, "the last character of a word is its highest byte");

constexpr std::size_t kWord = 8, kLongest = 2 * kWord;

// The same byte eight times.
constexpr std::uint64_t all(std::uint64_t byte) { return byte * 0x0101010101010101; }

template <class Word>
std::uint64_t word_at(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The high bit of each byte that is equal to `byte`.
std::uint64_t find_byte(std::uint64_t word, std::uint64_t byte) {
  const std::uint64_t other = word ^ all(byte);
  return ~(((other & all(0x7f)) + all(0x7f)) | other | all(0x7f));
}

// The value of eight digits, the first in the lowest byte: pairs, then fours, then all.
std::uint64_t value_of(std::uint64_t digits) {
  constexpr std::uint64_t kPair = 0x000000ff000000ff;
  digits = digits * 10 + (digits >> 8);
  return ((digits & kPair) * (100 + (std::uint64_t{1'000'000} << 32)) +
          ((digits >> 16) & kPair) * (1 + (std::uint64_t{10'000} << 32))) >>
         32;
}

// The last characters of a text, at most sixteen, each less '0'; bytes before the text are 0.
struct Characters {
  std::uint64_t first = 0, last = 0;

  // `size` is from 1 to sixteen.
  Characters(const char* text, std::size_t size) {
    const char* const end = text + size;
    if (size >= kWord) {
      last = word_at<std::uint64_t>(end - kWord) ^ all('0');
      // In two steps, since all bits may have to go.
      const std::size_t half = 4 * (kLongest - size);
      first = (word_at<std::uint64_t>(text) ^ all('0')) << half << half;
      return;
    }
    if (size >= kWord / 2) {
      last = word_at<std::uint32_t>(text) | word_at<std::uint32_t>(end - kWord / 2) << 8 * (size - kWord / 2);
    } else {
      last = word_at<std::uint8_t>(text) | word_at<std::uint8_t>(text + size / 2) << 8 * (size / 2) |
             word_at<std::uint8_t>(end - 1) << 8 * (size - 1);
    }
    last = (last ^ all('0')) << 8 * (kWord - size);
  }

  // Takes a point away and says how many characters are after it; none without one. Of several points one stays.
  std::size_t remove_point() {
    constexpr std::uint64_t kPoint = '.' ^ '0';
    if (const std::uint64_t found = find_byte(last, kPoint); found != 0) {
      const std::size_t behind = static_cast<std::size_t>(std::countl_zero(found)) / 8;
      last = close_gap(last, behind) | first >> 8 * (kWord - 1);
      first <<= 8;
      return behind;
    }
    if (const std::uint64_t found = find_byte(first, kPoint); found != 0) {
      const std::size_t behind = static_cast<std::size_t>(std::countl_zero(found)) / 8;
      first = close_gap(first, behind);
      return behind + kWord;
    }
    return 0;
  }

  bool are_digits() const {
    const auto larger = [](std::uint64_t word) { return ((word + all(0x7f - 9)) | word) & all(0x80); };
    return (larger(first) | larger(last)) == 0;
  }

  std::uint64_t value() const {
    const std::uint64_t low = value_of(last);
    return first == 0 ? low : value_of(first) * 100'000'000 + low;
  }

 private:
  // The word without the character that so many others follow; those before it move up.
  static std::uint64_t close_gap(std::uint64_t word, std::size_t behind) {
    const std::uint64_t gap = std::uint64_t{0xff} << 8 * (kWord - 1 - behind);
    const std::uint64_t before = gap & -gap;  // the lowest bit of the gap
    return (word & ~(gap | (before - 1))) | (word & (before - 1)) << 8;
  }
};

// False for any other text than a short decimal.
inline bool parse_short_decimal(std::string_view field, double& value) {
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr std::uint64_t kMost = std::uint64_t{1} << std::numeric_limits<double>::digits;
  if (field.empty()) return false;
  const bool is_negative = field.front() == '-';
  field.remove_prefix(is_negative ? 1 : 0);
  if (field.empty() || field.size() > kLongest || field == ".") return false;
  Characters characters(field.data(), field.size());
  const std::size_t places = characters.remove_point();
  if (!characters.are_digits()) return false;
  const std::uint64_t digits = characters.value();
  if (digits > kMost) return false;
  const double size = static_cast<double>(static_cast<std::int64_t>(digits)) / kPowers[places];
  // As a bit, since signs are what a branch foresees worst.
  value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | std::uint64_t{is_negative} << 63);
  return true;
}

// The nearest float to the decimal is that to the nearest double, unless this lies in the middle between two floats:
// then the decimal may lie on either side.
inline bool parse_short_decimal(std::string_view field, float& value) {
  double wide = 0;
  if (!parse_short_decimal(field, wide)) return false;
  constexpr int kLost = std::numeric_limits<double>::digits - std::numeric_limits<float>::digits;
  constexpr std::uint64_t kBits = (std::uint64_t{1} << kLost) - 1, kMiddle = std::uint64_t{1} << (kLost - 1);
  if ((std::bit_cast<std::uint64_t>(wide) & kBits) == kMiddle) return false;
  value = static_cast<float>(wide);
  return true;
}

}  // namespace

template <class T>
bool parse_number(std::string_view field, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (parse_short_decimal(field, value)) return true;
  }
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!field.empty() && is_space(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_space(field.back())) field.remove_suffix(1);
  // A plus is no part of a number for from_chars; one of two signs is none for anybody.
  if (field.size() > 1 && field[0] == '+' && field[1] != '-' && field[1] != '+') field.remove_prefix(1);
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error == std::errc() && stop == end) return true;
  if constexpr (std::is_floating_point_v<T>) {
    // Also of numbers that are too small, which are 0.
    if (error == std::errc::result_out_of_range && stop == end) {
      const double wide = std::strtod(std::string(field).c_str(), nullptr);
      value = static_cast<T>(wide);
      return std::isfinite(value);
    }
  }
  return false;
}

template bool parse_number(std::string_view field, std::int32_t& value);
template bool parse_number(std::string_view field, std::int64_t& value);
template bool parse_number(std::string_view field, float& value);
template bool parse_number(std::string_view field, double& value);

}  // namespace capstan::io
