#include <algorithm>

#include "capstan/directory_datasets.h"
#include "src/core/check.h"
#include "src/datasets/class_folders.h"
#include "src/io/byte_source.h"

namespace capstan::datasets {

namespace {

constexpr const char* kTextOwner = "text_dataset_from_directory";

std::string text_of_file(const std::string& path, std::optional<std::int64_t> max_length) {
  const std::unique_ptr<io::ByteSource> source = io::open_plain_file(kTextOwner, path);
  std::uint64_t size = source->most_bytes();
  if (max_length) size = std::min(size, static_cast<std::uint64_t>(*max_length));
  const std::vector<std::byte> bytes = io::read_exactly(*source, size, "text");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

DirectoryDataset<Texts> text_dataset_from_directory(const std::string& directory, const TextDirectoryOptions& options) {
  CAPSTAN_CHECK(!options.max_length || *options.max_length >= 0, ValueError, kTextOwner,
                ": max_length must not be negative, but is ", *options.max_length);
  const auto load = [max_length = options.max_length](const std::string& path) {
    return text_of_file(path, max_length);
  };
  return detail::dataset_from_directory<Texts>(directory, {.owner = kTextOwner, .endings = {".txt"}}, options, load);
}

}  // namespace capstan::datasets
