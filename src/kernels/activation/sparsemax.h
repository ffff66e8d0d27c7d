// The projection of rows on the probability simplex, computed in float64.
#pragma once

#include "capstan/dtype.h"
#include "src/kernels/axis_view.h"

namespace capstan {

// The nearest point of the simplex for each row along an axis, of a floating dtype: max(x - shift, 0) with the shift
// that makes the sum 1. A row with NaN or infinity is NaN.
void sparsemax_along(DType dtype, const AxisView& view, const void* x, void* y);

}  // namespace capstan
