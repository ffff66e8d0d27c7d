// Digits that the program draws itself, so that the training runs where no data set is at hand.
//
// A digit is one of a few styles of pen strokes (glyphs.h). Its points are displaced, the whole is
// bent, sheared, rotated, stretched and moved, drawn with a pen of random width and fitted into a
// box of about 20 pixels in the middle of 28, as in MNIST. Every choice is a number from a counter
// keyed by the seed and the digit's position: digit i is the same however many are drawn, and on
// every machine, since only operations with one right result are used (no sine, no std
// distribution).
#pragma once

#include <cstdint>
#include <vector>

namespace mnist {

struct DrawnDigits {
  std::vector<uint8_t> images;  // [count, 28, 28], ink is bright
  std::vector<uint8_t> labels;  // [count], 0 to 9 about equally often
};

/// Draws `count` digits, about 50,000 per second. Another seed gives other digits. None if `count`
/// is not positive.
DrawnDigits draw_digits(int64_t count, uint64_t seed);

}  // namespace mnist
