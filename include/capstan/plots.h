// Pictures of what training does: curves of a History, confusion matrices, and grids of images.
//
// What is drawn is a text, for a terminal or as SVG, or an image; capstan/io.h writes both to files:
//
//     History history = model.fit(x, y, {.epochs = 5, .verbose = 0});
//     std::puts(plots::curves_text(history).c_str());
//     io::save_text("curves.svg", plots::curves_svg(history));
//     io::save_png("digits.png", plots::image_grid(images, {.columns = 8}));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/layers/augmentation.h"
#include "capstan/training.h"

namespace capstan::plots {

/// Options of curves_svg and curves_text.
struct CurveOptions {
  /// Which values of the history, without those of the validation: "loss", "accuracy". All of them, if not given.
  std::vector<std::string> names = {};
  std::string title = {};
  bool log_scale = false;   ///< the decimal logarithm upward; what is not positive is left out
  std::int64_t width = 0;   ///< of a panel: pixels, 640 if 0; characters, 72 if 0
  std::int64_t height = 0;  ///< of a panel: pixels, 320 if 0; lines, 16 if 0
};
/// The curves of a history as an SVG image, one panel for each value, with that of the validation as a dashed line.
/// What is not finite leaves a gap. Errors: ValueError for a history without values, an unknown name, a panel smaller
/// than 160 x 120 or larger than 10000 pixels, and a value without a number that can be drawn.
///
///     io::save_text("curves.svg", plots::curves_svg(model.fit(x, y, {.epochs = 3})));
CAPSTAN_EXPORT std::string curves_svg(const History& history, const CurveOptions& options = {});
/// The same with characters: '*' for training, 'o' for the validation, and '@' where both are. Errors: as curves_svg,
/// with panels of at least 24 x 4 and at most 1000 characters.
///
///     std::puts(plots::curves_text(model.fit(x, y, {.epochs = 3})).c_str());
CAPSTAN_EXPORT std::string curves_text(const History& history, const CurveOptions& options = {});

/// Options of confusion_svg and confusion_text.
struct ConfusionOptions {
  std::vector<std::string> classes = {};  ///< their names; 0, 1, ..., if not given
  std::string title = {};
  std::int64_t cell = 44;  ///< of an SVG image: pixels of a side
};
/// A matrix [classes, classes], such as that of confusion_matrix(), as an SVG image: a row for each true class, a
/// column for each predicted one, the darker the larger its share of the row. Errors: ShapeError for another shape or
/// no class; ValueError for another number of names, for numbers that are negative or not finite, and for cells below 4
/// or above 400 pixels.
///
///     io::save_text("confusion.svg", plots::confusion_svg(constant({{5, 1}, {0, 4}})));
CAPSTAN_EXPORT std::string confusion_svg(const Tensor& matrix, const ConfusionOptions& options = {});
/// The same as a table of characters, with the share of each row that is right. Errors: as confusion_svg.
///
///     std::puts(plots::confusion_text(confusion_matrix(labels, predictions)).c_str());
CAPSTAN_EXPORT std::string confusion_text(const Tensor& matrix, const ConfusionOptions& options = {});

/// Options of image_grid.
struct ImageGridOptions {
  std::int64_t columns = 0;                 ///< as many as make the grid about square, if 0
  std::int64_t gap = 2;                     ///< pixels around each image
  layers::ValueRange value_range = {0, 1};  ///< what is black and what is white, of floating images
  std::uint8_t background = 255;
};
/// Images [images, height, width, channels] with 1, 3 or 4 channels beside and below each other, as one uint8 image
/// [height, width, channels]. Floating numbers are limited to value_range, and NaN is black; integers are uint8 or from
/// 0 to 255. Errors: ShapeError for another shape or no pixels; ValueError for a negative number of columns or gap, an
/// empty range, and a grid of more than 2^28 numbers.
///
///     Tensor grid = plots::image_grid(images, {.columns = 4});
CAPSTAN_EXPORT Tensor image_grid(const Tensor& images, const ImageGridOptions& options = {});

}  // namespace capstan::plots
