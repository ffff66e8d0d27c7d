// Small helpers of training programs.
#pragma once

#include <cstdint>

#include "capstan/tensor.h"

namespace capstan {

/// One-hot rows: class numbers [...] or [..., 1] become [..., num_classes], which is the largest label + 1 unless
/// given. Negative labels count from the end. Errors: IndexError for a label outside the classes, DTypeError unless
/// integer or floating.
///
///     to_categorical(constant({2, 0}), 3);   // {{0, 0, 1}, {1, 0, 0}}
CAPSTAN_EXPORT Tensor to_categorical(const Tensor& labels, std::int64_t num_classes = 0, DType dtype = floatx());

}  // namespace capstan
