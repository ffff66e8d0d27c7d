// Measures of images: differences between neighbours, and of one image from another.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/image/image.h"

namespace capstan {

namespace {

constexpr Slice kAll = {};

// The difference between the last and the first n - 1 rows or columns (counted from the end: -3 and -2).
Tensor steps_along(const Tensor& x, int axis) {
  const Slice later = {1, Slice::kEdge};
  const Slice earlier = {0, std::max<std::int64_t>(x.dim(axis) - 1, 0)};
  return axis == -3 ? pixels_of(x, later, kAll) - pixels_of(x, earlier, kAll)
                    : pixels_of(x, kAll, later) - pixels_of(x, kAll, earlier);
}

// Two images to compare, as floating ones whose largest number is `max_val`.
struct Pair {
  Tensor a;
  Tensor b;
  double max_val;
};
Pair pair_of(std::string_view op, Operand a, Operand b, double max_val) {
  Pair pair{to_tensor(a), to_tensor(b), max_val};
  check_image(op, pair.a);
  CAPSTAN_CHECK(pair.a.shape() == pair.b.shape(), ShapeError, op, ": shapes differ, ", pair.a.shape(), " and ",
                pair.b.shape(), arguments({{"a", pair.a}, {"b", pair.b}}));
  CAPSTAN_CHECK(pair.a.dtype() == pair.b.dtype(), DTypeError, op, ": dtypes differ, ", pair.a.dtype(), " and ",
                pair.b.dtype(), arguments({{"a", pair.a}, {"b", pair.b}}));
  check_real(op, pair.a);
  CAPSTAN_CHECK(max_val > 0, ValueError, op, ": max_val is ", max_val, ", not above 0");
  if (!is_floating(pair.a.dtype())) {
    const DType dtype = pair.a.dtype();
    pair.max_val = image::convert_image_dtype(scalar(max_val, dtype), DType::kFloat64).item<double>();
    pair.a = image::convert_image_dtype(pair.a, DType::kFloat32);
    pair.b = image::convert_image_dtype(pair.b, DType::kFloat32);
  }
  return pair;
}

// Weights of a Gaussian window that add up to 1.
std::vector<double> window_of(std::int64_t size, double sigma) {
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double x = static_cast<double>(i) - static_cast<double>(size - 1) / 2;
    weights.push_back(std::exp(-x * x / (2 * sigma * sigma)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

// --- The ops ---

constinit const OpDef kImageImageGradients = composite<&image::image_gradients, "images">(
    "image_image_gradients", "The differences to the next row and to the next column.");
constinit const OpDef kImageSobelEdges =
    composite<&image::sobel_edges, "images">("image_sobel_edges", "Sobel's derivatives along columns and rows.");
constinit const OpDef kImageTotalVariation = composite<&image::total_variation, "images">(
    "image_total_variation", "The sum of absolute differences between neighbouring pixels.");
constinit const OpDef kImagePsnr =
    composite<&image::psnr, "a, b, max_val">("image_psnr", "The peak signal-to-noise ratio of two images in decibels.");
constinit const OpDef kImageSsim = composite<&image::ssim, "a, b, max_val, filter_size, filter_sigma, k1, k2">(
    "image_ssim", "The structural similarity of two images.");

image::ImageGradients image::image_gradients(Operand images) try {
  const Tensor value = to_tensor(images);
  check_images("image_image_gradients", value);
  const PadWidth last = {0, 1};
  const Tensor dy = value.dim(1) == 0 ? value : pad(steps_along(value, -3), {{}, last, {}, {}});
  const Tensor dx = value.dim(2) == 0 ? value : pad(steps_along(value, -2), {{}, {}, last, {}});
  return {dy, dx};
} catch (const Error&) {
  rethrow_as("image::image_gradients");
}

Tensor image::sobel_edges(Operand images) try {
  const Tensor value = to_tensor(images);
  check_images("image_sobel_edges", value);
  CAPSTAN_CHECK(value.dim(1) > 1 && value.dim(2) > 1, ShapeError,
                "image_sobel_edges: an image must have 2 x 2 pixels to be mirrored, not ", value.dim(1), " x ",
                value.dim(2), arguments({{"images", value}}));
  const Tensor padded = pad(value, {{}, {1, 1}, {1, 1}, {}}, PadMode::kReflect);
  // Smoothed across, then the difference of the rows (columns) on both sides.
  const auto three = [](const Tensor& x, int axis, double middle, double ends) {
    const std::int64_t n = x.dim(axis);
    const auto part = [&](std::int64_t begin) {
      const Slice slice = {begin, begin + n - 2};
      return axis == 1 ? pixels_of(x, slice, kAll) : pixels_of(x, kAll, slice);
    };
    return middle == 0 ? part(2) - part(0) : (part(0) + part(2)) * ends + part(1) * middle;
  };
  const Tensor dy = three(three(padded, 2, 2, 1), 1, 0, 1);
  const Tensor dx = three(three(padded, 1, 2, 1), 2, 0, 1);
  return stack({dy, dx}, -1);
} catch (const Error&) {
  rethrow_as("image::sobel_edges");
}

Tensor image::total_variation(Operand images) try {
  const Tensor value = to_tensor(images);
  check_image("image_total_variation", value);
  check_real("image_total_variation", value);
  const Axes pixels = {-3, -2, -1};
  return reduce_sum(abs(steps_along(value, -3)), pixels) + reduce_sum(abs(steps_along(value, -2)), pixels);
} catch (const Error&) {
  rethrow_as("image::total_variation");
}

Tensor image::psnr(Operand a, Operand b, double max_val) try {
  const Pair pair = pair_of("image_psnr", a, b, max_val);
  const Tensor error = reduce_mean(squared_difference(pair.a, pair.b), {-3, -2, -1});
  return 20 * std::log10(pair.max_val) - log(error) * (10 / std::log(10.0));
} catch (const Error&) {
  rethrow_as("image::psnr");
}

Tensor image::ssim(Operand a, Operand b, double max_val, const SsimOptions& options) try {
  const Pair pair = pair_of("image_ssim", a, b, max_val);
  const std::int64_t size = options.filter_size;
  CAPSTAN_CHECK(size > 0 && size <= 65535, ValueError, "image_ssim: filter_size is ", size, ", not from 1 to 65535");
  CAPSTAN_CHECK(options.filter_sigma > 0, ValueError, "image_ssim: filter_sigma is ", options.filter_sigma,
                ", not above 0");
  const std::int64_t rows = pair.a.dim(-3);
  const std::int64_t columns = pair.a.dim(-2);
  const std::int64_t channels = pair.a.dim(-1);
  CAPSTAN_CHECK(rows >= size && columns >= size, ShapeError, "image_ssim: ", rows, " x ", columns,
                " pixels are less than the window of ", size, arguments({{"a", pair.a}, {"b", pair.b}}));
  const Tensor window = cast(constant(window_of(size, options.filter_sigma)), pair.a.dtype());
  const Tensor down = reshape(window, {size, 1, 1, 1});
  const Tensor across = reshape(window, {1, size, 1, 1});
  const std::int64_t images = pair.a.rank() == 4 ? pair.a.dim(0) : 1;
  // Every channel as an image of its own, filtered down and across.
  const auto filtered = [&](const Tensor& x) {
    const Tensor moved = capstan::transpose(reshape(x, {images, rows, columns, channels}), {0, 3, 1, 2});
    return conv2d(conv2d(reshape(moved, {images * channels, rows, columns, 1}), down), across);
  };
  const double c1 = options.k1 * options.k1 * pair.max_val * pair.max_val;
  const double c2 = options.k2 * options.k2 * pair.max_val * pair.max_val;
  const Tensor mean_a = filtered(pair.a);
  const Tensor mean_b = filtered(pair.b);
  const Tensor products = 2 * mean_a * mean_b;
  const Tensor squares = square(mean_a) + square(mean_b);
  const Tensor luminance = (products + c1) / (squares + c1);
  const Tensor covariance = 2 * filtered(pair.a * pair.b) - products;
  const Tensor variances = filtered(square(pair.a) + square(pair.b)) - squares;
  const Tensor similarity = luminance * ((covariance + c2) / (variances + c2));
  const Tensor by_image =
      reduce_mean(reshape(similarity, {images, similarity.size() / std::max<std::int64_t>(images, 1)}), 1);
  return pair.a.rank() == 4 ? by_image : reshape(by_image, {});
} catch (const Error&) {
  rethrow_as("image::ssim");
}

CAPSTAN_OPS(image_measure, &kImageImageGradients, &kImageSobelEdges, &kImageTotalVariation, &kImagePsnr, &kImageSsim);

}  // namespace capstan
