// The grammar of tables: records of fields, as TensorFlow's reader of them has it.
//
// Fields stand between delimiters, and a record ends with "\n", "\r\n", "\r" or the file. A field that begins with a
// quote ends with one, and has everything between, with two quotes for one; any other field has none. Bytes are read in
// pieces, and a record is looked at when all of it is there, so a file takes as much memory as its longest record.
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

  /// A byte order mark at the begin is skipped.
  CsvRecords(std::unique_ptr<ByteSource> source, const Rules& rules);

  /// Reads the next record into fields(), or returns false at the end. Throws IoError for quotes where none may be. The
  /// rest of that line is skipped then.
  bool next();
  /// The fields of the last record; they are valid until the next call.
  const std::vector<std::string_view>& fields() const { return fields_; }
  /// The line on which the last record begins, from 1.
  std::uint64_t line() const { return line_; }

  /// Throws IoError for the last record.
  [[noreturn]] void fail(const std::string& problem, const std::string& help = "") const;

 private:
  bool parse();
  bool refill();
  bool parse_quoted(const char*& at, const char* end);
  const char* after_line_end(const char* at);

  std::unique_ptr<ByteSource> source_;
  Rules rules_;
  std::array<bool, 256> stops_{};  // the bytes at which a field without quotes ends
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is in the buffer and has not been read
  bool source_ended_ = false, failed_ = false;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unescaped_;  // texts of quoted fields that had quotes inside
  std::size_t unescaped_count_ = 0;
  std::uint64_t line_ = 0, next_line_ = 1;
};

}  // namespace capstan::io
