// Files below a directory, by the folder of their class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/data.h"
#include "capstan/directory_datasets.h"
#include "capstan/seed.h"

namespace capstan::detail {

// What the datasets of folders have in common; `owner` is the function, for errors.
struct FolderOptions {
  const char* owner;
  std::vector<std::string> endings;               // of the names of files that are read
  std::vector<std::string> refused_endings = {};  // of files that Keras reads
  std::string label_mode = {};
  std::vector<std::string> class_names = {};
  std::int64_t batch_size = 0;
  bool shuffle = false;
  Seed seed = {};
  double validation_split = 0;
  std::string subset = {};
  bool follow_links = false;
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

// The files below a directory in batches, with the labels of their classes. `folders` says what differs between kinds
// of files; all else is in `options`. `load` gives the element of a path.
template <class Element, class Options, class Load>
auto dataset_from_directory(const std::string& directory, FolderOptions folders, const Options& options, Load load) {
  folders.label_mode = options.label_mode;
  folders.class_names = options.class_names;
  folders.batch_size = options.batch_size;
  folders.shuffle = options.shuffle;
  folders.seed = options.seed;
  folders.validation_split = options.validation_split;
  folders.subset = options.subset;
  folders.follow_links = options.follow_links;
  const ClassFolders found = find_class_folders(directory, folders);
  const auto labeled = [load = std::move(load), mode = options.label_mode, classes = found.class_names.size()](
                           const std::string& path, const Tensor& label) {
    return std::tuple(load(path), label_of(label, mode, classes));
  };
  return datasets::DirectoryDataset<Element>{labeled_paths(found, folders)
                                                 .map(labeled, {.num_parallel_calls = kAutotune})
                                                 .batch(options.batch_size)
                                                 .prefetch(kAutotune),
                                             found.class_names, found.paths};
}

}  // namespace capstan::detail
