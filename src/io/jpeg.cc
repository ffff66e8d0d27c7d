// JPEG files, by libjpeg.
#include <cstdio>
// After what defines FILE.
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <utility>

#include "capstan/image_files.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/file_sink.h"
#include "src/io/image_bytes.h"

namespace capstan::io {

namespace {

// What the library calls when something is wrong.
struct Errors {
  jpeg_error_mgr base{};  // first, so that a pointer to it is one to all
  std::jmp_buf jump{};
  std::array<char, JMSG_LENGTH_MAX> reason{};
};

[[noreturn]] void on_error(j_common_ptr image) {
  auto* errors = reinterpret_cast<Errors*>(image->err);
  errors->base.format_message(image, errors->reason.data());
  std::longjmp(errors->jump, 1);
}

// A warning is about data that are damaged, which the library would fill with grey.
void on_message(j_common_ptr image, int level) {
  if (level < 0) on_error(image);
}

void on_output(j_common_ptr) {}

void set_up(Errors& errors, jpeg_error_mgr*& target) {
  target = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.emit_message = on_message;
  errors.base.output_message = on_output;
}

struct Decoder {
  Errors errors;
  jpeg_decompress_struct image{};
  std::span<const std::byte> bytes;
  int wanted = 0;
  Pixels pixels;

  ~Decoder() { jpeg_destroy_decompress(&image); }

  // False if something is wrong, which the reason of the errors says then.
  bool run() {
    set_up(errors, image.err);
    if (!read_header()) return false;
    pixels.height = image.image_height;
    pixels.width = image.image_width;
    // A block of 64 pixels takes a bit at least, in usual files; and no file is believed to hold much more.
    constexpr std::size_t kMostPixelsPerByte = 4096;
    if (pixels.height * pixels.width / kMostPixelsPerByte > bytes.size()) {
      std::snprintf(errors.reason.data(), errors.reason.size(), "a file of %zu bytes cannot hold its %zu x %zu pixels",
                    bytes.size(), pixels.height, pixels.width);
      return false;
    }
    pixels.channels = static_cast<std::size_t>(wanted);
    pixels.values.resize(pixels.height * pixels.width * pixels.channels);
    return read_rows();
  }

 private:
  // Both call the library under a jump of their own, and have no objects with destructors.
  bool read_header() {
    if (setjmp(errors.jump) != 0) return false;
    jpeg_create_decompress(&image);
    // As long as the library takes it: its type for a size has 32 bits on some machines.
    jpeg_mem_src(&image, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&image, TRUE);
    if (wanted == 0) wanted = image.num_components;
    if (image.num_components != 1 && image.num_components != 3) {
      std::snprintf(errors.reason.data(), errors.reason.size(), "it has %d colours, and 1 or 3 are read",
                    image.num_components);
      return false;
    }
    image.out_color_space = wanted == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return true;
  }

  bool read_rows() {
    if (setjmp(errors.jump) != 0) return false;
    jpeg_start_decompress(&image);
    while (image.output_scanline < image.output_height) {
      JSAMPROW row = pixels.values.data() + image.output_scanline * pixels.width * pixels.channels;
      jpeg_read_scanlines(&image, &row, 1);
    }
    jpeg_finish_decompress(&image);
    return true;
  }
};

struct Encoder {
  Errors errors;
  jpeg_compress_struct image{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type

  ~Encoder() {
    jpeg_destroy_compress(&image);
    std::free(bytes);  // NOLINT: libjpeg's malloc
  }

  bool run(const std::uint8_t* pixels, std::size_t height, std::size_t width, int channels,
           const SaveJpegOptions& options) {
    set_up(errors, image.err);
    if (setjmp(errors.jump) != 0) return false;
    jpeg_create_compress(&image);
    jpeg_mem_dest(&image, &bytes, &size);
    image.image_height = static_cast<JDIMENSION>(height);
    image.image_width = static_cast<JDIMENSION>(width);
    image.input_components = channels;
    image.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&image);
    jpeg_set_quality(&image, options.quality, TRUE);
    if (channels == 3 && !options.chroma_downsampling) {
      image.comp_info[0].h_samp_factor = image.comp_info[0].v_samp_factor = 1;
    }
    jpeg_start_compress(&image, TRUE);
    while (image.next_scanline < image.image_height) {
      auto* row = const_cast<JSAMPROW>(pixels + image.next_scanline * width * static_cast<std::size_t>(channels));
      jpeg_write_scanlines(&image, &row, 1);
    }
    jpeg_finish_compress(&image);
    return true;
  }
};

}  // namespace

Pixels decode_jpeg(const std::string& reader, const std::string& path, std::span<const std::byte> bytes, int channels) {
  const auto decoder = std::make_unique<Decoder>();
  decoder->bytes = bytes;
  decoder->wanted = channels;
  if (!decoder->run()) {
    fail_file(reader, std::string("the JPEG image cannot be read, ") + decoder->errors.reason.data(), path);
  }
  return std::move(decoder->pixels);
}

namespace {

// The image in the encoder's memory.
std::unique_ptr<Encoder> encode(const std::string& writer, const std::string& path, const Tensor& image,
                                const SaveJpegOptions& options) {
  const int rank = image.rank();
  const std::int64_t channels = rank == 3 ? image.dim(2) : 1;
  CAPSTAN_CHECK((rank == 2 || rank == 3) && (channels == 1 || channels == 3) && image.size() > 0, ShapeError, writer,
                ": an image must be [height, width] or [height, width, channels] with 1 or 3 channels and at "
                "least one pixel, not ",
                image.shape());
  CAPSTAN_CHECK(image.dtype() == DType::kUInt8, DTypeError, writer, ": dtype ", name_of(image.dtype()), " is not uint8",
                help("plots::image_grid makes uint8 images of floating ones"));
  CAPSTAN_CHECK(image.dim(0) <= JPEG_MAX_DIMENSION && image.dim(1) <= JPEG_MAX_DIMENSION, ShapeError, writer,
                ": a side of an image may have ", JPEG_MAX_DIMENSION, " pixels, not ", image.shape());
  CAPSTAN_CHECK(options.quality >= 0 && options.quality <= 100, ValueError, writer, ": quality ", options.quality,
                " is not from 0 to 100");
  auto encoder = std::make_unique<Encoder>();
  if (!encoder->run(image.data<std::uint8_t>(), static_cast<std::size_t>(image.dim(0)),
                    static_cast<std::size_t>(image.dim(1)), static_cast<int>(channels), options)) {
    fail_file(writer, std::string("cannot write the image, ") + encoder->errors.reason.data(), path);
  }
  return encoder;
}

}  // namespace

void save_jpeg(const std::string& path, const Tensor& image, const SaveJpegOptions& options) {
  const auto encoder = encode("save_jpeg", path, image, options);
  write_file("save_jpeg", path, std::as_bytes(std::span(encoder->bytes, encoder->size)));
}
std::string encode_jpeg(const Tensor& image, const SaveJpegOptions& options) {
  const auto encoder = encode("encode_jpeg", "(bytes)", image, options);
  return {reinterpret_cast<const char*>(encoder->bytes), encoder->size};
}

}  // namespace capstan::io
