// What an HDF5 file says of itself at its begin, and what of it has been read.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "src/io/hdf5_bytes.h"

namespace capstan::io::hdf5 {

// What a message of an object's header holds.
enum MessageType : std::uint16_t {
  kDataspace = 0x1,
  kLinkInfo = 0x2,
  kDatatype = 0x3,
  kOldFillValue = 0x4,
  kFillValue = 0x5,
  kLink = 0x6,
  kExternalFiles = 0x7,
  kLayout = 0x8,
  kFilters = 0xb,
  kAttribute = 0xc,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
};

struct File {
  const ByteSource& source;
  const Content& content;
  std::shared_ptr<const void> owner;  // of the bytes, or nobody
  std::uint64_t base = 0;             // of addresses
  std::size_t offset_size = 8, length_size = 8;
  std::set<std::uint64_t> visited = {};  // addresses of structures
  std::uint64_t left_values = 0;         // bytes that datasets may take which are not stored
  std::uint64_t left_stored = 0;         // bytes that they may take which are

  std::uint64_t size() const { return content.bytes().size(); }
  /// So many bytes from an address on. Fails beyond the end.
  std::string_view at(std::uint64_t address, std::uint64_t size) const;
  /// The same of bytes that need not be there yet.
  std::string_view place(std::uint64_t address, std::uint64_t size) const;
  /// What begins at an address.
  Reader reader(std::uint64_t address) const;
  /// The same of a structure that is read once: fails if it has been read.
  Reader visit(std::uint64_t address);
  bool is_nowhere(std::uint64_t address) const;
  // Fetching it again does not help a file whose form is not read.
  [[noreturn]] void fail(const std::string& problem) const {
    source.fail(problem, problem.ends_with("not supported") ? "" : kFetchAgain);
  }
};

/// A message of an object header.
struct Message {
  std::uint16_t type;
  std::string_view bytes;
};

}  // namespace capstan::io::hdf5
