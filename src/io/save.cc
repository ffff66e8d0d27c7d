// Texts and images to files.
#include <png.h>

#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/io.h"
#include "src/io/byte_source.h"
#include "src/io/file_sink.h"

namespace capstan::io {

void save_text(const std::string& path, std::string_view text) {
  write_file("save_text", path, std::as_bytes(std::span(text.data(), text.size())));
}

void save_png(const std::string& path, const Tensor& image) {
  const int rank = image.rank();
  const std::int64_t channels = rank == 3 ? image.dim(2) : 1;
  if ((rank != 2 && rank != 3) || (channels != 1 && channels != 3 && channels != 4)) {
    throw ShapeError(
        "save_png: an image must be [height, width] or [height, width, channels] with 1, 3 or 4 channels, not " +
        image.shape().to_string());
  }
  if (image.size() == 0) throw ShapeError("save_png: the image has no pixels: " + image.shape().to_string());
  if (image.dtype() != DType::kUInt8) {
    throw DTypeError("save_png: dtype " + std::string(name_of(image.dtype())) +
                     " is not uint8\n  help: plots::image_grid makes uint8 images of floating ones");
  }
  // What libpng writes by default, and beyond which decoders refuse files.
  constexpr std::int64_t kLongest = 1'000'000;
  if (image.dim(0) > kLongest || image.dim(1) > kLongest) {
    throw ShapeError("save_png: a side of an image may have " + std::to_string(kLongest) + " pixels, not " +
                     image.shape().to_string());
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(image.dim(0));
  header.width = static_cast<png_uint_32>(image.dim(1));
  header.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  const auto* pixels = image.data<std::uint8_t>();
  const auto encode = [&](void* bytes, png_alloc_size_t* size) {
    constexpr int kEightBits = 0;
    if (png_image_write_to_memory(&header, bytes, size, kEightBits, pixels, 0, nullptr) != 0) return;
    const std::string reason = header.message;
    png_image_free(&header);
    fail_file("save_png", "cannot write the image, " + reason, path, "");
  };
  // No larger than this.
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::byte> bytes(size);
  encode(bytes.data(), &size);
  write_file("save_png", path, std::span(bytes).first(size));
}

}  // namespace capstan::io
