// NumPy's .npz format: a zip archive whose members are .npy files.
#pragma once

#include <map>
#include <string>

#include "capstan/tensor.h"
#include "src/io/raw_array.h"

namespace capstan::io {

/// Reads every array of an archive made by numpy.savez or numpy.savez_compressed; the key is the
/// member's name without ".npy". Members with other names are not arrays and are left out.
///
/// Throws IoError if the file is no zip archive, if a member is encrypted, compressed by something
/// else than deflate, listed twice or damaged (checksums are verified), if its two headers differ, or if read_npy would
/// refuse it. Members that overlap in the file are refused, so memory is bounded by what the file can hold.
std::map<std::string, RawArray> read_npz(const std::string& path);

/// The same as tensors, of all types that npy_tensor reads.
std::map<std::string, Tensor> npz_tensors(const std::string& path);

}  // namespace capstan::io
