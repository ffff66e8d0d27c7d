// Compressed files whose compression is said by whoever opens them, as TensorFlow's readers want it.
//
// open_file() of byte_source.h looks at the content instead. Here a file that is not what was said is an error, and so
// is one that is cut off or whose checksum differs: what it held before that has been read, but its end has not.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/io/byte_source.h"

namespace capstan::io {

enum class Compression { kNone, kGzip, kZlib };

/// "", "GZIP" or "ZLIB". Throws ValueError in the name of `owner` for anything else.
Compression compression_from(std::string_view owner, std::string_view name);

/// Opens a file. Throws IoError as open_file().
std::unique_ptr<ByteSource> open_compressed(const std::string& reader, const std::string& path,
                                            Compression compression);

}  // namespace capstan::io
