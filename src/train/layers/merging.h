// What layers that merge tensors ask of their inputs.
#pragma once

#include <string>
#include <vector>

#include "src/train/common.h"

namespace capstan::detail {

// The tensors of a list, which have one batch. Errors: ValueError in the name of the layer.
std::vector<Tensor> merge_inputs(const std::string& layer, const Nest& inputs);
// One mask for each of `count` inputs, empty where there is none.
std::vector<Tensor> merge_masks(const std::string& layer, const Nest& mask, std::size_t count);

}  // namespace capstan::detail
