#include "src/io/npz.h"

#include <string_view>

#include "src/io/npy.h"
#include "src/io/zip_archive.h"

namespace capstan::io {

namespace {

template <class Array>
std::map<std::string, Array> read_members(const std::string& path, Array (*read)(ByteSource& source)) {
  ZipArchive archive("load_npz", path, "give the path of an archive made by numpy.savez; if it is one, fetch it again");
  std::map<std::string, Array> arrays;
  for (std::size_t i = 0; i < archive.names().size(); ++i) {
    std::string_view key = archive.names()[i];
    if (!key.ends_with(".npy")) continue;
    key.remove_suffix(4);
    const std::unique_ptr<ByteSource> member = archive.open(i);
    if (arrays.contains(std::string(key))) member->fail("the archive holds this member twice", kFetchAgain);
    arrays.emplace(key, read(*member));
  }
  archive.check_headers();
  return arrays;
}

}  // namespace

std::map<std::string, RawArray> read_npz(const std::string& path) { return read_members<RawArray>(path, read_npy); }

std::map<std::string, Tensor> npz_tensors(const std::string& path) { return read_members(path, npy_tensor); }

}  // namespace capstan::io
