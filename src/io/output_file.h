// A file that grows while a program runs: records and logs.
//
// Unlike write_file(), which replaces a file as a whole, what has been written is there for readers after each flush.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/io/compression.h"

namespace capstan::io {

/// Not thread-safe; one writer owns it. The end of its life closes the file without an error.
class OutputFile {
 public:
  /// Makes the file; what was at `path` is gone. Throws IoError in the name of `writer`.
  OutputFile(std::string writer, std::string path, Compression compression = Compression::kNone, int level = -1);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// All of these throw IoError if the file cannot be written; write() and flush() ValueError after close().
  void write(std::string_view bytes) { write({bytes}); }
  /// What lies in several pieces of memory. Large ones go to the file from where they lie.
  void write(std::initializer_list<std::string_view> pieces);
  void flush();
  void close();

  const std::string& path() const { return path_; }

 private:
  struct Deflater;

  void compress(std::string_view bytes, int how);
  void push(std::string_view bytes);
  void drain(std::initializer_list<std::string_view> more = {});
  void check_is_open() const;
  [[noreturn]] void fail(int code) const;

  std::string writer_, path_, buffer_;
  int file_ = -1;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace capstan::io
