// What layers that merge tensors ask of their inputs.
#pragma once

#include <string>
#include <vector>

#include "src/train/common.h"

namespace capstan::detail {

// All tensors with the widest of their dtypes, as Keras has it: int64 and bool are valid beside float32. There is at
// least one tensor.
std::vector<Tensor> with_one_dtype(std::vector<Tensor> tensors);

// The tensors of a list, which have one batch, with one dtype. Errors: ValueError in the name of the layer.
std::vector<Tensor> merge_inputs(const std::string& layer, const Nest& inputs);
// One mask for each of `count` inputs, empty where there is none.
std::vector<Tensor> merge_masks(const std::string& layer, const Nest& mask, std::size_t count);

}  // namespace capstan::detail
