#include "src/io/zip_archive.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <fstream>

namespace capstan::io {

void ZipArchive::Close::operator()(void* file) const { unzClose(file); }

// At a member, whose header has been read; null if that is damaged.
ZipArchive::Handle ZipArchive::opened_at(const Entry& entry) {
  Handle file = spare_ != nullptr ? std::move(spare_) : Handle(unzOpen64(path_.c_str()));
  const unz64_file_pos place{entry.place, entry.number};
  if (file == nullptr || unzGoToFilePos64(file.get(), &place) != UNZ_OK || unzOpenCurrentFile(file.get()) != UNZ_OK) {
    return nullptr;
  }
  return file;
}

class ZipArchive::Member final : public ByteSource {
 public:
  Member(ZipArchive& archive, const std::string& name, const Entry& entry)
      : ByteSource(archive.reader_, archive.path_ + ", member " + in_quotes(name)),
        archive_(archive),
        entry_(entry),
        most_bytes_(std::min(entry.size, most_inflated(entry.compressed_size))) {
    constexpr std::uint64_t kWorthItsOwnFile = 1 << 16;
    if (entry.is_encrypted) fail("the member is encrypted", "save the arrays without a password");
    if (entry.method != 0 && entry.method != Z_DEFLATED) {
      fail("compression method " + std::to_string(entry.method) + " is not supported, expected 0 or 8",
           "save the arrays with numpy.savez or numpy.savez_compressed");
    }
    handle_ = archive.opened_at(entry);
    if (handle_ == nullptr) fail("cannot open the member, its header is damaged", kFetchAgain);
    // The library reads what is stored in small pieces.
    if (entry.method == 0 && entry.size == entry.compressed_size && entry.size >= kWorthItsOwnFile) {
      stored_.open(archive.path_, std::ios::binary);
      stored_.seekg(static_cast<std::streamoff>(unzGetCurrentFileZStreamPos64(handle_.get())));
    }
  }
  ~Member() override {
    unzCloseCurrentFile(handle_.get());
    archive_.spare_ = std::move(handle_);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  size_t read(std::byte* out, size_t size) override {
    constexpr size_t kMost = size_t{1} << 30;
    size_t total = 0;
    while (total < size && done_ < entry_.size) {
      const std::int64_t got = read_some(out + total, std::min({size - total, kMost, size_t{entry_.size - done_}}));
      if (got < 0) fail("the member is damaged, its compressed data are wrong", kFetchAgain);
      if (got == 0) {
        fail("the member is damaged, it ends after " + std::to_string(done_) + " of " + std::to_string(entry_.size) +
                 " bytes",
             kFetchAgain);
      }
      crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(out + total), static_cast<size_t>(got));
      total += static_cast<size_t>(got);
      done_ += static_cast<size_t>(got);
    }
    if (done_ == entry_.size && crc_ != entry_.crc) fail("the member is damaged, CRC error", kFetchAgain);
    return total;
  }
  uint64_t most_bytes() const override { return most_bytes_; }

 private:
  std::int64_t read_some(std::byte* out, size_t size) {
    if (!stored_.is_open()) return unzReadCurrentFile(handle_.get(), out, static_cast<unsigned>(size));
    stored_.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(size));
    return stored_.gcount();
  }

  ZipArchive& archive_;
  Entry entry_;
  uint64_t most_bytes_;
  Handle handle_;
  std::ifstream stored_;
  uint64_t done_ = 0;
  uLong crc_ = 0;
};

// The name in the header before a member's data; empty if it cannot be read.
std::string ZipArchive::name_beside_the_data(const Entry& entry, std::size_t length) {
  Handle file = opened_at(entry);
  if (file == nullptr) return "";
  const std::uint64_t data = unzGetCurrentFileZStreamPos64(file.get());
  const int extra = unzGetLocalExtrafield(file.get(), nullptr, 0);
  unzCloseCurrentFile(file.get());
  spare_ = std::move(file);
  if (extra < 0 || data < static_cast<std::uint64_t>(extra) + length) return "";
  std::ifstream bytes(path_, std::ios::binary);
  bytes.seekg(static_cast<std::streamoff>(data - static_cast<std::uint64_t>(extra) - length));
  std::string name(length, '\0');
  bytes.read(name.data(), static_cast<std::streamsize>(length));
  return bytes ? name : "";
}

ZipArchive::ZipArchive(std::string reader, std::string path, const std::string& help)
    : reader_(std::move(reader)), path_(std::move(path)) {
  // Opening it as a file first gives missing files and directories the same text as other readers give.
  const std::uint64_t file_size = open_file(reader_, path_)->most_bytes();
  spare_.reset(unzOpen64(path_.c_str()));
  if (spare_ == nullptr) fail_file(reader_, "cannot open the zip archive, it has no directory", path_, help);
  list_members(file_size);
}

void ZipArchive::list_members(std::uint64_t file_size) {
  void* const archive = spare_.get();
  const auto check = [&](bool is_right) {
    if (!is_right) fail_file(reader_, "the directory of the archive is damaged", path_, kFetchAgain);
  };
  unz_global_info64 all{};
  check(unzGetGlobalInfo64(archive, &all) == UNZ_OK);
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < all.number_entry; ++i) {
    check((i == 0 ? unzGoToFirstFile(archive) : unzGoToNextFile(archive)) == UNZ_OK);
    unz_file_info64 info{};
    unz64_file_pos place{};
    check(unzGetCurrentFileInfo64(archive, &info, nullptr, 0, nullptr, 0, nullptr, 0) == UNZ_OK);
    check(unzGetFilePos64(archive, &place) == UNZ_OK);
    std::string name(info.size_filename + 1, '\0');
    check(unzGetCurrentFileInfo64(archive, &info, name.data(), name.size(), nullptr, 0, nullptr, 0) == UNZ_OK);
    name.resize(std::min<std::size_t>(info.size_filename, name.find('\0')));
    // Archives that blow up a thousandfold per member, again and again, let the members share one piece of the file.
    if (info.compressed_size > file_size - used) {
      fail_file(reader_,
                "the members claim more than the " + std::to_string(file_size) + " bytes of the file, " +
                    in_quotes(name) + " alone " + std::to_string(info.compressed_size),
                path_, kFetchAgain);
    }
    used += info.compressed_size;
    names_.push_back(std::move(name));
    entries_.push_back({place.pos_in_zip_directory, place.num_of_file, info.uncompressed_size, info.compressed_size,
                        info.compression_method, info.crc, (info.flag & 1) != 0});
  }
}

std::unique_ptr<ByteSource> ZipArchive::open(std::size_t number) {
  return std::make_unique<Member>(*this, names_[number], entries_[number]);
}

void ZipArchive::check_headers() {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (name_beside_the_data(entries_[i], names_[i].size()) != names_[i]) {
      fail_file(reader_, "the directory of the archive and the header of " + in_quotes(names_[i]) + " differ", path_,
                kFetchAgain);
    }
  }
}

}  // namespace capstan::io
