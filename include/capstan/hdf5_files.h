// HDF5 files of arrays, as h5py, Keras and many others write them.
#pragma once

#include <map>
#include <string>

#include "capstan/io.h"

namespace capstan::io {

/// The datasets of an HDF5 file, or of the weights in a `.keras` archive, by path, "layers/dense/vars/0": numbers,
/// complex ones too, and truth values, contiguous or in chunks, deflated, shuffled or with checksums, in either byte
/// order. Types that tensors lack become the next wider one that has all their values, as in load_safetensors();
/// attributes are left out. A soft link is one more name of what it leads to. Errors: IoError for a damaged file, for a
/// soft link that leads nowhere, in a circle, or to a group that has soft links, and for texts, records that are no
/// complex numbers, other filters, and links to another file.
///
///     io::NamedArrays arrays = io::load_hdf5("data.h5");
///     Tensor x = arrays.at("train/x");
CAPSTAN_EXPORT NamedArrays load_hdf5(const std::string& path);

/// Writes tensors by path to an HDF5 file; a '/' in a name begins a group. What was at `path` is replaced when all has
/// been written. Complex numbers are records of r and i, as h5py writes them. Errors: ValueError for an empty tensor, a
/// name that has an empty part or is a tensor's and a group's; TraceError for a tensor of a trace; IoError if the file
/// cannot be written.
///
///     io::save_hdf5("data.h5", {{"train/x", x}, {"train/y", y}});
CAPSTAN_EXPORT void save_hdf5(const std::string& path, const std::map<std::string, Tensor>& tensors);

}  // namespace capstan::io
