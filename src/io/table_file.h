// A sorted table of keys and values in a file: LevelDB's, in which TensorFlow keeps the index of a checkpoint.
//
// The file is a row of blocks. A block has entries, each with what its key shares with the one before; then, after
// them, the places where a key is whole; then its kind and its checksum. The last 48 bytes say where the block is
// that lists the others.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/io/byte_source.h"

namespace capstan::io {

/// Reads the whole of a table. Throws IoError, in the name of `source`, for anything that is no such table: cut off,
/// compressed (TensorFlow does not), with a wrong checksum, with keys that do not grow.
std::map<std::string, std::string> parse_table(const ByteSource& source, std::string_view bytes);

/// The bytes of a table.
std::string table_bytes(const std::map<std::string, std::string>& entries);

}  // namespace capstan::io
