// Reductions of integers and truth values, over one axis.
#pragma once

#include <cstdint>

#include "src/kernels/reduce/reduce_steps.h"

namespace capstan {

// [outer, n, inner] -> [outer, inner]. T is int32, int64, uint8 or bool.
template <class T>
void reduce_integers(ReduceStep step, std::int64_t outer, std::int64_t n, std::int64_t inner, const T* in, T* out);

}  // namespace capstan
