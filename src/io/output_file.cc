#include "src/io/output_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"

namespace capstan::io {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 16;

}  // namespace

struct OutputFile::Deflater {
  Deflater(Compression compression, int level) {
    constexpr int kWindow = 15, kGzip = 16, kMemory = 8;
    const int window = compression == Compression::kGzip ? kWindow + kGzip : kWindow;
    is_ready = deflateInit2(&stream, level, Z_DEFLATED, window, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Deflater() {
    if (is_ready) deflateEnd(&stream);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  z_stream stream{};
  bool is_ready = false;
};

void OutputFile::fail(int code) const {
  fail_file(writer_, std::string("cannot write the file, ") + std::strerror(code), path_);
}

OutputFile::OutputFile(std::string writer, std::string path, Compression compression, int level)
    : writer_(std::move(writer)), path_(std::move(path)) {
  if (compression != Compression::kNone) {
    CAPSTAN_CHECK(level >= -1 && level <= 9, ValueError, writer_, ": compression_level ", level,
                  " is not from 0 to 9, or -1");
    deflater_ = std::make_unique<Deflater>(compression, level);
    if (!deflater_->is_ready) fail(ENOMEM);
  }
  constexpr mode_t kForAll = 0666;  // less what the process takes away
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kForAll);
  if (file_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  try {
    close();
  } catch (...) {  // NOLINT(bugprone-empty-catch): whoever wants to know calls close()
  }
  if (file_ >= 0) ::close(file_);
}

void OutputFile::check_is_open() const {
  CAPSTAN_CHECK(file_ >= 0, ValueError, writer_, ": the file is closed\n  file: ", path_);
}

// Writes the buffer and what comes after it. What cannot be written stays in the buffer.
void OutputFile::drain(std::initializer_list<std::string_view> more) {
  constexpr std::size_t kMost = 8;  // pieces at once
  std::vector<std::string_view> rest = {buffer_};
  rest.insert(rest.end(), more.begin(), more.end());
  for (std::size_t begin = 0; begin < rest.size();) {
    if (rest[begin].empty()) {
      ++begin;
      continue;
    }
    std::array<iovec, kMost> pieces;
    const std::size_t count = std::min(kMost, rest.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      pieces[i] = {const_cast<char*>(rest[begin + i].data()), rest[begin + i].size()};
    }
    const ssize_t written = ::writev(file_, pieces.data(), static_cast<int>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      std::string left;
      for (; begin < rest.size(); ++begin) left += rest[begin];
      buffer_ = std::move(left);
      fail(code);
    }
    auto done = static_cast<std::size_t>(written);
    for (std::size_t i = begin; done > 0; ++i) {
      const std::size_t step = std::min(done, rest[i].size());
      rest[i].remove_prefix(step);
      done -= step;
    }
  }
  buffer_.clear();
}

void OutputFile::push(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBuffer) drain();
}

void OutputFile::compress(std::string_view bytes, int how) {
  z_stream& stream = deflater_->stream;
  std::array<char, 1 << 14> part;
  do {
    const std::size_t step = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(step);
    const int mode = step == bytes.size() ? how : Z_NO_FLUSH;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(part.data());
      stream.avail_out = static_cast<uInt>(part.size());
      deflate(&stream, mode);  // has no errors where its arguments are right
      push({part.data(), part.size() - stream.avail_out});
    } while (stream.avail_out == 0);
    bytes.remove_prefix(step);
  } while (!bytes.empty());
}

void OutputFile::write(std::initializer_list<std::string_view> pieces) {
  check_is_open();
  if (deflater_) {
    for (const std::string_view piece : pieces) compress(piece, Z_NO_FLUSH);
    return;
  }
  std::size_t size = buffer_.size();
  for (const std::string_view piece : pieces) size += piece.size();
  if (size >= kBuffer) {
    drain(pieces);
  } else {
    for (const std::string_view piece : pieces) buffer_ += piece;
  }
}

void OutputFile::flush() {
  check_is_open();
  drain();
}

void OutputFile::close() {
  if (file_ < 0) return;
  if (deflater_) {
    compress({}, Z_FINISH);
    deflater_.reset();
  }
  drain();
  // What the disk has no room for is an error of closing on some file systems.
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);
}

}  // namespace capstan::io
