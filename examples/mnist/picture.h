// A picture of the digits that a model gets wrong, the surest of its mistakes first.
//
// picture.cc draws, with a font of its own; png.cc writes the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mnist {

/// Pixels row by row, red, green, blue.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// What a model says about n digits.
struct Predictions {
  std::span<const uint8_t> images;     // [n, 28, 28], ink is bright
  std::span<const uint8_t> labels;     // [n], the true digits, 0 to 9
  std::span<const uint8_t> predicted;  // [n], the model's choice, 0 to 9
  std::span<const float> confidence;   // [n], the probability that the model gave to its choice, 0 to 1
};

struct MistakesOptions {
  int columns = 10;
  int rows = 6;  // fewer if there are fewer mistakes
  int zoom = 3;  // a digit is 28 * zoom pixels wide
};

/// Draws a grid of mistakes, each digit under its caption "4>9 97%": true, predicted, confidence.
/// If there are none, the picture says so. `shown`, if given, receives how many are drawn. Throws
/// capstan::ValueError if the lengths differ, if a digit is above 9 or if an option is not
/// positive.
Picture draw_mistakes(const Predictions& predictions, const MistakesOptions& options = {}, size_t* shown = nullptr);

/// The same, written as a PNG file; returns how many mistakes it shows. Throws capstan::IoError as
/// well.
size_t write_mistakes_png(const std::string& path, const Predictions& predictions, const MistakesOptions& options = {});

}  // namespace mnist
