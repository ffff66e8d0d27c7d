// Tensors of images as a PNG file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tensor.h"
#include "examples/mnist/png.h"

namespace examples {

/// Where an example puts what it draws: the path that was asked for, or `name` in the folder for temporary files.
inline std::string picture_path(const std::optional<std::string>& asked, const std::string& name) {
  return asked.value_or((std::filesystem::temp_directory_path() / name).string());
}

/// Writes rows of images below each other. A row is [images, height, width, 1 or 3], all rows with the same lengths;
/// numbers from 0 (black) to 1 are shown, those beyond are cut off. A pixel becomes a square of `zoom` pixels, and
/// there is a line of one pixel around each image. Returns whether there is a file then. Errors: IoError, ShapeError.
inline bool write_pictures(const std::string& path, const std::vector<capstan::Tensor>& rows, int zoom = 3) {
  using namespace capstan;
  if (rows.empty() || rows[0].rank() != 4) throw ShapeError("write_pictures: rows are [images, height, width, 1 or 3]");
  // [row, image, y, x, channel] becomes [row, y, image, x, channel], which is a grid row by row.
  Tensor grid = clip_by_value(cast(stack(rows), float32), 0.0, 1.0);
  if (grid.dim(4) == 1) grid = tile(grid, {1, 1, 1, 1, 3});
  grid = repeat(repeat(grid, zoom, 2), zoom, 3);
  const PadWidth around[] = {{0, 0}, {0, 0}, {1, 1}, {1, 1}, {0, 0}};
  grid = transpose(pad(grid, around, PadMode::kConstant, 0.5), {0, 2, 1, 3, 4});
  const int height = static_cast<int>(grid.dim(0) * grid.dim(1));
  const int width = static_cast<int>(grid.dim(2) * grid.dim(3));
  mnist::write_png(path, {width, height, cast(255 * grid + 0.5, uint8).to_vector<std::uint8_t>()});
  return std::filesystem::file_size(path) > 100;
}

}  // namespace examples
