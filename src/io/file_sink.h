// Files that are there as a whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace capstan::io {

// A file that is written piece by piece beside `path`, whose place it takes at the end. It is gone with the object
// unless it has been put there or is kept. A link is followed. Throws IoError in the name of `writer`.
class FileDraft {
 public:
  FileDraft(std::string writer, const std::string& path);
  ~FileDraft();
  FileDraft(const FileDraft&) = delete;
  FileDraft& operator=(const FileDraft&) = delete;

  // Before the first bytes: so many will come.
  void expect(std::size_t size);
  void write(std::span<const std::byte> bytes);
  // Its bytes are on the disk after it, and its length.
  void sync();
  // Puts it into its place.
  void finish();
  // From now on it stays where it is, for whoever knows its mark.
  void keep(bool is_kept) { is_kept_ = is_kept; }
  // Tells the drafts of one path apart.
  std::int64_t mark() const { return mark_; }
  static std::string path_of(const std::string& path, std::int64_t mark);
  const std::string& target() const { return target_; }

 private:
  std::string writer_, target_, path_;
  std::int64_t mark_ = 0;
  int file_ = -1;
  bool is_kept_ = false, is_large_ = false;
  std::size_t size_ = 0, begun_ = 0;  // bytes that are written, and of these those that the disk has begun with
};

// Writes the bytes beside `path` and then puts that file in its place, so that a reader sees the old file or the new
// one, and a failure leaves what was there. A link is followed. Throws IoError in the name of `writer`.
void write_file(const std::string& writer, const std::string& path, std::span<const std::byte> bytes);

// The same for bytes that lie in several pieces of memory.
void write_file(const std::string& writer, const std::string& path, std::span<const std::span<const std::byte>> pieces);

// The same, and when it returns the file is on the disk under its name: neither a crash of the process nor one of the
// machine takes it away.
void write_file_durably(const std::string& writer, const std::string& path,
                        std::span<const std::span<const std::byte>> pieces);

}  // namespace capstan::io
