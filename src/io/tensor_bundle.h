// TensorFlow's checkpoints: an index of tensors, `prefix`.index, and their elements in `prefix`.data-00000-of-00001 and
// so on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::io {

/// What a checkpoint holds, by key: tensors, and tensors of texts, of which only the texts are kept.
struct TensorBundle {
  std::map<std::string, Tensor> tensors = {};
  std::map<std::string, std::vector<std::string>> texts = {};
};

/// Reads a checkpoint and verifies all checksums. Types that tensors lack become the next wider one, as in
/// tensor_list.h. Throws IoError, in the name of `reader`, for one that is damaged or of a later version, for
/// big-endian ones, for tensors that are stored in slices, and types that are not known.
TensorBundle read_tensor_bundle(const std::string& reader, const std::string& prefix);

/// Writes a checkpoint with one file of elements; each of the two files is there as a whole or not at all, the index
/// last. Throws IoError; TraceError and ValueError for tensors and names that cannot be written.
void write_tensor_bundle(const std::string& writer, const std::string& prefix, const TensorBundle& bundle);

}  // namespace capstan::io
