// What the ops share that look images up at places between their pixels.
#pragma once

#include <string_view>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/ops/image/image.h"
#include "src/ops/rows.h"

namespace capstan {

inline std::string_view or_default(const Text& text, std::string_view fallback) {
  return text.text == nullptr ? fallback : text.view();
}

// Whether an interpolation is bilinear; throws ValueError unless it is nearest.
inline bool is_bilinear(std::string_view op, std::string_view what, std::string_view name) {
  CAPSTAN_CHECK(name == "bilinear" || name == "nearest", ValueError, op, ": ", what,
                " must be bilinear or nearest, not ", name);
  return name == "bilinear";
}

// Images as a table of pixels, to be looked up.
struct PixelTable {
  Tensor pixels;  // [batch * height * width, channels]
  std::int64_t height, width;

  explicit PixelTable(const Tensor& images)
      : pixels(reshape(images, {images.dim(0) * images.dim(1) * images.dim(2), images.dim(3)})),
        height(images.dim(1)),
        width(images.dim(2)) {}

  // The pixels at whole places [n] of the images `first` / (height * width), [n, channels]. Places outside get `fill`.
  Tensor at(const Tensor& first, const Tensor& y, const Tensor& x, double fill) const {
    const auto inside = [](const Tensor& place, std::int64_t length) {
      return logical_and(greater_equal(place, 0), less_equal(place, static_cast<double>(length - 1)));
    };
    const Tensor known = logical_and(inside(y, height), inside(x, width));
    const auto whole = [&](const Tensor& place) { return cast(where(known, place, zeros_like(place)), DType::kInt64); };
    const Tensor rows = take_rows(pixels, first + whole(y) * width + whole(x));
    return where(expand_dims(known, 1), rows, cast(constant(fill, DType::kFloat64), rows.dtype()));
  }
};

// The pixels around a place: those at or before it and those after it, whole numbers both.
struct Neighbours {
  Tensor before;
  Tensor behind;
};

// The images at places between pixels; each of the four around a place counts as `fill` if it lies outside.
inline Tensor interpolate(const PixelTable& table, const Tensor& first, const Tensor& y, const Neighbours& rows,
                          const Tensor& x, const Neighbours& columns, double fill) {
  const Tensor down = expand_dims(y - rows.before, 1);
  const Tensor right = expand_dims(x - columns.before, 1);
  const auto across = [&](const Tensor& row) {
    return table.at(first, row, columns.before, fill) * (1.0 - right) +
           table.at(first, row, columns.behind, fill) * right;
  };
  return across(rows.before) * (1.0 - down) + across(rows.behind) * down;
}

// The numbers 0 ... n - 1 in a floating dtype.
inline Tensor count_up(std::int64_t n, DType dtype) { return cast(range(static_cast<long>(n)), dtype); }

}  // namespace capstan
