// Files that are there as a whole or not at all.
#pragma once

#include <span>
#include <string>

namespace capstan::io {

// Writes the bytes beside `path` and then puts that file in its place, so that a reader sees the old file or the new
// one, and a failure leaves what was there. A link is followed. Throws IoError in the name of `writer`.
void write_file(const std::string& writer, const std::string& path, std::span<const std::byte> bytes);

}  // namespace capstan::io
