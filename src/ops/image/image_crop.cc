// Boxes cut out of images.
//
// The four pixels around a place are gathered and weighed by its distances from them, in library ops: so there are
// gradients of every order for the images and, with bilinear interpolation, for the boxes.

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/image/image.h"
#include "src/ops/window_lengths.h"
#include "src/ops/image/pixel_table.h"
#include "src/ops/indices.h"

namespace capstan {

namespace {

// Where the rows (columns) of boxes lie along an axis, [boxes, n]; the box's ends are shares of length - 1.
Tensor places_along(const Tensor& low, const Tensor& high, std::int64_t n, std::int64_t length) {
  const auto pixels = static_cast<double>(length - 1);
  if (n == 1) return expand_dims((low + high) * (0.5 * pixels), 1);
  const Tensor step = (high - low) * (pixels / static_cast<double>(n - 1));
  return expand_dims(low * pixels, 1) + expand_dims(step, 1) * reshape(count_up(n, low.dtype()), {1, n});
}

}  // namespace

constinit const OpDef kImageCropAndResize =
    composite<&image::crop_and_resize, "images, boxes, box_indices, crop_size, method, extrapolation_value">(
        "image_crop_and_resize", "Boxes cut out of images, each resized.");
Tensor image::crop_and_resize(Operand images, Operand boxes, Operand box_indices, std::array<std::int64_t, 2> crop_size,
                              const CropAndResizeOptions& options) try {
  constexpr std::string_view op = "image_crop_and_resize";
  Tensor value = to_tensor(images);
  const Tensor corners = to_tensor(boxes);
  const Tensor which = to_tensor(box_indices);
  const bool bilinear = is_bilinear(op, "method", options.method);
  check_images(op, value);
  check_indices(op, which);
  check_real(op, value);
  CAPSTAN_CHECK(is_floating(corners.dtype()), DTypeError, op, ": dtype ", corners.dtype(), " of boxes is not supported",
                arguments({{"images", value}, {"boxes", corners}}));
  CAPSTAN_CHECK(corners.rank() == 2 && corners.dim(1) == 4 && which.shape() == Shape{corners.dim(0)}, ShapeError, op,
                ": boxes ", corners.shape(), " and box_indices ", which.shape(), " must be [boxes, 4] and [boxes]",
                arguments({{"images", value}, {"boxes", corners}, {"box_indices", which}}));
  CAPSTAN_CHECK(crop_size[0] > 0 && crop_size[1] > 0 && crop_size[0] < UINT32_MAX && crop_size[1] < UINT32_MAX,
                ValueError, op, ": the size is ", crop_size[0], " x ", crop_size[1], ", not at least 1 x 1");
  CAPSTAN_CHECK(value.dim(1) > 0 && value.dim(2) > 0, ShapeError, op, ": the images have no pixels",
                arguments({{"images", value}}));
  with_indices(which, [&](const auto* data) {
    for (std::int64_t i = 0; i < which.size(); ++i) {
      CAPSTAN_CHECK(data[i] >= 0 && data[i] < value.dim(0), IndexError, op, ": box ", i, " is of image ", data[i],
                    ", there are ", value.dim(0));
    }
  });
  if (!is_floating(value.dtype())) value = cast(value, DType::kFloat32);
  const std::int64_t count = corners.dim(0);
  const Shape shape{count, crop_size[0], crop_size[1], value.dim(3)};
  if (shape.size() == 0) return zeros(shape, value.dtype());
  const Shape grid{count, crop_size[0], crop_size[1]};
  const auto side = [&](std::int64_t i) { return corners(ellipsis, i); };
  const Tensor y = expand_dims(places_along(side(0), side(2), crop_size[0], value.dim(1)), 2);
  const Tensor x = expand_dims(places_along(side(1), side(3), crop_size[1], value.dim(2)), 1);
  const auto flat = [&](const Tensor& places) { return reshape(broadcast_to(places, grid), {grid.size()}); };
  const Tensor rows = flat(y);
  const Tensor columns = flat(x);
  const auto inside = [](const Tensor& place, std::int64_t length) {
    return logical_and(greater_equal(place, 0), less_equal(place, static_cast<double>(length - 1)));
  };
  const Tensor known = logical_and(inside(rows, value.dim(1)), inside(columns, value.dim(2)));
  const Tensor offsets = cast(which, DType::kInt64) * (value.dim(1) * value.dim(2));
  const Tensor first = flat(reshape(offsets, {count, 1, 1}));
  const PixelTable table(value);
  Tensor found;
  if (bilinear) {
    const Tensor down = cast(rows, value.dtype());
    const Tensor right = cast(columns, value.dtype());
    // On a pixel both neighbours are that pixel: the gradient for a box that ends there is zero.
    const auto around = [](const Tensor& place) {
      return Neighbours{stop_gradient(floor(place)), stop_gradient(ceil(place))};
    };
    found = interpolate(table, first, down, around(down), right, around(right), 0);
  } else {
    found = table.at(first, round(stop_gradient(rows)), round(stop_gradient(columns)), 0);
  }
  const Tensor outside = cast(constant(options.extrapolation_value, DType::kFloat64), value.dtype());
  return reshape(where(expand_dims(known, 1), found, outside), shape);
} catch (const Error&) {
  rethrow_as("image::crop_and_resize");
}

CAPSTAN_OPS(image_crop, &kImageCropAndResize);

}  // namespace capstan
