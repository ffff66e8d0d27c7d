#include "src/io/npz.h"

#include <zip.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "src/io/byte_source.h"
#include "src/io/npy.h"

namespace capstan::io {
namespace {

constexpr const char* kReader = "load_npz";

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

Archive open_archive(const std::string& path, int flags = 0) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | flags, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail_file(kReader, "cannot open the zip archive, " + reason, path,
              "give the path of an archive made by numpy.savez; if it is one, fetch it again");
  }
  return archive;
}

class Member final : public ByteSource {
 public:
  Member(zip_t* archive, const std::string& path, const zip_stat_t& stat)
      : ByteSource(kReader, path + ", member " + quoted(stat.name)),
        most_bytes_(std::min<uint64_t>(stat.size, most_inflated(stat.comp_size))) {
    if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE) {
      fail("the member is encrypted", "save the arrays without a password");
    }
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
      fail("compression method " + std::to_string(stat.comp_method) + " is not supported, expected 0 or 8",
           "save the arrays with numpy.savez or numpy.savez_compressed");
    }
    file_ = zip_fopen_index(archive, stat.index, 0);
    if (file_ == nullptr) fail(std::string("cannot open the member, ") + zip_strerror(archive), kFetchAgain);
  }
  ~Member() override {
    if (file_ != nullptr) zip_fclose(file_);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  size_t read(std::byte* out, size_t size) override {
    size_t total = 0;
    while (total < size) {
      const zip_int64_t got = zip_fread(file_, out + total, size - total);
      if (got < 0) {
        fail(std::string("the member is damaged, ") + zip_file_strerror(file_), kFetchAgain);
      }
      if (got == 0) break;
      total += static_cast<size_t>(got);
    }
    return total;
  }
  uint64_t most_bytes() const override { return most_bytes_; }

 private:
  zip_file_t* file_ = nullptr;
  uint64_t most_bytes_;
};

std::vector<zip_stat_t> list_members(zip_t* archive, const std::string& path, uint64_t file_size) {
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_NAME | ZIP_STAT_INDEX | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  std::vector<zip_stat_t> members;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  uint64_t used = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded) {
      fail_file(kReader, "the directory of the archive is damaged", path, kFetchAgain);
    }
    // Archives that blow up a thousandfold per member, again and again, let the members share one
    // piece of the file.
    if (stat.comp_size > file_size - used) {
      fail_file(kReader,
                "the members claim more than the " + std::to_string(file_size) + " bytes of the file, " +
                    quoted(stat.name) + " alone " + std::to_string(stat.comp_size),
                path, kFetchAgain);
    }
    used += stat.comp_size;
    members.push_back(stat);
  }
  return members;
}

}  // namespace

std::map<std::string, RawArray> read_npz(const std::string& path) {
  // Opening it as a file first gives missing files and directories the same text as the other
  // readers give.
  const uint64_t file_size = open_file(kReader, path)->most_bytes();
  const Archive archive = open_archive(path);
  std::map<std::string, RawArray> arrays;
  for (const zip_stat_t& stat : list_members(archive.get(), path, file_size)) {
    std::string_view key = stat.name;
    if (!key.ends_with(".npy")) continue;
    key.remove_suffix(4);
    Member member(archive.get(), path, stat);
    if (arrays.contains(std::string(key))) member.fail("the archive holds this member twice", kFetchAgain);
    arrays.emplace(key, read_npy(member));
  }
  // That the two headers of each member say the same is checked last, since its message has no details.
  open_archive(path, ZIP_CHECKCONS);
  return arrays;
}

}  // namespace capstan::io
