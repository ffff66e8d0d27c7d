#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "capstan/ops/conv.h"
#include "capstan/seed.h"
#include "capstan/tensor.h"

namespace capstan {

// Pooling of images [batch, height, width, channels], of signals [batch, width, channels] and of volumes [batch, depth,
// height, width, channels], channel by channel.

/// The largest element of each window of each channel; padding never wins. Errors: as conv2d.
///
///     max_pool2d(x, {2, 2}, {2, 2}, "VALID");  // float32[1, 7, 7, 2]
CAPSTAN_EXPORT Tensor max_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                                 Padding padding);
/// The mean of each window of each channel; padding is not counted.
///
///     avg_pool2d(x, {3, 3}, {2, 2}, "SAME");  // float32[1, 7, 7, 2]
CAPSTAN_EXPORT Tensor avg_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                                 Padding padding);
/// `g`, a gradient for the result of max_pool2d, at the places of the maxima of x; zero elsewhere.
///
///     max_pool2d_scatter(x, ones({1, 7, 7, 2}), {2, 2}, {2, 2}, "VALID");  // float32[1, 14, 14, 2]
CAPSTAN_EXPORT Tensor max_pool2d_scatter(Operand x, Operand g, std::array<std::int64_t, 2> ksize,
                                         std::array<std::int64_t, 2> strides, Padding padding);
/// The elements of `from`, an image like x, at the places of the maxima of x.
///
///     max_pool2d_gather(x, ones({1, 14, 14, 2}), {2, 2}, {2, 2}, "VALID");  // float32[1, 7, 7, 2]
CAPSTAN_EXPORT Tensor max_pool2d_gather(Operand x, Operand from, std::array<std::int64_t, 2> ksize,
                                        std::array<std::int64_t, 2> strides, Padding padding);
/// The gradient of avg_pool2d for its input, which has the shape of `like`; only that shape is
/// read.
///
///     avg_pool2d_scatter(x, ones({1, 7, 7, 2}), {2, 2}, {2, 2}, "VALID");  // float32[1, 14, 14, 2]
CAPSTAN_EXPORT Tensor avg_pool2d_scatter(Operand like, Operand g, std::array<std::int64_t, 2> ksize,
                                         std::array<std::int64_t, 2> strides, Padding padding);

/// The same for signals [batch, width, channels]. Errors: as conv2d.
///
///     max_pool1d(reshape(constant({1.0, 3.0, 2.0, 0.0}), {1, 4, 1}), 2, 2, "VALID");  // [[[3], [2]]]
///     avg_pool1d(reshape(constant({1.0, 3.0, 2.0, 0.0}), {1, 4, 1}), 2, 2, "VALID");  // [[[2], [1]]]
CAPSTAN_EXPORT Tensor max_pool1d(Operand x, std::int64_t ksize, std::int64_t strides, Padding padding);
CAPSTAN_EXPORT Tensor avg_pool1d(Operand x, std::int64_t ksize, std::int64_t strides, Padding padding);
/// The same for volumes [batch, depth, height, width, channels]; the padding is "VALID" or "SAME". Errors: as conv2d.
///
///     max_pool3d(zeros({1, 4, 4, 4, 2}), {2, 2, 2}, {2, 2, 2}, "VALID");  // float32[1, 2, 2, 2, 2]
///     avg_pool3d(zeros({1, 4, 4, 4, 2}), {2, 2, 2}, {2, 2, 2}, "VALID");  // float32[1, 2, 2, 2, 2]
CAPSTAN_EXPORT Tensor max_pool3d(Operand x, std::array<std::int64_t, 3> ksize, std::array<std::int64_t, 3> strides,
                                 Padding padding);
CAPSTAN_EXPORT Tensor avg_pool3d(Operand x, std::array<std::int64_t, 3> ksize, std::array<std::int64_t, 3> strides,
                                 Padding padding);

/// Pooling of images with one to three axes, as many as the window has. The pooling type is "MAX" or "AVG"; the
/// elements of a window lie `dilations` apart; strides and dilations are ones unless given, and not both may exceed
/// one. With dilations the zeros of "SAME" padding take part. Errors: ShapeError, DTypeError for integers, ValueError.
///
///     Tensor y = pool(x, {{2, 2}}, "MAX", {}, "VALID", {{3, 3}});
CAPSTAN_EXPORT Tensor pool(Operand x, std::span<const std::int64_t> window_shape, std::string_view pooling_type,
                           std::span<const std::int64_t> strides = {}, Padding padding = "VALID",
                           std::span<const std::int64_t> dilations = {});
