// NumPy's .npy format, versions 1 to 3.
//
// A file is "\x93NUMPY", two version bytes, the length of a header, the header, and the elements.
// The header is the text of a Python dictionary. It is parsed by a grammar of its three keys, not
// evaluated: an object array (pickled Python) is refused, since a file holds data only and cannot
// make the library run anything.
#pragma once

#include <string>

#include "src/io/byte_source.h"
#include "src/io/raw_array.h"

namespace capstan::io {

/// Reads one array. Supported: bool, uint8, int32, int64, float32, float64, little-endian. Arrays
/// in Fortran order are put into row-major order; a bool byte other than 0 becomes 1. Throws
/// IoError for everything else, for a damaged header, and if the file holds fewer or more bytes
/// than the header announces.
RawArray read_npy(const std::string& path);

/// The same from an open source, which is read to its end.
RawArray read_npy(ByteSource& source);

}  // namespace capstan::io
