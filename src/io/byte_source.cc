#include "src/io/byte_source.h"

#include "capstan/error.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

namespace capstan::io {

const char* const kFetchAgain = "the copy is incomplete or damaged; fetch the file again";

void fail_file(const std::string& reader, const std::string& problem, const std::string& file,
               const std::string& help) {
  std::string text = reader + ": " + problem + "\n  file: " + file;
  if (!help.empty()) text += "\n  help: " + help;
  throw IoError(text);
}

void ByteSource::fail(const std::string& problem, const std::string& help) const {
  fail_file(reader_, problem, name_, help);
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 48;
  std::string out = "\"";
  for (char c : text.substr(0, kShown)) out += (c >= 0x20 && c < 0x7f) ? c : '?';
  if (text.size() > kShown) out += "...";
  return out + "\"";
}

uint64_t most_inflated(uint64_t size) {
  // Deflate writes at most 258 bytes for two bits; the constant covers small inputs.
  constexpr uint64_t kRatio = 1032;
  constexpr uint64_t kSlack = 1024;
  if (size > (std::numeric_limits<uint64_t>::max() - kSlack) / kRatio) {
    return std::numeric_limits<uint64_t>::max();
  }
  return size * kRatio + kSlack;
}

std::vector<std::byte> read_exactly(ByteSource& source, uint64_t size, std::string_view what) {
  // One step is small beside any real file and large beside the cost of a call.
  constexpr uint64_t kStep = uint64_t{1} << 22;
  auto too_short = [&](const std::string& found) {
    source.fail("the " + std::string(what) + " should be " + std::to_string(size) + " bytes, but the file " + found,
                kFetchAgain);
  };
  if (size > source.most_bytes()) {
    too_short("cannot hold more than " + std::to_string(source.most_bytes()));
  }
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    const size_t begin = bytes.size();
    // Doubling keeps the copying linear; a source that stops early has cost at most twice what it
    // delivered.
    const uint64_t step = std::min<uint64_t>(size - begin, std::max<uint64_t>(kStep, begin));
    bytes.resize(begin + step);
    const size_t got = source.read(bytes.data() + begin, step);
    if (got < step) too_short("ends after " + std::to_string(begin + got));
  }
  return bytes;
}

void read_into(ByteSource& source, std::span<std::byte> out, std::string_view what) {
  const size_t got = source.read(out.data(), out.size());
  if (got == out.size()) return;
  source.fail("the file ends after " + std::to_string(got) + " of the " + std::to_string(out.size()) + " bytes of " +
                  std::string(what),
              kFetchAgain);
}

void expect_end(ByteSource& source) {
  std::byte extra;
  if (source.read(&extra, 1) != 0) {
    source.fail("the file goes on after the last element that its header announces", kFetchAgain);
  }
}

namespace {

class PlainFile final : public ByteSource {
 public:
  PlainFile(std::string reader, const std::string& path, std::FILE* file, uint64_t size)
      : ByteSource(std::move(reader), path), file_(file), size_(size) {}
  ~PlainFile() override { std::fclose(file_); }

  size_t read(std::byte* out, size_t size) override {
    const size_t got = std::fread(out, 1, size, file_);
    if (got < size && std::ferror(file_)) fail(std::string("cannot read, ") + std::strerror(errno));
    return got;
  }
  bool read_at(uint64_t place, std::byte* out, size_t size) override {
    while (size > 0) {
      const ssize_t got = pread(fileno(file_), out, size, static_cast<off_t>(place));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::string("cannot read, ") + std::strerror(errno));
      if (got == 0) return false;
      place += static_cast<uint64_t>(got);
      out += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }
  bool can_read_at() const override { return true; }
  uint64_t most_bytes() const override { return size_; }

 private:
  std::FILE* file_;
  uint64_t size_;
};

class GzipFile final : public ByteSource {
 public:
  GzipFile(std::string reader, const std::string& path, gzFile file, uint64_t size)
      : ByteSource(std::move(reader), path), file_(file), size_(size) {}
  ~GzipFile() override { gzclose_r(file_); }

