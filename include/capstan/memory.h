// Tensors over memory of others, without a copy.
#pragma once

#include <memory>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan {

/// A tensor whose elements lie where `memory` points, row-major, without a copy; it and all that refers to its elements
/// share the ownership of the memory. Nobody may change the elements meanwhile, which the tensor does not either: ops
/// and variables write to memory of their own. A bool is a byte of 0 or 1.
///
/// Errors: ValueError for no memory where the shape has elements, and for an address that is no multiple of the
/// element's alignment; ShapeError for a shape with too many elements.
///
///     auto samples = std::make_shared<std::vector<float>>(1024 * 64);
///     Tensor x = from_memory({samples, samples->data()}, float32, {1024, 64});
CAPSTAN_EXPORT Tensor from_memory(std::shared_ptr<const void> memory, DType dtype, const Shape& shape);

}  // namespace capstan
