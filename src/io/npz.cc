#include "src/io/npz.h"

#include <string_view>

#include "src/io/npy.h"
#include "src/io/zip_archive.h"

namespace capstan::io {

std::map<std::string, RawArray> read_npz(const std::string& path) {
  ZipArchive archive("load_npz", path, "give the path of an archive made by numpy.savez; if it is one, fetch it again");
  std::map<std::string, RawArray> arrays;
  for (std::size_t i = 0; i < archive.names().size(); ++i) {
    std::string_view key = archive.names()[i];
    if (!key.ends_with(".npy")) continue;
    key.remove_suffix(4);
    const std::unique_ptr<ByteSource> member = archive.open(i);
    if (arrays.contains(std::string(key))) member->fail("the archive holds this member twice", kFetchAgain);
    arrays.emplace(key, read_npy(*member));
  }
  archive.check_headers();
  return arrays;
}

}  // namespace capstan::io
