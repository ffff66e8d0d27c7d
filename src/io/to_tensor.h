#pragma once

#include "capstan/tensor.h"
#include "src/io/raw_array.h"

namespace capstan::io {

/// Copies an array that a reader of this folder made into a tensor of the same dtype and shape.
/// Throws IoError if an axis is longer than a tensor's can be; `source` names the file in the text.
Tensor to_tensor(const RawArray& array, const std::string& source);

}  // namespace capstan::io
