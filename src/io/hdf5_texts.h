// Texts in attributes of HDF5 files: lists of names, of one length each or of any.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

/// Reads attributes of one file. Texts of any length are in heaps of the file, each of which is read once; all texts
/// together may not be longer than the file.
class TextAttributes {
 public:
  explicit TextAttributes(const File& file) : file_(file) {}

  /// Adds the texts of an attribute under "path@name". Attributes of other types, and lists with more than one axis,
  /// are left out. Throws IoError for what is damaged.
  void add(const std::string& path, std::string_view message, std::map<std::string, std::vector<std::string>>& texts);

 private:
  using Heap = std::map<std::uint64_t, std::string_view>;  // objects by their numbers

  const Heap& heap(std::uint64_t address);
  std::string take(std::string_view text);

  const File& file_;
  std::map<std::uint64_t, Heap> heaps_;
  std::uint64_t taken_ = 0, scanned_ = 0;  // bytes of texts and of heaps
};

}  // namespace capstan::io::hdf5
