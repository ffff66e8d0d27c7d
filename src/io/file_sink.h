// Files that are there as a whole or not at all.
#pragma once

#include <span>
#include <string>

namespace capstan::io {

// Writes the bytes beside `path` and then puts that file in its place, so that a reader sees the old file or the new
// one, and a failure leaves what was there. A link is followed. Throws IoError in the name of `writer`.
void write_file(const std::string& writer, const std::string& path, std::span<const std::byte> bytes);

// The same for bytes that lie in several pieces of memory.
void write_file(const std::string& writer, const std::string& path, std::span<const std::span<const std::byte>> pieces);

// The same, and when it returns the file is on the disk under its name: neither a crash of the process nor one of the
// machine takes it away.
void write_file_durably(const std::string& writer, const std::string& path,
                        std::span<const std::span<const std::byte>> pieces);

}  // namespace capstan::io
