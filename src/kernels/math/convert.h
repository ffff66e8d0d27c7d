// Elements of one dtype as those of another.
#pragma once

#include <cstdint>

#include "capstan/dtype.h"

namespace capstan {

// Floating numbers lose their fraction as integers; those that an integer type cannot hold give its nearest value, NaN
// gives 0. Integers wrap around. A complex number that becomes a real one loses its imaginary part; everything but 0 is
// true.
void convert_elements(DType from, DType to, std::int64_t n, const void* in, void* out);

}  // namespace capstan
