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
#include "src/io/hdf5_file.h"

namespace capstan::io {

/// Attributes of groups by the path of the group and their name: "model_weights/dense@weight_names". A text may have
/// any length. A list that does not fit one attribute is written as several, "weight_names0" and so on, as Keras does.
struct Hdf5Attributes {
  std::map<std::string, std::string> texts = {};
  Hdf5Texts lists = {};
};

/// Writes tensors by their paths, "layers/dense/vars/0", and the attributes of groups, which need no tensors, as a
/// whole or not at all (see file_sink.h). A bool is an enumeration of FALSE and TRUE, as h5py writes it, and bfloat16
/// two bytes of no type with an attribute `dtype`, as Keras does. Throws in the name of `writer`: ValueError for an
/// empty handle or one of a trace, a name with an empty part, and a path that is a tensor's and a group's; IoError if
/// the file cannot be written.
void write_hdf5(const std::string& writer, const std::string& path, const std::map<std::string, Tensor>& tensors,
                const Hdf5Attributes& attributes = {});

/// The same in memory.
std::vector<std::byte> hdf5_bytes(const std::string& writer, const std::map<std::string, Tensor>& tensors);

}  // namespace capstan::io
