// The pooling layers.
#include <algorithm>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

void check(const char* layer, Size2D pool_size, const Pooling2DOptions& options) {
  const Size2D strides = options.strides.value_or(pool_size);
  detail::check_positive(layer, "pool_size", std::min(pool_size.height, pool_size.width));
  detail::check_positive(layer, "strides", std::min(strides.height, strides.width));
  detail::check_padding(layer, options.padding);
  detail::is_channels_first(layer, options.data_format);
}

using Pool = Tensor (*)(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                        Padding padding);

Tensor pool(Pool function, const std::string& name, const Tensor& x, Size2D pool_size,
            const Pooling2DOptions& options) {
  detail::check_image(name, x.shape());
  const Size2D strides = options.strides.value_or(pool_size);
  const bool first = options.data_format == "channels_first";
  const Tensor images = first ? transpose(x, {0, 2, 3, 1}) : x;
  CAPSTAN_CHECK(options.padding == "same" || (images.dim(1) >= pool_size.height && images.dim(2) >= pool_size.width),
                ShapeError, name, ": a window of ", pool_size.height, " x ", pool_size.width, " does not fit into ",
                x.shape());
  const Tensor y = function(images, {pool_size.height, pool_size.width}, {strides.height, strides.width},
                            options.padding == "same" ? "SAME" : "VALID");
  return first ? transpose(y, {0, 3, 1, 2}) : y;
}

}  // namespace

MaxPooling2D::MaxPooling2D(Size2D pool_size, const Pooling2DOptions& options)
    : Layer("max_pooling2d", detail::common_options(options)),
      pool_size_(pool_size),
      options_(std::make_shared<const Pooling2DOptions>(options)) {
  check("max_pooling2d", pool_size, options);
  keep_class(std::make_shared<MaxPooling2D>(*this));
}

Tensor MaxPooling2D::call(const Tensor& x, const CallOptions&) {
  return pool(max_pool2d, name(), x, pool_size_, *options_);
}

AveragePooling2D::AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options)
    : Layer("average_pooling2d", detail::common_options(options)),
      pool_size_(pool_size),
      options_(std::make_shared<const Pooling2DOptions>(options)) {
  check("average_pooling2d", pool_size, options);
  keep_class(std::make_shared<AveragePooling2D>(*this));
}

Tensor AveragePooling2D::call(const Tensor& x, const CallOptions&) {
  return pool(avg_pool2d, name(), x, pool_size_, *options_);
}

}  // namespace capstan::layers
