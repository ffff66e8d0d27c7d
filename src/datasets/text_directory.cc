#include "capstan/directory_datasets.h"
#include "src/core/check.h"
#include "src/datasets/class_folders.h"
#include "src/io/byte_source.h"

namespace capstan::datasets {

namespace {

constexpr const char* kOwner = "text_dataset_from_directory";

std::string text_of_file(const std::string& path, std::optional<std::int64_t> max_length) {
  const std::unique_ptr<io::ByteSource> source = io::open_plain_file(kOwner, path);
  std::uint64_t size = source->most_bytes();
  if (max_length) size = std::min(size, static_cast<std::uint64_t>(*max_length));
  const std::vector<std::byte> bytes = io::read_exactly(*source, size, "text");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

DirectoryDataset<Texts> text_dataset_from_directory(const std::string& directory, const TextDirectoryOptions& options) {
  CAPSTAN_CHECK(!options.max_length || *options.max_length >= 0, ValueError, kOwner,
                ": max_length must not be negative, but is ", *options.max_length);
  const detail::FolderOptions folder_options{.owner = kOwner,
                                             .label_mode = options.label_mode,
                                             .class_names = options.class_names,
                                             .batch_size = options.batch_size,
                                             .shuffle = options.shuffle,
                                             .seed = options.seed,
                                             .validation_split = options.validation_split,
                                             .subset = options.subset,
                                             .follow_links = options.follow_links,
                                             .endings = {".txt"},
                                             .refused_endings = {}};
  const detail::ClassFolders folders = detail::find_class_folders(directory, folder_options);
  const auto load = [mode = options.label_mode, max_length = options.max_length, classes = folders.class_names.size()](
                        const std::string& path, const Tensor& label) {
    return std::tuple(text_of_file(path, max_length), detail::label_of(label, mode, classes));
  };
  return {detail::labeled_paths(folders, folder_options)
              .map(load, {.num_parallel_calls = kAutotune})
              .batch(options.batch_size)
              .prefetch(kAutotune),
          folders.class_names, folders.paths};
}

}  // namespace capstan::datasets
