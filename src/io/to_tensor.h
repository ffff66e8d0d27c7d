#pragma once

#include <string>
#include <string_view>

#include "capstan/tensor.h"
#include "src/io/raw_array.h"

namespace capstan::io {

/// Copies an array that a reader of this folder made into a tensor of the same dtype and shape.
/// Throws IoError for lengths that no tensor can have; `reader` and `source`, the file, are for the text.
Tensor to_tensor(std::string_view reader, const RawArray& array, const std::string& source);

}  // namespace capstan::io
