// The lengths of a tensor as its block holds them.
#pragma once

#include <cstdint>

#include "capstan/shape.h"

namespace capstan {

// The longest axis. A block has 32 bits for a length, and attributes the largest number of these for "whatever fits".
inline constexpr std::int64_t kMaxLength = 4294967294;

// Writes all kMaxRank lengths; those beyond the rank are zero. Throws ShapeError for one above kMaxLength, of a tensor
// without elements, too.
void write_dims(const Shape& shape, std::uint32_t* dims);

}  // namespace capstan
