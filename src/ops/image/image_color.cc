// Colours of images: composites of elementwise ops and means, so their gradients follow.
#include <cmath>
#include <limits>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/image/image.h"

namespace capstan {

namespace {

// What 1 is in an integer dtype.
double largest_of(DType dtype) {
  return dtype == DType::kUInt8   ? 255.0
         : dtype == DType::kInt32 ? static_cast<double>(std::numeric_limits<std::int32_t>::max())
                                  : static_cast<double>(std::numeric_limits<std::int64_t>::max());
}

Tensor number_operand(std::string_view op, Operand operand) {
  Tensor value = to_tensor(operand);
  check_real(op, value);
  return value;
}

void check_channels(std::string_view op, const Tensor& x, std::int64_t channels) {
  CAPSTAN_CHECK(x.rank() > 0 && x.dim(-1) == channels, ShapeError, op, ": the last axis must have ", channels,
                " channels, not the shape ", x.shape(), arguments({{"images", x}}));
}

// A function of floating images, of integer ones as well.
template <class Function>
Tensor with_floats(const Tensor& x, const Function& function) {
  if (is_floating(x.dtype())) return function(x);
  return image::convert_image_dtype(function(image::convert_image_dtype(x, DType::kFloat32)), x.dtype(),
                                    {.saturate = true});
}

// Channel i of the last axis, which is kept.
Tensor channel(const Tensor& x, std::int64_t i) {
  const std::vector<Index> items = {ellipsis, Slice{i, i + 1}};
  return getitem(x, items);
}

Tensor to_hsv(const Tensor& rgb) {
  const Tensor red = channel(rgb, 0);
  const Tensor green = channel(rgb, 1);
  const Tensor blue = channel(rgb, 2);
  const Tensor value = reduce_max(rgb, -1, {.keepdims = true});
  const Tensor range = value - reduce_min(rgb, -1, {.keepdims = true});
  const Tensor is_grey = equal(range, 0);
  const Tensor sixth = 1.0 / (6.0 * where(is_grey, 1.0, range));
  Tensor hue = where(equal(red, value), sixth * (green - blue),
                     where(equal(green, value), sixth * (blue - red) + 2.0 / 6, sixth * (red - green) + 4.0 / 6));
  hue = where(is_grey, zeros_like(hue), hue);
  hue = where(less(hue, 0), hue + 1.0, hue);
  return concat({hue, divide_no_nan(range, value), value}, -1);
}

Tensor to_rgb(const Tensor& hsv) {
  const Tensor turn = channel(hsv, 0) * 6.0;
  const Tensor saturation = channel(hsv, 1);
  const Tensor value = channel(hsv, 2);
  const auto limited = [](const Tensor& x) { return clip_by_value(x, 0.0, 1.0); };
  const Tensor shares =
      concat({limited(abs(turn - 3.0) - 1.0), limited(2.0 - abs(turn - 2.0)), limited(2.0 - abs(turn - 4.0))}, -1);
  return ((1.0 - saturation) + saturation * shares) * value;
}

}  // namespace

// --- The ops ---

constinit const OpDef kImageConvertImageDtype = composite<&image::convert_image_dtype, "images, dtype, saturate">(
    "image_convert_image_dtype", "The image in another dtype, with the largest number of an integer dtype for 1.");
constinit const OpDef kImageRgbToGrayscale =
    composite<&image::rgb_to_grayscale, "images">("image_rgb_to_grayscale", "The brightness of colours.");
constinit const OpDef kImageGrayscaleToRgb =
    composite<&image::grayscale_to_rgb, "images">("image_grayscale_to_rgb", "Three equal channels of one.");
constinit const OpDef kImageRgbToHsv =
    composite<&image::rgb_to_hsv, "images">("image_rgb_to_hsv", "Hue, saturation and value of colours.");
constinit const OpDef kImageHsvToRgb =
    composite<&image::hsv_to_rgb, "images">("image_hsv_to_rgb", "Colours of a hue, saturation and value.");
constinit const OpDef kImageAdjustBrightness = composite<&image::adjust_brightness, "images, delta">(
    "image_adjust_brightness", "The image and a number added to it.");
constinit const OpDef kImageAdjustContrast = composite<&image::adjust_contrast, "images, contrast_factor">(
    "image_adjust_contrast", "Each channel's distance from its mean, multiplied.");
constinit const OpDef kImageAdjustGamma = composite<&image::adjust_gamma, "images, gamma, gain", 1.0, 1.0>(
    "image_adjust_gamma", "The image to a power, multiplied.");
constinit const OpDef kImageAdjustHue =
    composite<&image::adjust_hue, "images, delta">("image_adjust_hue", "The image with its hue turned.");
constinit const OpDef kImageAdjustSaturation = composite<&image::adjust_saturation, "images, saturation_factor">(
    "image_adjust_saturation", "The image with its saturation multiplied.");
constinit const OpDef kImagePerImageStandardization = composite<&image::per_image_standardization, "images">(
    "image_per_image_standardization", "Each image with mean 0 and deviation 1.");

Tensor image::convert_image_dtype(Operand image, DType dtype, const ConvertOptions& options) try {
  const Tensor value = number_operand("image_convert_image_dtype", image);
  const DType from = value.dtype();
  CAPSTAN_CHECK(is_floating(dtype) || is_integer(dtype), DTypeError, "image_convert_image_dtype: dtype ", dtype,
                " is not supported", arguments({{"image", value}}));
  const auto convert = [&](const Tensor& x) { return options.saturate ? saturate_cast(x, dtype) : cast(x, dtype); };
  if (from == dtype || (is_floating(from) && is_floating(dtype))) return cast(value, dtype);
  if (is_floating(dtype)) return cast(value, dtype) * (1.0 / largest_of(from));
  if (is_floating(from)) return convert(value * (largest_of(dtype) + 0.5));
  // Between integers, by the ratio of their ranges, which is a power of two.
  if (largest_of(from) > largest_of(dtype)) {
    const auto ratio = static_cast<long long>((largest_of(from) + 1) / (largest_of(dtype) + 1));
    return convert(floordiv(value, ratio));
  }
  const auto ratio = static_cast<long long>((largest_of(dtype) + 1) / (largest_of(from) + 1));
  return multiply(cast(value, dtype), ratio);
} catch (const Error&) {
  rethrow_as("image::convert_image_dtype");
}

Tensor image::rgb_to_grayscale(Operand images) try {
  const Tensor value = number_operand("image_rgb_to_grayscale", images);
  check_channels("image_rgb_to_grayscale", value, 3);
  return with_floats(value, [](const Tensor& x) {
    const Tensor weights = constant({0.2989, 0.5870, 0.1140}, x.dtype());
    return reduce_sum(x * weights, -1, {.keepdims = true});
  });
} catch (const Error&) {
  rethrow_as("image::rgb_to_grayscale");
}
Tensor image::grayscale_to_rgb(Operand images) try {
  const Tensor value = to_tensor(images);
  check_channels("image_grayscale_to_rgb", value, 1);
  Shape shape = value.shape();
  shape.set(-1, 3);
  return broadcast_to(value, shape);
} catch (const Error&) {
  rethrow_as("image::grayscale_to_rgb");
}
Tensor image::rgb_to_hsv(Operand images) try {
  const Tensor value = number_operand("image_rgb_to_hsv", images);
  check_channels("image_rgb_to_hsv", value, 3);
  CAPSTAN_CHECK(is_floating(value.dtype()), DTypeError, "image_rgb_to_hsv: dtype ", value.dtype(), " is not supported",
                arguments({{"images", value}}));
  return to_hsv(value);
} catch (const Error&) {
  rethrow_as("image::rgb_to_hsv");
}
Tensor image::hsv_to_rgb(Operand images) try {
  const Tensor value = number_operand("image_hsv_to_rgb", images);
  check_channels("image_hsv_to_rgb", value, 3);
  CAPSTAN_CHECK(is_floating(value.dtype()), DTypeError, "image_hsv_to_rgb: dtype ", value.dtype(), " is not supported",
                arguments({{"images", value}}));
  return to_rgb(value);
} catch (const Error&) {
  rethrow_as("image::hsv_to_rgb");
}
Tensor image::adjust_brightness(Operand image, double delta) try {
  return with_floats(number_operand("image_adjust_brightness", image), [&](const Tensor& x) { return x + delta; });
} catch (const Error&) {
  rethrow_as("image::adjust_brightness");
}
Tensor image::adjust_contrast(Operand images, double contrast_factor) try {
  const Tensor value = number_operand("image_adjust_contrast", images);
  check_image("image_adjust_contrast", value);
  return with_floats(value, [&](const Tensor& x) {
    const Tensor mean = reduce_mean(x, {-3, -2}, {.keepdims = true});
    return (x - mean) * contrast_factor + mean;
  });
} catch (const Error&) {
  rethrow_as("image::adjust_contrast");
}
Tensor image::adjust_gamma(Operand image, double gamma, double gain) try {
  const Tensor value = number_operand("image_adjust_gamma", image);
  CAPSTAN_CHECK(gamma >= 0, ValueError, "image_adjust_gamma: gamma is ", gamma, ", not at least 0");
  return with_floats(value, [&](const Tensor& x) { return gain * pow(x, gamma); });
} catch (const Error&) {
  rethrow_as("image::adjust_gamma");
}
Tensor image::adjust_hue(Operand image, double delta) try {
  const Tensor value = number_operand("image_adjust_hue", image);
  check_channels("image_adjust_hue", value, 3);
  CAPSTAN_CHECK(delta >= -1 && delta <= 1, ValueError, "image_adjust_hue: delta is ", delta, ", not from -1 to 1");
  return with_floats(value, [&](const Tensor& x) {
    const Tensor hsv = to_hsv(x);
    const Tensor hue = channel(hsv, 0) + delta;
    return to_rgb(concat({hue - floor(hue), channel(hsv, 1), channel(hsv, 2)}, -1));
  });
} catch (const Error&) {
  rethrow_as("image::adjust_hue");
}
Tensor image::adjust_saturation(Operand image, double saturation_factor) try {
  const Tensor value = number_operand("image_adjust_saturation", image);
  check_channels("image_adjust_saturation", value, 3);
  return with_floats(value, [&](const Tensor& x) {
    const Tensor hsv = to_hsv(x);
    const Tensor saturation = clip_by_value(channel(hsv, 1) * saturation_factor, 0.0, 1.0);
    return to_rgb(concat({channel(hsv, 0), saturation, channel(hsv, 2)}, -1));
  });
} catch (const Error&) {
  rethrow_as("image::adjust_saturation");
}
Tensor image::per_image_standardization(Operand image) try {
  Tensor value = number_operand("image_per_image_standardization", image);
  check_image("image_per_image_standardization", value);
  if (!is_floating(value.dtype())) value = cast(value, DType::kFloat32);
  const Axes pixels = {-3, -2, -1};
  const auto count = static_cast<double>(value.dim(-3) * value.dim(-2) * value.dim(-1));
  // The deviation of equal pixels is 0, where its gradient is NaN; the bound keeps that out.
  const Tensor deviation = maximum(reduce_std(value, pixels, {.keepdims = true}), 1 / std::sqrt(count));
  return (value - reduce_mean(value, pixels, {.keepdims = true})) / deviation;
} catch (const Error&) {
  rethrow_as("image::per_image_standardization");
}

CAPSTAN_OPS(image_color, &kImageConvertImageDtype, &kImageRgbToGrayscale, &kImageGrayscaleToRgb, &kImageRgbToHsv,
            &kImageHsvToRgb, &kImageAdjustBrightness, &kImageAdjustContrast, &kImageAdjustGamma, &kImageAdjustHue,
            &kImageAdjustSaturation, &kImagePerImageStandardization);

}  // namespace capstan
