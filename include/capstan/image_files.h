// Images from files and from bytes, and to them. io::save_png of capstan/io.h writes PNG.
#pragma once

#include <string>
#include <string_view>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan::io {

/// Options of load_image, load_png and load_jpeg.
struct LoadImageOptions {
  /// 0: those of the file; 1: grey, 2: grey and how opaque, 3: red, green, blue, 4: and how opaque. JPEG has 1 and 3.
  int channels = 0;
};

/// The image of a PNG file of any kind, uint8[height, width, channels]: palettes as colours, 16 bits as the upper 8,
/// and 0 to 255 for fewer. A checksum or a size that is wrong is an error. Errors: ValueError for another number of
/// channels; IoError.
///
///     Tensor image = io::load_png("digit.png", {.channels = 1});
CAPSTAN_EXPORT Tensor load_png(const std::string& path, const LoadImageOptions& options = {});

/// The image of a JPEG file, uint8[height, width, channels]. One that is cut off is an error. Errors: ValueError for
/// another number of channels; IoError, also for files with four colours or 12 bits.
///
///     Tensor image = io::load_jpeg("photo.jpg");
CAPSTAN_EXPORT Tensor load_jpeg(const std::string& path, const LoadImageOptions& options = {});

/// The image of a PNG or JPEG file, whichever its first bytes say. Errors: as of the two; IoError for other files.
///
///     Tensor image = io::load_image("photo.png", {.channels = 3});
CAPSTAN_EXPORT Tensor load_image(const std::string& path, const LoadImageOptions& options = {});

/// The image that the bytes of a PNG or JPEG file hold. Errors: as load_image.
///
///     Tensor image = io::decode_image(bytes, {.channels = 3});
CAPSTAN_EXPORT Tensor decode_image(std::string_view bytes, const LoadImageOptions& options = {});

/// An image as the bytes of a PNG file: uint8 [height, width, channels] or [height, width], with 1 to 4 channels.
/// Errors: ShapeError, DTypeError.
///
///     std::string bytes = io::encode_png(image);
CAPSTAN_EXPORT std::string encode_png(const Tensor& image);

/// Options of save_jpeg and encode_jpeg.
struct SaveJpegOptions {
  int quality = 95;                 ///< from 0, smallest, to 100
  bool chroma_downsampling = true;  ///< colours at half the resolution
};

/// Writes an image as a JPEG file: uint8 [height, width, channels] or [height, width], with 1 or 3 channels and sides
/// of at most 65535 pixels. What was at `path` is replaced when all has been written. Errors: ShapeError, DTypeError;
/// ValueError for another quality; IoError if the file cannot be written.
///
///     io::save_jpeg("photo.jpg", image, {.quality = 80});
CAPSTAN_EXPORT void save_jpeg(const std::string& path, const Tensor& image, const SaveJpegOptions& options = {});

/// The same as the bytes of a JPEG file. Errors: as save_jpeg.
///
///     std::string bytes = io::encode_jpeg(image, {.quality = 80});
CAPSTAN_EXPORT std::string encode_jpeg(const Tensor& image, const SaveJpegOptions& options = {});

}  // namespace capstan::io
