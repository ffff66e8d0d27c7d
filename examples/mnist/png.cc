#include "examples/mnist/png.h"

#include <png.h>

#include "capstan/error.h"

namespace mnist {

void write_png(const std::string& path, const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  constexpr int kEightBits = 0;
  if (png_image_write_to_file(&image, path.c_str(), kEightBits, picture.pixels.data(), 0, nullptr) == 0) {
    const std::string reason = image.message;
    png_image_free(&image);
    throw capstan::IoError("write_png: cannot write the picture, " + reason + "\n  file: " + path);
  }
}

size_t write_mistakes_png(const std::string& path, const Predictions& predictions, const MistakesOptions& options) {
  size_t shown = 0;
  write_png(path, draw_mistakes(predictions, options, &shown));
  return shown;
}

}  // namespace mnist
