// Files below a directory, by the folder of their class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capstan/data.h"

namespace capstan::detail {

// What the datasets of folders have in common; `owner` is the function, for errors.
struct FolderOptions {
  const char* owner;
  std::string label_mode;
  std::vector<std::string> class_names;
  std::int64_t batch_size;
  bool shuffle;
  std::optional<std::uint64_t> seed;
  double validation_split;
  std::string subset;
  bool follow_links;
  std::vector<std::string> endings;          // of the names of files that are read
  std::vector<std::string> refused_endings;  // of files that Keras reads
};

struct ClassFolders {
  std::vector<std::string> class_names;
  std::vector<std::string> paths;
  std::vector<std::int32_t> labels;
};

// The files of the subset that is asked for. Errors: IoError, and ValueError for options that have no meaning.
ClassFolders find_class_folders(const std::string& directory, const FolderOptions& options);

// Paths with labels, in the order of a pass.
Dataset<std::string, Tensor> labeled_paths(const ClassFolders& folders, const FolderOptions& options);

// A label as the mode has it.
Tensor label_of(const Tensor& label, const std::string& mode, std::size_t classes);

}  // namespace capstan::detail
