// Writes HDF5 files of datasets in groups, as Keras's weight files are.
//
// The form is the oldest that the HDF Group's library still writes by default, so that every reader knows it:
// superblock 0, groups as symbol tables (a B-tree of version 1 over the sorted names, which lie in a local heap),
// object headers of version 1, and contiguous datasets. See the HDF5 File Format Specification, version 2.0.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::io {

/// Writes tensors by their paths, "layers/dense/vars/0", as a whole or not at all (see file_sink.h). A bool is an
/// enumeration of FALSE and TRUE, as h5py writes it, and bfloat16 two bytes of no type with an attribute `dtype`, as
/// Keras does. Throws in the name of `writer`: ValueError for an empty handle or one of a trace, a
/// name with an empty part, and a path that is a tensor's and a group's; IoError if the file cannot be written.
void write_hdf5(const std::string& writer, const std::string& path, const std::map<std::string, Tensor>& tensors);

/// The same in memory.
std::vector<std::byte> hdf5_bytes(const std::string& writer, const std::map<std::string, Tensor>& tensors);

}  // namespace capstan::io
