// Tensors for libraries beside the core that write the elements themselves.
#pragma once

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan::detail {

/// A tensor whose elements are not initialised. The caller writes all of them, through raw_data(), before anybody else
/// sees it: filled() of capstan/bindings.h is the public form. Errors: ShapeError if the size overflows.
CAPSTAN_EXPORT Tensor unfilled(DType dtype, const Shape& shape);

}  // namespace capstan::detail
