#include "src/train/layers/spatial.h"

#include <algorithm>

#include "capstan/ops/array.h"

namespace capstan::detail {

void check_spatial(const std::string& layer, const Shape& shape, std::size_t rank) {
  CAPSTAN_CHECK(shape.rank() == static_cast<int>(rank) + 2, ShapeError, layer, ": the input must have rank ", rank + 2,
                ", not ", shape.rank(), ": ", shape);
}

void check_window(const std::string& layer, const Shape& shape, bool channels_first, Lengths window,
                  Lengths dilations) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t length = shape[static_cast<int>(i) + (channels_first ? 2 : 1)];
    const std::int64_t dilation = dilations.empty() ? 1 : dilations[i];
    const bool fits = length < 0 || (window[i] <= length && (window[i] - 1) <= (length - 1) / dilation);
    CAPSTAN_CHECK(fits, ShapeError, layer, ": a window of ", Shape(window),
                  dilation > 1 ? join(" with dilation ", dilation) : std::string(), " does not fit into ", shape,
                  help("padding = \"same\" allows it"));
  }
}

void check_strides(std::string_view layer, Lengths strides, Lengths dilations) {
  CAPSTAN_CHECK(std::ranges::max(strides) == 1 || std::ranges::max(dilations) == 1, ValueError, layer,
                ": strides above 1 and dilations above 1 exclude each other: strides are ", Shape(strides),
                ", dilation_rate is ", Shape(dilations));
}

Tensor to_channels_last(const Tensor& x) {
  switch (x.rank()) {
    case 3:
      return transpose(x, {0, 2, 1});
    case 4:
      return transpose(x, {0, 2, 3, 1});
    default:
      return transpose(x, {0, 2, 3, 4, 1});
  }
}

Tensor to_channels_first(const Tensor& x) {
  switch (x.rank()) {
    case 3:
      return transpose(x, {0, 2, 1});
    case 4:
      return transpose(x, {0, 3, 1, 2});
    default:
      return transpose(x, {0, 4, 1, 2, 3});
  }
}

Shape kernel_shape(Lengths lengths, std::int64_t in, std::int64_t out) {
  Shape shape(lengths);
  shape.push_back(in);
  shape.push_back(out);
  return shape;
}

}  // namespace capstan::detail
