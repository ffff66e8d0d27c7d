// Many images as one.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/plots.h"
#include "src/core/check.h"

namespace capstan::plots {

namespace {

constexpr double kMostNumbers = 1 << 28;

// From 0 to 255, still floating.
Tensor as_bytes(const Tensor& images, const layers::ValueRange& range) {
  if (!is_floating(images.dtype())) return cast(images, DType::kFloat64);
  const Tensor x = cast(images, DType::kFloat64);
  const Tensor part = (x - range.lowest) / (range.highest - range.lowest);
  return where(equal(part, part), part, zeros_like(part)) * 255.0;
}

}  // namespace

Tensor image_grid(const Tensor& images, const ImageGridOptions& options) {
  const bool fits =
      images.rank() == 4 && images.size() > 0 && (images.dim(3) == 1 || images.dim(3) == 3 || images.dim(3) == 4);
  CAPSTAN_CHECK(fits, ShapeError,
                "image_grid: images must be [images, height, width, channels] with 1, 3 or 4 "
                "channels and at least one pixel, not ",
                images.shape(), arguments({{"images", images}}));
  CAPSTAN_CHECK(!is_complex(images.dtype()), DTypeError, "image_grid: dtype ", images.dtype(), " is not supported",
                arguments({{"images", images}}));
  const layers::ValueRange& range = options.value_range;
  CAPSTAN_CHECK(std::isfinite(range.lowest) && std::isfinite(range.highest) && range.lowest < range.highest, ValueError,
                "image_grid: value_range must be two different finite numbers, not ", range.lowest, " and ",
                range.highest);
  CAPSTAN_CHECK(options.columns >= 0 && options.gap >= 0, ValueError, "image_grid: columns is ", options.columns,
                " and gap is ", options.gap, ", which must not be negative");
  const std::int64_t count = images.dim(0), gap = options.gap;
  const auto square_side = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::int64_t columns = options.columns == 0 ? square_side : std::min(options.columns, count);
  const std::int64_t rows = (count + columns - 1) / columns;
  // In double, since the numbers may be any.
  const auto side = [&](std::int64_t images_along, std::int64_t length) {
    const double border = static_cast<double>(gap);
    return static_cast<double>(images_along) * (static_cast<double>(length) + border) + border;
  };
  const double numbers = side(rows, images.dim(1)) * side(columns, images.dim(2)) * static_cast<double>(images.dim(3));
  CAPSTAN_CHECK(numbers <= kMostNumbers, ValueError, "image_grid: a grid of ", rows, " x ", columns, " images of ",
                images.dim(1), " x ", images.dim(2), " with gaps of ", gap, " pixels is too large",
                arguments({{"images", images}}));
  const double background = options.background;
  const auto padded = [&](const Tensor& x, const std::vector<PadWidth>& widths) {
    return pad(x, widths, PadMode::kConstant, background);
  };
  const Tensor bytes = clip_by_value(round(as_bytes(images, range)), 0.0, 255.0);
  const Tensor all = padded(bytes, {{0, rows * columns - count}, {0, gap}, {0, gap}, {0, 0}});
  const std::int64_t height = images.dim(1) + gap, width = images.dim(2) + gap, channels = images.dim(3);
  const Tensor placed = transpose(reshape(all, {rows, columns, height, width, channels}), {0, 2, 1, 3, 4});
  const Tensor grid = reshape(placed, {rows * height, columns * width, channels});
  return cast(padded(grid, {{gap, 0}, {gap, 0}, {0, 0}}), DType::kUInt8);
}

}  // namespace capstan::plots
