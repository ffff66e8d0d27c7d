// Writing zip archives: .npz and .keras files.
#pragma once

#include <zip.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace capstan::io {

/// An archive in memory. The same members give the same bytes at any time. Throws IoError in the name of `writer`.
class ZipWriter {
 public:
  ZipWriter(std::string writer, std::string path);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  /// The bytes must stay until close().
  void add(const std::string& name, std::span<const std::byte> content, bool is_compressed = false);
  /// The archive as it is to lie in the file.
  std::vector<std::byte> close();

 private:
  [[noreturn]] void fail(const std::string& reason) const;
  void release_source();

  std::string writer_, path_;
  zip_source_t* source_ = nullptr;
  zip_t* archive_ = nullptr;
};

}  // namespace capstan::io
