// The wire format of protocol buffers, in which Examples, events and graphs are written.
//
// A message is a row of fields: a number and a kind, and then a varint, four or eight bytes, or a length and so many
// bytes. What a field means, only the reader of the message knows; messages inside are bytes. So there is nothing here
// that calls itself: a reader of nested messages has one loop for each level that it knows, and a file cannot make it
// go deeper. Every length is compared with what is left before it is used. Generated code and the library of protocol
// buffers were rejected: the messages needed are few, and the library costs more to build than all of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace capstan::io::wire {

/// How a field is stored. The numbers are those of the format; groups (3 and 4), which it gave up, are refused.
enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field. `bytes` is part of the message that is read.
struct Field {
  std::uint32_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;  ///< of all kinds but bytes
  std::string_view bytes = {};
};

/// Reads a message field by field. Throws IoError in the name of `reader`, with the place in `file` if that is given;
/// all three must outlive it.
class Message {
 public:
  Message(std::string_view reader, std::string_view file, std::string_view bytes)
      : reader_(reader), file_(file), bytes_(bytes) {}

  /// The next field, or nothing at the end.
  std::optional<Field> next();
  /// A message inside of this one.
  Message inside(const Field& field) const;
  /// A varint of those that a field of bytes holds one after the other; nothing at the end.
  std::optional<std::uint64_t> next_varint();

  [[noreturn]] void fail(const std::string& problem) const;
  /// Throws unless a field is of this kind.
  void expect(const Field& field, Kind kind) const;

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t size, std::string_view what);

  std::string_view reader_, file_, bytes_;
  std::size_t at_ = 0;
};

/// Appends a number in bytes of seven bits each, the lowest first.
void append_varint(std::string& bytes, std::uint64_t value);

/// Puts a message together.
class Writer {
 public:
  void varint(std::uint32_t number, std::uint64_t value);
  void fixed64(std::uint32_t number, std::uint64_t value);
  void fixed32(std::uint32_t number, std::uint32_t value);
  void number(std::uint32_t number, double value);
  void number(std::uint32_t number, float value);
  void bytes(std::uint32_t number, std::string_view value);
  /// Packed integers.
  void packed(std::uint32_t number, std::span<const std::int64_t> values);
  /// Packed little-endian floats.
  void packed(std::uint32_t number, std::span<const float> values);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void raw_varint(std::uint64_t value) { append_varint(text_, value); }
  void key(std::uint32_t number, Kind kind);

  std::string text_;
};

}  // namespace capstan::io::wire
