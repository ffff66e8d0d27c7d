// The grammar of tables: records of fields, as TensorFlow's reader of them has it.
//
// Fields are between delimiters, and a record ends with "\n", "\r\n", "\r" or the file. A field that begins with a
// quote ends with one, and has everything between, with two quotes for one; any other field has none. Bytes are read in
// pieces, and a record is looked at when all of it is there, so a file takes as much memory as its longest record.
//
// A piece of a file can be cut off and read by another thread. It ends at a line end before which the number of quotes
// is even: outside of quotes, as long as the records before it are right. Where one is not, the piece that it is in
// fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/byte_source.h"

namespace capstan::io {

class CsvRecords {
 public:
  struct Rules {
    char delimiter = ',';
    bool has_quotes = true;
  };

  /// A byte at which a field without quotes ends, as often as vectors have it.
  using Stop = std::array<char, 16>;

  /// A byte order mark at the start is skipped.
  CsvRecords(std::unique_ptr<ByteSource> source, const Rules& rules);

  /// Reads the next record into fields(), or returns false at the end. Throws IoError for quotes where none may be. The
  /// rest of that line is skipped then.
  bool next();
  /// The fields of the last record; they are valid until the next call.
  const std::vector<std::string_view>& fields() const { return fields_; }
  /// The line on which the last record begins, from 1.
  std::uint64_t line() const { return line_; }

  /// The next records, about `size` bytes of them, whose lines count from 1; they are no longer among these then.
  /// Nothing at the end.
  std::unique_ptr<CsvRecords> cut(std::size_t size);
  /// Of records that were cut off: begins again with them; `line` is that of the first.
  void restart(std::uint64_t line);
  /// The lines that have been read.
  std::uint64_t line_count() const { return next_line_ - 1; }

  /// Throws IoError for the last record.
  [[noreturn]] void fail(const std::string& problem, const std::string& help = "") const;

 private:
  static constexpr std::size_t kBlock = 64;
  // A bit for each byte of a block at which a field without quotes may end, and where in the buffer the block lies.
  struct Block {
    std::size_t begin = -kBlock;  // after any place
    std::uint64_t stops = 0;
  };

  CsvRecords(const ByteSource& source, const Rules& rules, std::unique_ptr<char[]> text, std::size_t begin,
             std::size_t end);

  bool parse();
  bool refill(std::size_t least);
  bool parse_quoted(const char*& at, const char* end);
  std::size_t find_stop(Block& block, std::size_t at) const;
  std::size_t end_of_whole_records() const;

  std::unique_ptr<ByteSource> source_;
  Rules rules_;
  std::array<Stop, 4> stops_;
  std::unique_ptr<char[]> buffer_;  // `capacity_` bytes, and a block that may be looked at
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0, end_ = 0;  // what is in the buffer and has not been read
  std::size_t first_ = 0;            // of records that were cut off: where they begin
  Block block_;
  bool source_ended_ = false, failed_ = false;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unescaped_;  // texts of quoted fields that had quotes inside
  std::size_t unescaped_count_ = 0;
  std::uint64_t line_ = 0, next_line_ = 1;
};

}  // namespace capstan::io
