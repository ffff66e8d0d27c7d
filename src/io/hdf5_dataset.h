// Datasets of HDF5 files: from the messages of their headers to tensors.
#pragma once

#include <string>
#include <vector>

#include "capstan/tensor.h"
#include "src/io/hdf5_structure.h"

namespace capstan::io::hdf5 {

/// The elements of a dataset; `name` is its path, for errors.
Tensor read_dataset(File& file, const std::string& name, const std::vector<Message>& messages);

}  // namespace capstan::io::hdf5
