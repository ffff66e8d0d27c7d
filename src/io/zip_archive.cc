#include "src/io/zip_archive.h"

#include <algorithm>

namespace capstan::io {
namespace {

zip_t* opened(const std::string& reader, const std::string& path, const std::string& help, int flags = 0) {
  int code = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_RDONLY | flags, &code);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail_file(reader, "cannot open the zip archive, " + reason, path, help);
  }
  return archive;
}

class Member final : public ByteSource {
 public:
  Member(const std::string& reader, zip_t* archive, const std::string& path, const zip_stat_t& stat)
      : ByteSource(reader, path + ", member " + quoted(stat.name)),
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

// Nothing if the directory has no such member, or not all that is needed.
bool find_member(zip_t* archive, std::uint64_t number, zip_stat_t& stat) {
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_NAME | ZIP_STAT_INDEX | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  return zip_stat_index(archive, number, 0, &stat) == 0 && (stat.valid & kNeeded) == kNeeded;
}

}  // namespace

ZipArchive::ZipArchive(std::string reader, std::string path, const std::string& help)
    : reader_(std::move(reader)), path_(std::move(path)), help_(help) {
  // Opening it as a file first gives missing files and directories the same text as other readers give.
  const std::uint64_t file_size = open_file(reader_, path_)->most_bytes();
  archive_ = opened(reader_, path_, help_);
  try {
    list_members(file_size);
  } catch (...) {
    zip_discard(archive_);
    throw;
  }
}

ZipArchive::~ZipArchive() { zip_discard(archive_); }

void ZipArchive::list_members(std::uint64_t file_size) {
  const zip_int64_t count = zip_get_num_entries(archive_, 0);
  std::uint64_t used = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (!find_member(archive_, static_cast<std::uint64_t>(i), stat)) {
      fail_file(reader_, "the directory of the archive is damaged", path_, kFetchAgain);
    }
    // Archives that blow up a thousandfold per member, again and again, let the members share one piece of the file.
    if (stat.comp_size > file_size - used) {
      fail_file(reader_,
                "the members claim more than the " + std::to_string(file_size) + " bytes of the file, " +
                    quoted(stat.name) + " alone " + std::to_string(stat.comp_size),
                path_, kFetchAgain);
    }
    used += stat.comp_size;
    names_.emplace_back(stat.name);
  }
}

std::unique_ptr<ByteSource> ZipArchive::open(std::size_t number) {
  zip_stat_t stat;
  if (!find_member(archive_, number, stat)) {
    fail_file(reader_, "the directory of the archive is damaged", path_, kFetchAgain);
  }
  return std::make_unique<Member>(reader_, archive_, path_, stat);
}

void ZipArchive::check_headers() const { zip_discard(opened(reader_, path_, help_, ZIP_CHECKCONS)); }

}  // namespace capstan::io
