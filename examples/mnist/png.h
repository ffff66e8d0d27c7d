#pragma once

#include <string>

#include "examples/mnist/picture.h"

namespace mnist {

/// Writes a PNG file. Throws capstan::IoError if it cannot be written.
void write_png(const std::string& path, const Picture& picture);

}  // namespace mnist
