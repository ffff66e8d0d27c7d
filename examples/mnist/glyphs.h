// How the digits are written by hand: a few styles for each, as pen strokes.
//
// A stroke is a list of points through which a smooth curve runs; a point that stands twice makes a
// corner. The unit is a hundredth of the digit's box, x to the right, y down.
#pragma once

#include <array>
#include <vector>

namespace mnist {

struct Point {
  float x, y;
};

using Stroke = std::vector<Point>;
using Style = std::vector<Stroke>;

/// The styles of each digit; a style is drawn as often as it stands in the list.
const std::array<std::vector<Style>, 10>& glyphs();

}  // namespace mnist
