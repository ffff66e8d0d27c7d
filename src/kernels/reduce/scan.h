// Scans along an axis: running sums and their like, and linear recurrences.
//
// Running values are kept in float32 for bfloat16 and in the dtype itself for the others; integers wrap around.
#pragma once

#include <cstdint>

#include "capstan/dtype.h"
#include "src/kernels/axis_view.h"

namespace capstan {

enum class Scan : std::uint8_t { kSum, kProduct, kLogsumexp };

// out[k] joins in[0] to in[k], or only to in[k-1] if `exclusive`; from the other end if `reverse`. kLogsumexp is for
// floating dtypes.
void scan_along(Scan scan, DType dtype, const AxisView& view, bool exclusive, bool reverse, const void* in, void* out);

// s[k] = b[k] + a[k] * s[k-1]; from the other end if `reverse`. A factor of 0 begins anew, even after something
// infinite; the first one is never read.
void recur_along(DType dtype, const AxisView& view, bool reverse, const void* a, const void* b, void* s);

}  // namespace capstan
