// Records as they lie in a file: the length, a checksum of it, the data, and their checksum.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/io/byte_source.h"

namespace capstan::io {

/// What is before and after the data of a record.
struct RecordFrame {
  static constexpr std::size_t kHeader = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  static constexpr std::size_t kFooter = sizeof(std::uint32_t);

  explicit RecordFrame(std::string_view record);

  char header[kHeader];
  char footer[kFooter];
};

/// A whole record.
std::string framed_record(std::string_view record);

/// Reads records; fails in the name of the source.
class FramedRecords {
 public:
  /// `doubt` is the remedy if not even the first record is one.
  FramedRecords(std::unique_ptr<ByteSource> source, const char* doubt) : source_(std::move(source)), doubt_(doubt) {}

  /// The next record, or nothing at the end of the source, and after an error.
  std::optional<std::string> next();
  /// Where the next record begins.
  std::uint64_t offset() const { return offset_; }
  const ByteSource& source() const { return *source_; }

 private:
  std::string body(std::uint64_t size);
  [[noreturn]] void cut_off(std::uint64_t size, std::uint64_t found) const;

  std::unique_ptr<ByteSource> source_;
  const char* doubt_;
  std::uint64_t offset_ = 0;
  bool is_at_end_ = false;
};

}  // namespace capstan::io
