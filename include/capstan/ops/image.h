#pragma once

#include <array>
#include <string>
#include <string_view>

#include "capstan/ops/conv.h"
#include "capstan/tensor.h"

namespace capstan::image {

// Images are [height, width, channels] or [batch, height, width, channels], and results have the same rank. Errors:
// ShapeError for any other rank, DTypeError. Functions that adjust colours take floating images from 0 to 1, and
// integer ones by way of convert_image_dtype; they give back the dtype that they got.

// --- Size ---

/// Options of resize.
struct ResizeOptions {
  /// "nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
  std::string method = "bilinear";
  /// The largest size that fits into the given one without distortion.
  bool preserve_aspect_ratio = false;
  /// Averages over the pixels that fall together where the image shrinks; of no effect on nearest and area.
  bool antialias = false;
};
/// The image with size {height, width}, pixel centres at halves. "nearest" keeps any dtype; the others give floating
/// results, float32 for integers. Errors: ValueError for another method or a size below 1.
///
///     image::resize(images, {32, 32}, {.method = "bicubic", .antialias = true});
CAPSTAN_EXPORT Tensor resize(Operand images, std::array<std::int64_t, 2> size, const ResizeOptions& options = {});
/// The gradient of resize: `g`, in the size of its result, for images of the shape of `like`, of which only the shape
/// is read. Of the options `preserve_aspect_ratio` has no effect, since the size is that of `g`.
///
///     image::resize_adjoint(ones({2, 16, 16, 3}), images);  // float32[2, 8, 8, 3]
CAPSTAN_EXPORT Tensor resize_adjoint(Operand g, Operand like, const ResizeOptions& options = {});
/// Crops or pads with zeros, evenly on both sides, to the given size. Errors: ValueError for a size below 1.
///
///     image::resize_with_crop_or_pad(images, 6, 10);  // float32[2, 6, 10, 3]
CAPSTAN_EXPORT Tensor resize_with_crop_or_pad(Operand image, std::int64_t target_height, std::int64_t target_width);
/// The middle part, central_fraction of each side. Errors: ValueError for a fraction outside (0, 1].
///
///     image::central_crop(images, 0.5);  // float32[2, 4, 4, 3]
CAPSTAN_EXPORT Tensor central_crop(Operand image, double central_fraction);
/// The part of the given size whose upper left corner is at the offset. Errors: ValueError if it is not inside.
///
///     image::crop_to_bounding_box(images, 1, 2, 4, 5);  // float32[2, 4, 5, 3]
CAPSTAN_EXPORT Tensor crop_to_bounding_box(Operand image, std::int64_t offset_height, std::int64_t offset_width,
                                           std::int64_t target_height, std::int64_t target_width);
/// Zeros of the given size with the image at the offset. Errors: ValueError if it does not fit.
///
///     image::pad_to_bounding_box(images, 1, 2, 12, 12);  // float32[2, 12, 12, 3]
CAPSTAN_EXPORT Tensor pad_to_bounding_box(Operand image, std::int64_t offset_height, std::int64_t offset_width,
                                          std::int64_t target_height, std::int64_t target_width);

/// Options of crop_and_resize.
struct CropAndResizeOptions {
  std::string method = "bilinear";  ///< or "nearest"
  double extrapolation_value = 0;   ///< what lies outside the image
};
/// Boxes cut out of a batch of images, each resized to crop_size: [boxes, height, width, channels]. A box [boxes, 4] is
/// {y1, x1, y2, x2} with 0 at the first and 1 at the last row or column; `box_indices` (int32 or int64) says of which
/// image. Has gradients for images and boxes. Errors: ShapeError, IndexError for a box of no image, ValueError.
///
///     Tensor boxes = constant({{0.0, 0.0, 0.5, 0.5}});
///     image::crop_and_resize(images, boxes, constant({1}), {4, 4});  // float32[1, 4, 4, 3]
CAPSTAN_EXPORT Tensor crop_and_resize(Operand images, Operand boxes, Operand box_indices,
                                      std::array<std::int64_t, 2> crop_size, const CropAndResizeOptions& options = {});
/// The patches of sizes {height, width} that begin every `strides` pixels, each as one pixel with the channels of all
/// its pixels, row by row; rates leave gaps between them. Images are [batch, height, width, channels].
/// Errors: ValueError for a number below 1.
///
///     image::extract_patches(images, {3, 3}, {2, 2});  // float32[2, 3, 3, 27]
CAPSTAN_EXPORT Tensor extract_patches(Operand images, std::array<std::int64_t, 2> sizes,
                                      std::array<std::int64_t, 2> strides = {1, 1},
                                      std::array<std::int64_t, 2> rates = {1, 1}, Padding padding = "VALID");

// --- Place ---

/// The image mirrored.
///
///     image::flip_left_right(reshape(range(4), {2, 2, 1}))(slice(), slice(), 0);  // [[1, 0], [3, 2]]
///     image::flip_up_down(reshape(range(4), {2, 2, 1}))(slice(), slice(), 0);  // [[2, 3], [0, 1]]
CAPSTAN_EXPORT Tensor flip_left_right(Operand image);
CAPSTAN_EXPORT Tensor flip_up_down(Operand image);
/// Rows and columns exchanged.
///
///     image::transpose(reshape(range(4), {2, 2, 1}))(slice(), slice(), 0);  // [[0, 2], [1, 3]]
CAPSTAN_EXPORT Tensor transpose(Operand image);
/// k quarter turns, counter-clockwise.
///
///     image::rot90(reshape(range(4), {2, 2, 1}))(slice(), slice(), 0);  // [[1, 3], [0, 2]]
CAPSTAN_EXPORT Tensor rot90(Operand image, int k = 1);

/// Options of affine_transform and rotate.
struct WarpOptions {
  std::string interpolation = "bilinear";  ///< or "nearest"
  /// What lies outside: "constant" (fill_value), "nearest" (the edge), "reflect" (mirrored with the edge), "wrap".
  std::string fill_mode = "constant";
  double fill_value = 0;
};
/// The result's pixel (x, y) is the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with
/// k = c0 x + c1 y + 1, where `transform` is {a0, a1, a2, b0, b1, b2, c0, c1}, [8] or one for each image [batch, 8].
/// Has gradients for the image and, with bilinear interpolation, the transform. Errors: ShapeError, ValueError.
///
///     image::affine_transform(images, constant({1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0}));  // float32[2, 8, 8, 3]
CAPSTAN_EXPORT Tensor affine_transform(Operand images, Operand transform, const WarpOptions& options = {});
/// The gradient of affine_transform for its images: `g`, in the shape of its result, added up where the pixels came
/// from.
///
///     Tensor shift = constant({1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0});
///     image::affine_transform_adjoint(images, shift);  // float32[2, 8, 8, 3]
CAPSTAN_EXPORT Tensor affine_transform_adjoint(Operand g, Operand transform,
                                               std::string_view interpolation = "bilinear",
                                               std::string_view fill_mode = "constant");
/// Turns images around their centre by angles in radians, counter-clockwise: one angle, or one for each image.
///
///     image::rotate(images, 0.5);  // float32[2, 8, 8, 3]
CAPSTAN_EXPORT Tensor rotate(Operand images, Operand angles, const WarpOptions& options = {});

// --- Colour ---

/// Options of convert_image_dtype.
struct ConvertOptions {
  bool saturate = false;
};
/// The image in another dtype, with the largest number of an integer dtype for 1. `saturate` limits numbers to what the
/// dtype can hold.
///
///     image::convert_image_dtype(constant({{{0, 51, 255}}}, uint8), float32);  // [[[0, 0.2, 1]]]
CAPSTAN_EXPORT Tensor convert_image_dtype(Operand image, DType dtype, const ConvertOptions& options = {});
/// 0.2989 red + 0.587 green + 0.114 blue, [..., 1] of [..., 3].
///
///     image::rgb_to_grayscale(constant({{{1.0, 0.0, 0.0}, {1.0, 1.0, 1.0}}}));  // [[[0.2989], [0.9999]]]
CAPSTAN_EXPORT Tensor rgb_to_grayscale(Operand images);
/// Three equal channels of one.
///
///     image::grayscale_to_rgb(zeros({4, 4, 1}));  // float32[4, 4, 3]
CAPSTAN_EXPORT Tensor grayscale_to_rgb(Operand images);
/// Hue, saturation and value, each from 0 to 1, of [..., 3] colours; and back.
///
///     image::rgb_to_hsv(constant({{{0.0, 0.5, 0.0}}}));  // [[[0.3333333, 1, 0.5]]]
///     image::hsv_to_rgb(constant({{{0.0, 1.0, 0.5}}}));  // [[[0.5, 0, 0]]]
CAPSTAN_EXPORT Tensor rgb_to_hsv(Operand images);
CAPSTAN_EXPORT Tensor hsv_to_rgb(Operand images);
/// image + delta.
///
///     image::adjust_brightness(constant({{{0.25, 0.5, 0.75}}}), 0.125);  // [[[0.375, 0.625, 0.875]]]
CAPSTAN_EXPORT Tensor adjust_brightness(Operand image, double delta);
/// Each channel's distance from its mean over the image, times the factor.
///
///     image::adjust_contrast(constant({{{0.0}, {1.0}}}), 0.5);  // [[[0.25], [0.75]]]
CAPSTAN_EXPORT Tensor adjust_contrast(Operand images, double contrast_factor);
/// gain * image^gamma. Errors: ValueError for a negative gamma.
///
///     image::adjust_gamma(constant({{{0.25, 0.5, 1.0}}}), 2.0);  // [[[0.0625, 0.25, 1]]]
CAPSTAN_EXPORT Tensor adjust_gamma(Operand image, double gamma = 1, double gain = 1);
/// Turns the hue by delta, from -1 to 1, a whole turn. Errors: ValueError for another delta.
///
///     image::adjust_hue(constant({{{1.0, 0.0, 0.0}}}), 0.5);  // [[[0, 1, 1]]]
CAPSTAN_EXPORT Tensor adjust_hue(Operand image, double delta);
/// Multiplies the saturation.
///
///     image::adjust_saturation(constant({{{1.0, 0.5, 0.5}}}), 0.5);  // [[[1, 0.75, 0.75]]]
CAPSTAN_EXPORT Tensor adjust_saturation(Operand image, double saturation_factor);
/// Each image with mean 0 and deviation 1; the deviation counts as at least 1 / sqrt(elements). Floating result.
///
///     image::per_image_standardization(constant({{{1.0}, {3.0}}}));  // [[[-1], [1]]]
CAPSTAN_EXPORT Tensor per_image_standardization(Operand image);

// --- Measures ---

/// What image_gradients returns: the difference to the next row and column, 0 in the last.
struct ImageGradients {
  Tensor dy;
  Tensor dx;
};
/// Differences between neighbours of images [batch, height, width, channels].
///
///     image::image_gradients(images).dx;  // float32[2, 8, 8, 3]
CAPSTAN_EXPORT ImageGradients image_gradients(Operand images);
/// Sobel's derivatives, edges mirrored: [batch, height, width, channels, {dy, dx}].
///
///     image::sobel_edges(images);  // float32[2, 8, 8, 3, 2]
CAPSTAN_EXPORT Tensor sobel_edges(Operand images);
/// The sum of absolute differences between neighbours, one for each image.
///
///     image::total_variation(constant({{{1.0}, {3.0}, {2.0}}}));  // 3
CAPSTAN_EXPORT Tensor total_variation(Operand images);
/// The peak signal-to-noise ratio in decibels, one for each image; max_val is the largest number that pixels can have.
///
///     image::psnr(zeros({8, 8, 3}), fill({8, 8, 3}, 0.1), 1.0);  // 20
CAPSTAN_EXPORT Tensor psnr(Operand a, Operand b, double max_val);

/// Options of ssim.
struct SsimOptions {
  std::int64_t filter_size = 11;  ///< of the Gaussian window
  double filter_sigma = 1.5;
  double k1 = 0.01;
  double k2 = 0.03;
};
/// The structural similarity, one for each image, 1 for equal ones. Errors: ShapeError for images smaller than the
/// window or of different shapes.
///
///     image::ssim(ones({16, 16, 3}), ones({16, 16, 3}), 1.0);  // 1
CAPSTAN_EXPORT Tensor ssim(Operand a, Operand b, double max_val, const SsimOptions& options = {});

}  // namespace capstan::image
