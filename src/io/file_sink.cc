#include "src/io/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "src/io/byte_source.h"

namespace capstan::io {

namespace {

[[noreturn]] void fail_to_write(const std::string& writer, const std::string& path, int code) {
  fail_file(writer, std::string("cannot write the file, ") + std::strerror(code), path, "");
}

// Where a link leads to.
std::string target_of(const std::string& path) {
  std::error_code none;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, none);
  return none ? path : canonical.string();
}

// Files from here on are large, and so many bytes are given to the disk at once.
constexpr std::size_t kLarge = std::size_t{1} << 25, kStep = std::size_t{1} << 23;

// The mark of a draft has the number of the process above that of the draft.
constexpr int kProcessBits = 31;

std::string draft_name(const std::string& target, std::int64_t mark) {
  constexpr std::int64_t kNumbers = std::int64_t{1} << kProcessBits;
  return target + "." + std::to_string(mark / kNumbers) + "-" + std::to_string(mark % kNumbers) + ".part";
}

// The name of a file is on the disk when its directory is.
void sync_directory(const std::string& writer, const std::string& path, const std::string& directory) {
  const int file = open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail_to_write(writer, path, errno);
  const int done = fsync(file);
  const int code = errno;
  close(file);
  // Some file systems cannot do this for directories.
  if (done != 0 && code != EINVAL && code != EROFS) fail_to_write(writer, path, code);
}

void write_pieces(const std::string& writer, const std::string& path,
                  std::span<const std::span<const std::byte>> pieces, bool is_durable) {
  FileDraft draft(writer, path);
  std::size_t size = 0;
  for (const std::span<const std::byte> piece : pieces) size += piece.size();
  draft.expect(size);
  for (const std::span<const std::byte> piece : pieces) draft.write(piece);
  if (is_durable) draft.sync();
  draft.finish();
  if (is_durable) sync_directory(writer, path, std::filesystem::path(draft.target()).parent_path().string());
}

}  // namespace

FileDraft::FileDraft(std::string writer, const std::string& path)
    : writer_(std::move(writer)), target_(target_of(path)) {
  if (path.empty()) fail_file(writer_, "cannot write the file, the path is empty", path, "");
  static std::atomic<std::uint32_t> count = 0;
  constexpr mode_t kForAll = 0666;  // less what the process takes away
  // A draft that was kept may have the name.
  do {
    mark_ = std::int64_t{getpid()} << kProcessBits | (count++ & 0x7fffffffU);
    path_ = draft_name(target_, mark_);
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kForAll);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail_to_write(writer_, target_, errno);
}

FileDraft::~FileDraft() {
  if (file_ >= 0) close(file_);
  if (!path_.empty() && !is_kept_) unlink(path_.c_str());
}

// A large file gets its place on the disk before its bytes, and the disk begins with the first of them while the others
// are copied. Otherwise both wait until the end, where it takes up to twice as long. Neither has to work: where a
// system cannot do it, writing says what is wrong.
void FileDraft::expect(std::size_t size) {
  is_large_ = size >= kLarge;
#if defined(__linux__)
  if (is_large_) static_cast<void>(fallocate(file_, 0, 0, static_cast<off_t>(size)));
#endif
}

void FileDraft::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t step = is_large_ ? std::min(bytes.size(), kStep) : bytes.size();
    const ssize_t written = ::write(file_, bytes.data(), step);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(writer_, target_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += static_cast<std::size_t>(written);
#if defined(__linux__)
    if (is_large_ && size_ - begun_ >= kStep) {
      static_cast<void>(sync_file_range(file_, static_cast<off_t>(begun_), static_cast<off_t>(size_ - begun_),
                                        SYNC_FILE_RANGE_WRITE));
      begun_ = size_;
    }
#endif
  }
}

void FileDraft::sync() {
  while (fdatasync(file_) != 0) {
    if (errno != EINTR) fail_to_write(writer_, target_, errno);
  }
}

void FileDraft::finish() {
  // What the disk has no room for is an error of closing on some file systems.
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) fail_to_write(writer_, target_, errno);
  struct stat status;
  // A file that is replaced keeps its permissions.
  if (stat(target_.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) fail_file(writer_, "cannot write the file, it is none", target_, "");
    static_cast<void>(chmod(path_.c_str(), status.st_mode & 07777));
  }
  if (rename(path_.c_str(), target_.c_str()) != 0) fail_to_write(writer_, target_, errno);
  path_.clear();
}

std::string FileDraft::path_of(const std::string& path, std::int64_t mark) { return draft_name(target_of(path), mark); }

void write_file(const std::string& writer, const std::string& path, std::span<const std::byte> bytes) {
  write_pieces(writer, path, {&bytes, 1}, false);
}

void write_file(const std::string& writer, const std::string& path,
                std::span<const std::span<const std::byte>> pieces) {
  write_pieces(writer, path, pieces, false);
}

void write_file_durably(const std::string& writer, const std::string& path,
                        std::span<const std::span<const std::byte>> pieces) {
  write_pieces(writer, path, pieces, true);
}

}  // namespace capstan::io
