// Soft links of an HDF5 file: names that stand for other names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "capstan/tensor.h"
#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

/// The links that a file has, followed when all objects are known.
class SoftLinks {
 public:
  void add_group(const std::string& path) { groups_.insert(path); }
  /// A link called `path` in the group `parent`. A target without a leading '/' is looked for in that group. False if
  /// another one is called so.
  bool add(const std::string& parent, const std::string& path, std::string_view target);
  /// Gives the tensors that the links lead to their names, too. A link to a group gives all tensors in it; one that is
  /// among them is not followed once more. Fails for a link that leads nowhere or in a circle, for one to a group that
  /// has soft links, and for more names than a file of this size has room for.
  void follow(const File& file, std::map<std::string, Tensor>& tensors) const;

 private:
  std::string end_of(const File& file, const std::string& path, const std::map<std::string, Tensor>& tensors) const;
  bool has_links(const std::string& group) const;

  std::set<std::string> groups_;              // by their paths; the root's is empty
  std::map<std::string, std::string> links_;  // from the path of each to the path that it names
};

}  // namespace capstan::io::hdf5
