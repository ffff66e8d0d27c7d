// The shape of a tensor's rows, and that of a tensor of such rows.
#pragma once

#include "capstan/shape.h"

namespace capstan {

// [3] of [n, 3].
inline Shape row_shape(const Shape& shape) { return Shape(shape.dims().subspan(1)); }

// [n, 3] of [3].
inline Shape stacked_shape(std::int64_t rows, const Shape& row) {
  Shape shape = {rows};
  for (const std::int64_t length : row) shape.push_back(length);
  return shape;
}

}  // namespace capstan
