// Writing zip archives: .npz and .keras files.
#pragma once

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

  void add(const std::string& name, std::span<const std::byte> content, bool is_compressed = false);
  /// The archive as it is to lie in the file.
  std::vector<std::byte> close();

  /// The bytes of the archive, and where the next ones go.
  struct Memory {
    std::vector<std::byte> bytes;
    std::size_t at = 0;
  };

 private:
  void check(bool is_done) const;

  std::string writer_, path_;
  Memory memory_;
  void* archive_ = nullptr;
};

}  // namespace capstan::io
