#include "src/io/compression.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "capstan/error.h"
#include "src/core/check.h"

namespace capstan::io {

namespace {

// Inflates what another source gives. Gzip files may have several members one after the other.
class Inflated final : public ByteSource {
 public:
  Inflated(const std::string& reader, std::unique_ptr<ByteSource> source, Compression compression)
      : ByteSource(reader, source->name()),
        source_(std::move(source)),
        is_gzip_(compression == Compression::kGzip),
        buffer_(piece_of(*source_, std::size_t{1} << 16)) {
    constexpr int kWindow = 15, kGzip = 16;
    if (inflateInit2(&stream_, is_gzip_ ? kWindow + kGzip : kWindow) != Z_OK) fail("there is no memory to inflate it");
  }
  ~Inflated() override { inflateEnd(&stream_); }

  std::size_t read(std::byte* out, std::size_t size) override {
    std::size_t total = 0;
    while (total < size && !is_at_end_) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0 && is_between_) {
        is_at_end_ = true;
        break;
      }
      if (is_between_) begin_member();
      const auto step = static_cast<uInt>(std::min<std::size_t>(size - total, std::numeric_limits<uInt>::max()));
      stream_.next_out = reinterpret_cast<Bytef*>(out + total);
      stream_.avail_out = step;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      total += step - stream_.avail_out;
      if (code == Z_STREAM_END) {
        is_between_ = true;
      } else if (code == Z_BUF_ERROR && stream_.avail_in == 0 && source_ended_) {
        damaged("they end too early");
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        damaged(stream_.msg != nullptr ? stream_.msg : "they cannot be inflated");
      }
    }
    return total;
  }
  std::uint64_t most_bytes() const override { return most_inflated(source_->most_bytes()); }

 private:
  [[noreturn]] void damaged(const std::string& reason) const {
    fail(std::string("the ") + (is_gzip_ ? "gzip" : "zlib") + " data are damaged, " + reason, kFetchAgain);
  }

  void refill() {
    const std::size_t got = source_->read(buffer_.data(), buffer_.size());
    source_ended_ = got == 0;
    if (source_ended_ && !has_begun_) damaged("there are none");
    has_begun_ = true;
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(got);
  }

  void begin_member() {
    if (!is_gzip_) damaged("bytes follow their end");
    inflateReset(&stream_);
    is_between_ = false;
  }

  std::unique_ptr<ByteSource> source_;
  bool is_gzip_;
  std::vector<std::byte> buffer_;
  z_stream stream_{};
  bool has_begun_ = false, source_ended_ = false, is_between_ = false, is_at_end_ = false;
};

}  // namespace

Compression compression_from(std::string_view owner, std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  detail::fail<ValueError>(owner, ": compression \"", name, "\" is not \"\", \"GZIP\" or \"ZLIB\"");
}

std::unique_ptr<ByteSource> open_compressed(const std::string& reader, const std::string& path,
                                            Compression compression) {
  std::unique_ptr<ByteSource> plain = open_plain_file(reader, path);
  if (compression == Compression::kNone) return plain;
  return std::make_unique<Inflated>(reader, std::move(plain), compression);
}

}  // namespace capstan::io
