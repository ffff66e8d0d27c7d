// Heaps of objects of any length, in which the links of large groups are.
#pragma once

#include <set>
#include <string_view>

#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

/// The blocks of a heap double their size from row to row of a table; rows of blocks that would be too large hold
/// tables in turn. Throws IoError for what is damaged, and for objects outside of blocks or in filtered ones, which
/// links do not.
class Heap {
 public:
  Heap(File& file, std::uint64_t address);

  /// The object that is called so.
  std::string_view object(std::string_view id);

 private:
  std::string_view find(std::uint64_t table, std::uint64_t rows, std::uint64_t offset, std::uint64_t length, int depth);
  std::string_view in_block(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t length);

  File& file_;
  std::uint64_t width_ = 0, first_size_ = 0, largest_size_ = 0, root_ = 0, rows_ = 0;
  std::size_t offset_bytes_ = 0, length_bytes_ = 0;
  std::set<std::uint64_t> checked_;  // addresses of tables and blocks
};

}  // namespace capstan::io::hdf5
