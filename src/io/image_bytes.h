// Images as bytes of files. The C libraries leave by longjmp when something is wrong, so what calls them has no objects
// with destructors: decoders are classes whose members live outside of the jump.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::io {

/// Rows of pixels, one after the other.
struct Pixels {
  std::size_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> values;
};

/// The whole of a file. Throws IoError in the name of `reader`.
std::vector<std::byte> bytes_of_file(const std::string& reader, const std::string& path);

/// Decoders. `channels` is 0 or what is wanted. They throw IoError in the name of `reader`, with `path`.
Pixels decode_png(const std::string& reader, const std::string& path, std::span<const std::byte> bytes, int channels);
Pixels decode_jpeg(const std::string& reader, const std::string& path, std::span<const std::byte> bytes, int channels);

}  // namespace capstan::io
