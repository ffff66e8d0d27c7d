// NumPy's .npy format, versions 1 to 3.
//
// A file is "\x93NUMPY", two version bytes, the length of a header, the header, and the elements.
// The header is the text of a Python dictionary. It is parsed by a grammar of its three keys, not
// evaluated: a file holds data only and cannot make the library run anything. So object arrays
// (pickled Python) are refused but for lists of integers, which have a reader of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/tensor.h"
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

/// The array that comes next in a source, which is read to its end, as a tensor: also other types than those, in any
/// order of bytes. Types that tensors lack become wider ones, as in tensor_list.h.
Tensor npy_tensor(ByteSource& source);

/// Reads a one-dimensional object array whose elements are lists of integers, as Keras stores texts. The pickle in it
/// is read by pickle.h, which runs nothing; anything but lists of integers that fit int32 is an IoError.
std::vector<std::vector<std::int32_t>> read_npy_lists(ByteSource& source);

}  // namespace capstan::io