inline Tensor pool(Operand x, std::initializer_list<std::int64_t> window_shape, std::string_view pooling_type,
                   std::initializer_list<std::int64_t> strides = {}, Padding padding = "VALID",
                   std::initializer_list<std::int64_t> dilations = {}) {
  return pool(x, std::span(window_shape.begin(), window_shape.size()), pooling_type,
              std::span(strides.begin(), strides.size()), std::move(padding),
              std::span(dilations.begin(), dilations.size()));
}

/// What max_pool_with_argmax returns.
struct MaxPoolWithArgmax {
  Tensor output;
  Tensor argmax;  ///< int64, of the shape of output
};
/// Options of the places of maxima.
struct ArgmaxOptions {
  bool include_batch_in_index = false;
};
/// max_pool2d, and where the maxima lie: (row * width + column) * channels + channel, plus the place of the image in
/// the batch if include_batch_in_index. Of equal elements the first counts. Errors: as max_pool2d.
///
///     Tensor image = reshape(constant({1.0, 3.0, 2.0, 0.0}), {1, 2, 2, 1});
///     max_pool_with_argmax(image, {2, 2}, {2, 2}, "VALID").argmax;  // [[[[1]]]]
CAPSTAN_EXPORT MaxPoolWithArgmax max_pool_with_argmax(Operand x, std::array<std::int64_t, 2> ksize,
                                                      std::array<std::int64_t, 2> strides, Padding padding,
                                                      const ArgmaxOptions& options = {});
/// The places alone; -1 for a window without elements.
///
///     Tensor image = reshape(constant({1.0, 3.0, 2.0, 0.0}), {1, 2, 2, 1});
///     max_pool2d_places(image, {2, 2}, {2, 2}, "VALID");  // [[[[1]]]]
CAPSTAN_EXPORT Tensor max_pool2d_places(Operand x, std::array<std::int64_t, 2> ksize,
                                        std::array<std::int64_t, 2> strides, Padding padding,
                                        const ArgmaxOptions& options = {});

/// What fractional pooling returns.
struct FractionalPool {
  Tensor output;
  Tensor row_pooling_sequence;  ///< int64[rows + 1]: where the regions of rows begin, and the height
  Tensor col_pooling_sequence;  ///< int64[columns + 1]
};
/// Options of fractional pooling.
struct FractionalPoolOptions {
  bool pseudo_random = false;
  bool overlapping = false;
  Seed seed;
};
/// Maximum pooling (Graham, "Fractional max-pooling") whose result is 1 / pooling_ratio as high and wide, rounded down:
/// rows and columns are cut into regions of two neighbouring lengths in a random order, or a pseudo-random one. With
/// `overlapping`, regions share their edges. The draw is a function of the seed; without one that is the next key of
/// the process's stream. Errors: ShapeError, DTypeError for integers, ValueError for a ratio below 1 or above the
/// image.
///
///     fractional_max_pool(x, {1.4, 1.4}).output;  // float32[1, 10, 10, 2]
CAPSTAN_EXPORT FractionalPool fractional_max_pool(Operand value, std::array<double, 2> pooling_ratio,
                                                  const FractionalPoolOptions& options = {});
/// The same with the means of the regions.
///
///     fractional_avg_pool(x, {1.4, 1.4}).output;  // float32[1, 10, 10, 2]
CAPSTAN_EXPORT FractionalPool fractional_avg_pool(Operand value, std::array<double, 2> pooling_ratio,
                                                  const FractionalPoolOptions& options = {});

/// The largest element, or the mean, of each of `output_size` regions per axis, which cover an image of any size:
/// region i of n spans [floor(i * length / n), ceil((i + 1) * length / n)). Images with one to three axes. Errors:
/// ShapeError, DTypeError for integers, ValueError for a size below 1.
///
///     Tensor y = adaptive_average_pool(x, {7, 7});  // [batch, height, width, channels] -> [batch, 7, 7, channels]
///     adaptive_max_pool(x, {5, 5});  // float32[1, 5, 5, 2]
CAPSTAN_EXPORT Tensor adaptive_max_pool(Operand x, std::span<const std::int64_t> output_size);
CAPSTAN_EXPORT Tensor adaptive_average_pool(Operand x, std::span<const std::int64_t> output_size);
inline Tensor adaptive_max_pool(Operand x, std::initializer_list<std::int64_t> output_size) {
  return adaptive_max_pool(x, std::span(output_size.begin(), output_size.size()));
}
inline Tensor adaptive_average_pool(Operand x, std::initializer_list<std::int64_t> output_size) {
  return adaptive_average_pool(x, std::span(output_size.begin(), output_size.size()));
}

}  // namespace capstan
