#include "src/io/png.h"

#include <png.h>

#include "capstan/image_files.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"

namespace capstan::io {

std::string encode_png(std::string_view writer, std::string_view place, const Tensor& image) {
  const int rank = image.rank();
  const std::int64_t channels = rank == 3 ? image.dim(2) : 1;
  CAPSTAN_CHECK((rank == 2 || rank == 3) && channels >= 1 && channels <= 4, ShapeError, writer,
                ": an image must be [height, width] or [height, width, channels] with 1 to 4 channels, not ",
                image.shape());
  CAPSTAN_CHECK(image.size() != 0, ShapeError, writer, ": the image has no pixels: ", image.shape());
  CAPSTAN_CHECK(image.dtype() == DType::kUInt8, DTypeError, writer, ": dtype ", name_of(image.dtype()), " is not uint8",
                help("plots::image_grid makes uint8 images of floating ones"));
  // What libpng writes by default, and beyond which decoders refuse files.
  constexpr std::int64_t kLongest = 1'000'000;
  CAPSTAN_CHECK(image.dim(0) <= kLongest && image.dim(1) <= kLongest, ShapeError, writer,
                ": a side of an image may have ", kLongest, " pixels, not ", image.shape());
  constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(image.dim(0));
  header.width = static_cast<png_uint_32>(image.dim(1));
  header.format = kFormats[channels - 1];
  // No larger than this.
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  constexpr int kEightBits = 0;
  if (png_image_write_to_memory(&header, bytes.data(), &size, kEightBits, image.data<std::uint8_t>(), 0, nullptr) ==
      0) {
    const std::string reason = header.message;
    png_image_free(&header);
    fail_file(std::string(writer), "cannot write the image, " + reason, std::string(place));
  }
  bytes.resize(size);
  return bytes;
}

std::string encode_png(const Tensor& image) { return encode_png("encode_png", "(bytes)", image); }

}  // namespace capstan::io
