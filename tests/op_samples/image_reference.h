// Pixels of images as slow references see them.
#pragma once

#include <cmath>

#include "tests/op_samples/reference.h"

namespace capstan::testing::reference {

// Image b at (y, x), channel c; pixels outside are `fill`.
inline double pixel_at(const ReferenceTensor& images, std::int64_t b, double y, double x, std::int64_t c, double fill) {
  if (y < 0 || x < 0 || y >= static_cast<double>(images.shape[-3]) || x >= static_cast<double>(images.shape[-2])) {
    return fill;
  }
  Position position = {b, static_cast<std::int64_t>(y), static_cast<std::int64_t>(x), c};
  if (images.shape.rank() == 3) position.erase(position.begin());
  return at(images, position);
}
inline double bilinear_at(const ReferenceTensor& images, std::int64_t b, double y, double x, std::int64_t c,
                          double fill) {
  const double top = std::floor(y);
  const double left = std::floor(x);
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      sum += pixel_at(images, b, top + i, left + j, c, fill) * (i == 0 ? 1 - (y - top) : y - top) *
             (j == 0 ? 1 - (x - left) : x - left);
    }
  }
  return sum;
}

}  // namespace capstan::testing::reference
