// The IDX format, in which the MNIST digits are published.
//
// A file is a four-byte magic number (0, 0, an element code, the rank), one big-endian 32-bit size
// per axis, and the elements, big-endian, row-major. Nothing else: so the header fixes the length
// of the file, and a file of any other length is refused.
#pragma once

#include <string>

#include "src/io/byte_source.h"
#include "src/io/raw_array.h"

namespace capstan::io {

/// Reads an IDX file, plain or gzipped (told apart by content, not by name).
///
/// Elements come out in this machine's byte order. All types of the format are supported; int8 and
/// int16 become int32. Throws IoError if the file is missing, is not IDX, has an unsupported element code or
/// a rank above kMaxRank, or holds fewer or more bytes than its header announces. Memory is bounded
/// by what the file can hold, whatever the header says.
RawArray read_idx(const std::string& path);

/// The same from an open source, which is read to its end.
RawArray read_idx(ByteSource& source);

}  // namespace capstan::io
