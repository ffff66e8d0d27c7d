// Tensors of draws: element i depends on a key and on i only.
#pragma once

#include <cstdint>

#include "capstan/dtype.h"

namespace capstan {

// n numbers of [low, high), floating ones or integers (int32, int64) without a bias. Where low is not below high, as
// floating numbers may have it, the end is not kept out.
void fill_uniform(std::uint64_t key, DType dtype, double low, double high, std::int64_t n, void* out);

// n numbers of a floating dtype, computed in float64. Elements 2i and 2i + 1 share block i of the stream.
void fill_normal(std::uint64_t key, DType dtype, double mean, double deviation, std::int64_t n, void* out);

// The same within two deviations. Element i takes the first such number from the blocks (i, 0), (i, 1), ...
void fill_truncated_normal(std::uint64_t key, DType dtype, double mean, double deviation, std::int64_t n, void* out);

}  // namespace capstan
