// Reading zip archives: .npz files, PyTorch's.
#pragma once

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

  /// The names, in the order of the directory.
  const std::vector<std::string>& names() const { return names_; }
  /// A member, which the archive must outlive.
  std::unique_ptr<ByteSource> open(std::size_t number);
  /// Throws unless the two headers of each member say the same. It reads them all, so it is for the end.
  void check_headers();

 private:
  // What the directory says of a member.
  struct Entry {
    std::uint64_t place = 0, number = 0;  // of its record in the directory
    std::uint64_t size = 0, compressed_size = 0;
    std::uint64_t method = 0, crc = 0;
    bool is_encrypted = false;
  };
  // The file, opened by the library, which reads one member at a time.
  struct Close {
    void operator()(void* file) const;
  };
  using Handle = std::unique_ptr<void, Close>;
  class Member;

  void list_members(std::uint64_t file_size);
  Handle opened_at(const Entry& entry);
  std::string name_beside_the_data(const Entry& entry, std::size_t length);

  std::string reader_, path_;
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
  Handle spare_;  // of a member that is closed
};

}  // namespace capstan::io
