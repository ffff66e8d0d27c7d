// Lengths of windows, strides and paddings.
#pragma once

#include <cstdint>

#include "capstan/layer.h"

namespace capstan {

/// Two lengths, of height and width; one number is used for both.
struct Size2D {
  Size2D(std::int64_t both) : height(both), width(both) {}
  Size2D(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
  std::int64_t height;
  std::int64_t width;
};

}  // namespace capstan
