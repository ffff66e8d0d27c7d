#pragma once

#include <string>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan::io {

/// A uint8 image [height, width] or [height, width, channels] with 1 to 4 channels as the bytes of a PNG file. Throws
/// ShapeError or DTypeError in the name of `writer` for anything else, and IoError, with `place` in its text, if libpng
/// refuses.
std::string encode_png(std::string_view writer, std::string_view place, const Tensor& image);

}  // namespace capstan::io
