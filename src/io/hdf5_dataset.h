// Datasets of HDF5 files: from the messages of their headers to tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"
#include "src/io/byte_source.h"

namespace capstan::io::hdf5 {

/// What a file says of itself at its begin, and what of it has been read.
struct File {
  const ByteSource& source;
  std::string_view bytes;
  std::shared_ptr<const void> owner;  // of the bytes, or nobody
  std::uint64_t base = 0;             // of addresses
  std::size_t offset_size = 8, length_size = 8;
  std::set<std::uint64_t> visited = {};  // addresses of structures
  std::uint64_t left_values = 0;         // bytes that datasets may take which are not stored

  /// So many bytes from an address on. Fails beyond the end.
  std::string_view at(std::uint64_t address, std::uint64_t size) const;
  /// All bytes from an address on.
  std::string_view from(std::uint64_t address) const;
  /// Fails if the structure at this address has been read.
  void visit(std::uint64_t address);
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

/// The elements of a dataset; `name` is its path, for errors.
Tensor read_dataset(File& file, const std::string& name, const std::vector<Message>& messages);

}  // namespace capstan::io::hdf5
