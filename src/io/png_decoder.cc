// PNG files of any kind.
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <utility>

#include "src/io/byte_source.h"
#include "src/io/image_bytes.h"

namespace capstan::io {

namespace {

struct Decoder {
  std::span<const std::byte> bytes;
  std::size_t at = 0;
  int wanted = 0;
  Pixels pixels;
  std::vector<png_bytep> rows;
  std::array<char, 256> reason{};
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }

  // False if something is wrong, which `reason` says then.
  bool run();

 private:
  // Each of these calls the library under a jump of its own, and has no objects with destructors.
  bool read_header();
  bool choose_conversions();
  bool read_rows();
  void convert();
};

void on_error(png_structp png, png_const_charp message) {
  auto* decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::snprintf(decoder->reason.data(), decoder->reason.size(), "%s", message);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, std::size_t size) {
  auto* decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (size > decoder->bytes.size() - decoder->at) png_error(png, "it ends too early");
  std::memcpy(out, decoder->bytes.data() + decoder->at, size);
  decoder->at += size;
}

bool Decoder::read_header() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, this, on_read);
  // Comments and profiles are not looked at: they may inflate to anything.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_user_limits(png, 1'000'000, 1'000'000);
  png_set_chunk_malloc_max(png, png_alloc_size_t{1} << 23);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(png, info);
  return true;
}

void Decoder::convert() {
  const int type = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
  const bool is_gray = (type & PNG_COLOR_MASK_COLOR) == 0;
  const bool has_transparency = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
  if (wanted == 0) {
    wanted = type == PNG_COLOR_TYPE_PALETTE ? (has_transparency ? 4 : 3) : png_get_channels(png, info);
  }
  if (depth == 16) png_set_strip_16(png);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (is_gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (wanted % 2 == 0) {
    if (has_transparency) {
      png_set_tRNS_to_alpha(png);
    } else if (!has_alpha) {
      png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    }
  } else {
    png_set_strip_alpha(png);
  }
  constexpr int kSilently = 1;
  if (wanted >= 3 && is_gray) png_set_gray_to_rgb(png);
  if (wanted < 3 && !is_gray) png_set_rgb_to_gray(png, kSilently, 0.299, 0.587);
}

bool Decoder::choose_conversions() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  convert();
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool Decoder::read_rows() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows.data());
  png_read_end(png, nullptr);
  return true;
}

bool Decoder::run() {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr || !read_header()) return false;
  pixels.height = png_get_image_height(png, info);
  pixels.width = png_get_image_width(png, info);
  // A row has a byte and at least a bit for each pixel before it is deflated, which bounds what a file can hold.
  if (pixels.height * (1 + pixels.width / 8) > most_inflated(bytes.size())) {
    std::snprintf(reason.data(), reason.size(), "a file of %zu bytes cannot hold its %zu x %zu pixels", bytes.size(),
                  pixels.height, pixels.width);
    return false;
  }
  if (!choose_conversions()) return false;
  pixels.channels = static_cast<std::size_t>(wanted);
  const std::size_t row = png_get_rowbytes(png, info);
  if (row != pixels.width * pixels.channels) {
    std::snprintf(reason.data(), reason.size(), "its pixels cannot be converted to %d channels", wanted);
    return false;
  }
  pixels.values.resize(pixels.height * row);
  for (std::size_t i = 0; i < pixels.height; ++i) rows.push_back(pixels.values.data() + i * row);
  return read_rows();
}

}  // namespace

Pixels decode_png(const std::string& reader, const std::string& path, std::span<const std::byte> bytes, int channels) {
  Decoder decoder;
  decoder.bytes = bytes;
  decoder.wanted = channels;
  if (!decoder.run()) {
    const std::string reason = decoder.reason[0] == '\0' ? "there is no memory" : decoder.reason.data();
    fail_file(reader, "the PNG image cannot be read, " + reason, path);
  }
  return std::move(decoder.pixels);
}

}  // namespace capstan::io
