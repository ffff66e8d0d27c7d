#include "src/datasets/class_folders.h"

#include <algorithm>
#include <filesystem>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/datasets/numpy_shuffle.h"
#include "src/io/byte_source.h"

namespace capstan::detail {

namespace {

namespace fs = std::filesystem;

void check(const FolderOptions& options) {
  const char* const owner = options.owner;
  CAPSTAN_CHECK(options.label_mode == "int" || options.label_mode == "categorical" || options.label_mode == "binary",
                ValueError, owner, ": label_mode must be \"int\", \"categorical\" or \"binary\", not \"",
                options.label_mode, "\"");
  CAPSTAN_CHECK(options.batch_size >= 1, ValueError, owner, ": batch_size must be at least 1, not ",
                options.batch_size);
  CAPSTAN_CHECK(options.validation_split >= 0 && options.validation_split < 1, ValueError, owner,
                ": validation_split must be at least 0 and less than 1, not ", options.validation_split);
  const bool is_split = options.validation_split > 0;
  CAPSTAN_CHECK(is_split == !options.subset.empty(), ValueError, owner,
                ": validation_split and subset go together, but they are ", options.validation_split, " and \"",
                options.subset, "\"");
  CAPSTAN_CHECK(!is_split || options.subset == "training" || options.subset == "validation", ValueError, owner,
                ": subset must be \"training\" or \"validation\", not \"", options.subset, "\"");
  CAPSTAN_CHECK(!is_split || !options.shuffle || options.seed, ValueError, owner,
                ": a split of shuffled files needs a seed, the same for both subsets, or they overlap");
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  return text;
}

bool ends_with_any(const std::string& name, const std::vector<std::string>& endings) {
  const std::string lower_name = lower(name);
  return std::any_of(endings.begin(), endings.end(),
                     [&](const std::string& ending) { return lower_name.ends_with(ending); });
}

// In the order of the names; `what` of each entry is asked.
template <class Is>
std::vector<std::string> names_in(const FolderOptions& options, const fs::path& folder, const Is& is) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is(*entry)) names.push_back(entry->path().filename().string());
  }
  if (error) io::fail_file(options.owner, "cannot read the directory, " + error.message(), folder.string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_directory(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_directory(error);
}

// The files below a folder, at any depth: folders in the order of their paths, files in that of their names. Links are
// followed to a limited depth, since they may lead back.
void add_files(const FolderOptions& options, const fs::path& folder, std::vector<std::string>& paths) {
  constexpr int kDeepest = 64;
  std::vector<std::pair<std::string, int>> folders = {{folder.string(), 0}}, found;
  while (!folders.empty()) {
    const auto [path, depth] = folders.back();
    folders.pop_back();
    found.emplace_back(path, depth);
    if (depth == kDeepest) {
      io::fail_file(options.owner, "folders stand in each other more than 64 deep", path,
                    "a link may lead back to a folder that it is in");
    }
    const auto is_followed = [&](const fs::directory_entry& entry) {
      return is_directory(entry) && (options.follow_links || !entry.is_symlink());
    };
    for (const std::string& name : names_in(options, path, is_followed))
      folders.emplace_back((fs::path(path) / name).string(), depth + 1);
  }
  std::sort(found.begin(), found.end());
  for (const auto& [path, depth] : found) {
    const std::string& in = path;
    const auto is_file = [](const fs::directory_entry& entry) { return !is_directory(entry); };
    for (const std::string& name : names_in(options, in, is_file)) {
      const std::string file = (fs::path(in) / name).string();
      CAPSTAN_CHECK(!ends_with_any(name, options.refused_endings), ValueError, options.owner, ": ", file,
                    " has a format that is not read", help("convert it to PNG or JPEG, or remove it"));
      if (ends_with_any(name, options.endings)) paths.push_back(file);
    }
  }
}

void check_class_names(const FolderOptions& options, const std::vector<std::string>& folders) {
  std::vector<std::string> given = options.class_names;
  std::sort(given.begin(), given.end());
  if (given == folders) return;
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  throw ValueError(
      join(options.owner, ": class_names are ", list(options.class_names), ", but the folders are ", list(folders)));
}

// What stays of a list for the subset.
template <class T>
void take_subset(const FolderOptions& options, std::vector<T>& list) {
  if (options.subset.empty()) return;
  const auto kept_back = static_cast<std::ptrdiff_t>(options.validation_split * static_cast<double>(list.size()));
  if (options.subset == "training") {
    list.erase(list.end() - kept_back, list.end());
  } else {
    list.erase(list.begin(), list.end() - kept_back);
  }
}

}  // namespace

ClassFolders find_class_folders(const std::string& directory, const FolderOptions& options) {
  check(options);
  ClassFolders result;
  result.class_names = names_in(options, directory, is_directory);
  if (!options.class_names.empty()) {
    check_class_names(options, result.class_names);
    result.class_names = options.class_names;
  }
  CAPSTAN_CHECK(options.label_mode != "binary" || result.class_names.size() == 2, ValueError, options.owner,
                ": label_mode \"binary\" is for 2 classes, but there are ", result.class_names.size());
  for (std::size_t label = 0; label < result.class_names.size(); ++label) {
    add_files(options, fs::path(directory) / result.class_names[label], result.paths);
    result.labels.resize(result.paths.size(), static_cast<std::int32_t>(label));
  }
  if (options.shuffle && options.seed) {
    const auto seed = static_cast<std::uint32_t>(*options.seed);
    numpy_shuffle(result.paths, seed);
    numpy_shuffle(result.labels, seed);
  }
  take_subset(options, result.paths);
  take_subset(options, result.labels);
  CAPSTAN_CHECK(!result.paths.empty(), ValueError, options.owner, ": there are no files to read below ", directory);
  return result;
}

Dataset<std::string, Tensor> labeled_paths(const ClassFolders& folders, const FolderOptions& options) {
  const auto pairs = from_tensor_slices(Texts(folders.paths), constant(folders.labels));
  if (!options.shuffle) return pairs;
  // Keras mixes a part of the files, which are mixed already; without a seed they are not.
  const auto count = static_cast<std::int64_t>(folders.paths.size());
  return pairs.shuffle(options.seed ? std::min(8 * std::min(options.batch_size, count), count) : count,
                       {.seed = options.seed});
}

Tensor label_of(const Tensor& label, const std::string& mode, std::size_t classes) {
  if (mode == "categorical") return one_hot(label, static_cast<std::int64_t>(classes));
  if (mode == "binary") return reshape(cast(label, float32), {1});
  return label;
}

}  // namespace capstan::detail
