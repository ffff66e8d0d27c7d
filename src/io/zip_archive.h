// Reading zip archives: .npz files, PyTorch's.
#pragma once

#include <zip.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/io/byte_source.h"

namespace capstan::io {

/// An archive that is open for reading. Members are sources of bytes by their number; no member is ever written to a
/// file, so that names that lead out of a folder do nothing.
///
/// Every function throws IoError in the name of `reader`: for a file that is missing or no zip archive, and for members
/// that are encrypted, compressed by something else than deflate or damaged (checksums are verified). Members that
/// claim more bytes than the file has, by lying over each other for example, are refused, so memory is bounded by what
/// the file can hold.
class ZipArchive {
 public:
  ZipArchive(std::string reader, std::string path, const std::string& help);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  /// The names, in the order of the directory.
  const std::vector<std::string>& names() const { return names_; }
  /// A member, which the archive must outlive.
  std::unique_ptr<ByteSource> open(std::size_t number);
  /// Throws unless the two headers of each member say the same. Its message has no details, so it is for the end.
  void check_headers() const;

 private:
  void list_members(std::uint64_t file_size);

  std::string reader_, path_, help_;
  zip_t* archive_;
  std::vector<std::string> names_;
};

}  // namespace capstan::io
