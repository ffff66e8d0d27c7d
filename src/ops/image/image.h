// What the files of image ops share. The op of image::resize is called image_resize, and so on.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/ops/lengths.h"

namespace capstan {

extern const OpDef kImageResize;                  // image_resize.cc
extern const OpDef kImageAffineTransform;         // image_warp.cc
extern const OpDef kImageAffineTransformAdjoint;  // image_warp.cc

// Two numbers, height and width. As a dynamic value: a list of two integers.
struct PixelSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::array<std::int64_t, 2> array() const { return {height, width}; }
};
inline void set_field(PixelSize& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const std::vector<std::int64_t> numbers = integers_of(value, op, name);
  CAPSTAN_CHECK(numbers.size() == 2, ValueError, op, ": attribute \"", name, "\" must be {height, width}, not ",
                value.to_string());
  field = {numbers[0], numbers[1]};
}
inline AttributeValue get_field(const PixelSize& field) {
  const std::int64_t pair[] = {field.height, field.width};
  return list_of(pair);
}

// Throws ShapeError unless x has the rank of an image or of a batch of them.
inline void check_image(std::string_view op, const TensorRef& x) {
  CAPSTAN_CHECK(x.rank() == 3 || x.rank() == 4, ShapeError, op,
                ": an image must be [height, width, channels] or [batch, height, width, channels], not of rank ",
                x.rank(), arguments({{"image", x}}));
}
// The same for ops that take batches only.
inline void check_images(std::string_view op, const TensorRef& x) {
  CAPSTAN_CHECK(x.rank() == 4, ShapeError, op, ": images must be [batch, height, width, channels], not of rank ",
                x.rank(), arguments({{"images", x}}));
}

// Throws DTypeError for pixels that are no real numbers.
inline void check_real(std::string_view op, const TensorRef& x) {
  CAPSTAN_CHECK(is_floating(x.dtype()) || is_integer(x.dtype()), DTypeError, op, ": dtype ", x.dtype(),
                " is not supported", arguments({{"image", x}}));
}

// Rows and columns of images: everything but the slices of height and width is kept.
inline Tensor pixels_of(const Tensor& x, const Slice& height, const Slice& width) {
  std::vector<Index> items = {ellipsis, height, width, Slice{}};
  return getitem(x, items);
}

}  // namespace capstan
