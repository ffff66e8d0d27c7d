#include "src/io/keras_archive.h"

#include <algorithm>

namespace capstan::io {

KerasArchive::KerasArchive(const std::string& reader, const std::string& path)
    : reader_(reader),
      path_(path),
      archive_(reader, path, "give the path of a file that Model::save() or Keras wrote") {}

std::unique_ptr<ByteSource> KerasArchive::open(const std::string& name) {
  const std::vector<std::string>& names = archive_.names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) fail_file(reader_, "the archive has no member " + name, path_, kFetchAgain);
  if (std::find(found + 1, names.end(), name) != names.end()) {
    fail_file(reader_, "the archive holds " + name + " twice", path_, kFetchAgain);
  }
  return archive_.open(static_cast<std::size_t>(found - names.begin()));
}

std::string KerasArchive::config() {
  const std::unique_ptr<ByteSource> member = open(kKerasConfig);
  const std::vector<std::byte> bytes = read_exactly(*member, member->most_bytes(), "the configuration");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::unique_ptr<ByteSource> KerasArchive::weights() { return open(kKerasWeights); }

}  // namespace capstan::io
