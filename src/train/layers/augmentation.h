// What layers of images share: the form in which images come, what is drawn for them, and cuts of a given aspect ratio.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/noise.h"
#include "src/train/layers/spatial.h"

namespace capstan::detail {

inline constexpr std::string_view kFillModes[] = {"reflect", "constant", "nearest", "wrap"};
inline constexpr std::string_view kWarpInterpolations[] = {"bilinear", "nearest"};

// Throws unless x is one image or a batch of them with pixels that are real numbers.
void check_images(const std::string& layer, const Tensor& x, const std::string& data_format);

// f(images), with [batch, height, width, channels] whatever the form of x, whose form the result has.
template <class F>
Tensor with_images(const std::string& layer, const Tensor& x, const std::string& data_format, const F& f) {
  check_images(layer, x, data_format);
  const bool is_single = x.rank() == 3, is_first = data_format == "channels_first";
  const Tensor batch = is_single ? expand_dims(x, 0) : x;
  const Tensor y = f(is_first ? to_channels_last(batch) : batch);
  const Tensor back = is_first ? to_channels_first(y) : y;
  return is_single ? squeeze(back, {0}) : back;
}

// The images as floating numbers.
inline Tensor as_floating(const Tensor& x, DType dtype) { return is_floating(x.dtype()) ? x : cast(x, dtype); }

// A number for each image, [batch], evenly distributed from `lower` to `upper`.
Tensor drawn_for_each(const Tensor& images, double lower, double upper, const NoiseKeys& keys, DType dtype);

// The middle of images [batch, height, width, channels], in this size.
Tensor middle(const Tensor& images, std::int64_t height, std::int64_t width);
// The largest middle with the aspect ratio of this size.
Tensor middle_like(const Tensor& images, std::int64_t height, std::int64_t width);
// The same resized to it, with bilinear interpolation.
Tensor resized_middle(const Tensor& images, std::int64_t height, std::int64_t width);

}  // namespace capstan::detail