  size_t read(std::byte* out, size_t size) override {
    size_t total = 0;
    while (total < size) {
      const auto want = static_cast<unsigned>(std::min<size_t>(size - total, 1u << 30));
      const int got = gzread(file_, out + total, want);
      if (got < 0) fail_gzip();
      if (got == 0) break;
      total += static_cast<size_t>(got);
    }
    // A stream that stops in the middle is not an error of gzread, only a note.
    if (total < size) {
      int code = Z_OK;
      gzerror(file_, &code);
      if (code != Z_OK && code != Z_STREAM_END) fail_gzip();
    }
    return total;
  }
  uint64_t most_bytes() const override { return most_inflated(size_); }

 private:
  [[noreturn]] void fail_gzip() const {
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    if (code == Z_BUF_ERROR) reason = "it ends too early";
    // zlib puts the path in front of its reason; the text names the file already.
    std::string text = reason;
    if (text.rfind(name() + ": ", 0) == 0) text = text.substr(name().size() + 2);
    fail("the gzip data are damaged, " + text, kFetchAgain);
  }

  gzFile file_;
  uint64_t size_;
};

class Memory final : public ByteSource {
 public:
  Memory(std::string reader, std::string name, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : ByteSource(std::move(reader), std::move(name)), bytes_(bytes), owner_(std::move(owner)) {}

  size_t read(std::byte* out, size_t size) override {
    const size_t got = std::min(size, bytes_.size() - position_);
    std::copy_n(bytes_.data() + position_, got, out);
    position_ += got;
    return got;
  }
  std::shared_ptr<const std::byte> lend(size_t size, size_t alignment) override {
    if (owner_ == nullptr || size > bytes_.size() - position_) return nullptr;
    const std::byte* const begin = bytes_.data() + position_;
    if (reinterpret_cast<std::uintptr_t>(begin) % alignment != 0) return nullptr;
    position_ += size;
    return {owner_, begin};
  }
  uint64_t most_bytes() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  size_t position_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_plain_file(const std::string& reader, const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    fail_file(reader, std::string("cannot open the file, ") + std::strerror(errno), path);
  }
  // A pipe or a device could block or never end.
  if (!S_ISREG(status.st_mode)) fail_file(reader, "not a regular file", path);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    fail_file(reader, std::string("cannot open the file, ") + std::strerror(errno), path);
  }
  return std::make_unique<PlainFile>(reader, path, file, static_cast<uint64_t>(status.st_size));
}

std::unique_ptr<ByteSource> open_mapped_file(const std::string& reader, const std::string& path) {
  std::unique_ptr<ByteSource> plain = open_plain_file(reader, path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) {
    if (file >= 0) ::close(file);
    return plain;
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (bytes == MAP_FAILED) return plain;
  const std::span content(static_cast<const std::byte*>(bytes), size);
  return open_memory(reader, path, content,
                     std::shared_ptr<void>(bytes, [size](void* begin) { ::munmap(begin, size); }));
}

std::unique_ptr<ByteSource> open_file(const std::string& reader, const std::string& path) {
  std::unique_ptr<ByteSource> plain = open_plain_file(reader, path);
  std::byte magic[2] = {};
  const size_t got = plain->read(magic, sizeof magic);
  if (got < 2 || magic[0] != std::byte{0x1f} || magic[1] != std::byte{0x8b}) return open_plain_file(reader, path);
  gzFile gzip = gzopen(path.c_str(), "rb");
  if (gzip == nullptr) fail_file(reader, "cannot open the gzip file", path);
  gzbuffer(gzip, 1u << 17);
  return std::make_unique<GzipFile>(reader, path, gzip, plain->most_bytes());
}

std::size_t piece_of(const ByteSource& source, std::size_t most) {
  const std::uint64_t bytes = source.most_bytes();
  return bytes < most ? static_cast<std::size_t>(bytes) + 1 : most;
}

std::unique_ptr<ByteSource> open_memory(const std::string& reader, const std::string& name,
                                        std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  return std::make_unique<Memory>(reader, name, bytes, std::move(owner));
}

}  // namespace capstan::io
