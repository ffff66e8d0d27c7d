#include "src/io/wire.h"

#include <bit>
#include <cstring>
#include <limits>

#include "src/io/byte_source.h"

namespace capstan::io::wire {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

namespace {

constexpr int kMostBytesOfVarint = 10;

std::size_t varint_size(std::uint64_t value) { return static_cast<std::size_t>((std::bit_width(value | 1) + 6) / 7); }

}  // namespace

void Message::fail(const std::string& problem) const {
  fail_file(std::string(reader_), problem, file_.empty() ? "(in memory)" : std::string(file_));
}

void Message::expect(const Field& field, Kind kind) const {
  if (field.kind == kind) return;
  fail("field " + std::to_string(field.number) + " of a message has the wire type " +
       std::to_string(static_cast<int>(field.kind)) + ", not " + std::to_string(static_cast<int>(kind)));
}

std::uint64_t Message::varint() {
  std::uint64_t value = 0;
  for (int i = 0; i < kMostBytesOfVarint; ++i) {
    if (at_ == bytes_.size()) fail("a number is cut off at the end of a message of " + std::to_string(at_) + " bytes");
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f)
             << 7 * i;  // what does not fit into 64 bits is lost, as the format says
    if ((byte & 0x80) == 0) return value;
  }
  fail("a number at byte " + std::to_string(at_ - kMostBytesOfVarint) + " of a message has more than 10 bytes");
}

std::string_view Message::take(std::uint64_t size, std::string_view what) {
  const std::size_t left = bytes_.size() - at_;
  if (size > left) {
    fail(std::string(what) + " at byte " + std::to_string(at_) + " of a message should have " + std::to_string(size) +
         " bytes, but only " + std::to_string(left) + " are left");
  }
  const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(size));
  at_ += static_cast<std::size_t>(size);
  return part;
}

std::optional<Field> Message::next() {
  if (at_ == bytes_.size()) return std::nullopt;
  const std::size_t begin = at_;
  const std::uint64_t key = varint();
  const std::uint64_t number = key >> 3;
  constexpr std::uint64_t kMostFields = (1u << 29) - 1;
  if (number == 0 || number > kMostFields) {
    fail("a field at byte " + std::to_string(begin) + " of a message has the number " + std::to_string(number) +
         ", which must be from 1 to " + std::to_string(kMostFields));
  }
  Field field{static_cast<std::uint32_t>(number), Kind::kVarint, 0, {}};
  switch (key & 7) {
    case 0:
      field.value = varint();
      break;
    case 1:
      field.kind = Kind::kFixed64;
      std::memcpy(&field.value, take(8, "a number").data(), 8);
      break;
    case 2:
      field.kind = Kind::kBytes;
      field.bytes = take(varint(), "a field");
      break;
    case 5: {
      field.kind = Kind::kFixed32;
      std::uint32_t bits = 0;
      std::memcpy(&bits, take(4, "a number").data(), 4);
      field.value = bits;
      break;
    }
    default:
      fail("a field at byte " + std::to_string(begin) + " of a message has the wire type " + std::to_string(key & 7) +
           ", which is not read");
  }
  return field;
}

Message Message::inside(const Field& field) const {
  expect(field, Kind::kBytes);
  return {reader_, file_, field.bytes};
}

std::optional<std::uint64_t> Message::next_varint() {
  if (at_ == bytes_.size()) return std::nullopt;
  return varint();
}

void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void Writer::key(std::uint32_t number, Kind kind) {
  raw_varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(kind));
}

void Writer::varint(std::uint32_t number, std::uint64_t value) {
  key(number, Kind::kVarint);
  raw_varint(value);
}

void Writer::fixed64(std::uint32_t number, std::uint64_t value) {
  key(number, Kind::kFixed64);
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void Writer::fixed32(std::uint32_t number, std::uint32_t value) {
  key(number, Kind::kFixed32);
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void Writer::number(std::uint32_t number, double value) { fixed64(number, std::bit_cast<std::uint64_t>(value)); }
void Writer::number(std::uint32_t number, float value) { fixed32(number, std::bit_cast<std::uint32_t>(value)); }

void Writer::bytes(std::uint32_t number, std::string_view value) {
  key(number, Kind::kBytes);
  raw_varint(value.size());
  text_ += value;
}

void Writer::packed(std::uint32_t number, std::span<const std::int64_t> values) {
  std::size_t size = 0;
  for (const std::int64_t value : values) size += varint_size(static_cast<std::uint64_t>(value));
  key(number, Kind::kBytes);
  raw_varint(size);
  for (const std::int64_t value : values) raw_varint(static_cast<std::uint64_t>(value));
}

void Writer::packed(std::uint32_t number, std::span<const float> values) {
  bytes(number, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace capstan::io::wire
