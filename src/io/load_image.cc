// Images from files and from bytes.
#include <cstring>

#include "capstan/image_files.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/image_bytes.h"

namespace capstan::io {

std::vector<std::byte> bytes_of_file(const std::string& reader, const std::string& path) {
  const std::unique_ptr<ByteSource> source = open_plain_file(reader, path);
  // Images are small, so a buffer would be one more copy that counts.
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 22;
  if (const std::uint64_t size = source->most_bytes(); size <= kSmall) {
    std::vector<std::byte> bytes(size);
    if (source->read_at(0, bytes.data(), size)) return bytes;
  }
  return read_exactly(*source, source->most_bytes(), "image");
}

namespace {

Tensor tensor_of(const Pixels& pixels) {
  return constant(std::span<const std::uint8_t>(pixels.values),
                  Shape{static_cast<std::int64_t>(pixels.height), static_cast<std::int64_t>(pixels.width),
                        static_cast<std::int64_t>(pixels.channels)});
}

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n", kJpeg = "\xff\xd8\xff";

void check_channels(const std::string& reader, int channels, bool may_be_png) {
  const bool is_allowed =
      channels == 0 || channels == 1 || channels == 3 || (may_be_png && (channels == 2 || channels == 4));
  CAPSTAN_CHECK(is_allowed, ValueError, reader, ": channels must be 0, 1", may_be_png ? ", 2, 3 or 4" : " or 3",
                ", not ", channels);
}

Tensor decode(const std::string& reader, const std::string& path, std::span<const std::byte> bytes, int channels,
              bool may_be_png, bool may_be_jpeg) {
  if (may_be_png && begins_with(bytes, kPng)) return tensor_of(decode_png(reader, path, bytes, channels));
  if (may_be_jpeg && begins_with(bytes, kJpeg)) {
    CAPSTAN_CHECK(channels % 2 == 1 || channels == 0, ValueError, reader, ": a JPEG image has 1 or 3 channels, not ",
                  channels, "\n  file: ", path);
    return tensor_of(decode_jpeg(reader, path, bytes, channels));
  }
  fail_file(reader,
            std::string("the file is no ") +
                (!may_be_jpeg ? "PNG"
                 : may_be_png ? "PNG or JPEG"
                              : "JPEG") +
                " image",
            path);
}

Tensor load(const std::string& reader, const std::string& path, int channels, bool may_be_png, bool may_be_jpeg) {
  check_channels(reader, channels, may_be_png);
  return decode(reader, path, bytes_of_file(reader, path), channels, may_be_png, may_be_jpeg);
}

}  // namespace

Tensor load_png(const std::string& path, const LoadImageOptions& options) {
  return load("load_png", path, options.channels, true, false);
}
Tensor load_jpeg(const std::string& path, const LoadImageOptions& options) {
  return load("load_jpeg", path, options.channels, false, true);
}
Tensor load_image(const std::string& path, const LoadImageOptions& options) {
  return load("load_image", path, options.channels, true, true);
}
Tensor decode_image(std::string_view bytes, const LoadImageOptions& options) {
  check_channels("decode_image", options.channels, true);
  return decode("decode_image", "(bytes)", std::as_bytes(std::span(bytes)), options.channels, true, true);
}

}  // namespace capstan::io
