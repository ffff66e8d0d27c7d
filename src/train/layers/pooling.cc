// The pooling layers.
#include <algorithm>
#include <array>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

using Pool = Tensor (*)(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                        Padding padding);

class PoolingBody final : public LayerBody {
 public:
  PoolingBody(const char* type_name, const char* layer, Pool pool, Size2D pool_size, const Pooling2DOptions& options)
      : LayerBody(type_name, detail::common_options(options)),
        pool_(pool),
        pool_size_(pool_size),
        strides_(options.strides.value_or(pool_size)),
        same_(options.padding == "same") {
    detail::check_positive(layer, "pool_size", std::min(pool_size.height, pool_size.width));
    detail::check_positive(layer, "strides", std::min(strides_.height, strides_.width));
    detail::check_padding(layer, options.padding);
    channels_first_ = detail::is_channels_first(layer, options.data_format);
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_image(name(), x.shape());
    const Tensor images = channels_first_ ? transpose(x, {0, 2, 3, 1}) : x;
    CAPSTAN_CHECK(same_ || (images.dim(1) >= pool_size_.height && images.dim(2) >= pool_size_.width), ShapeError,
                  name(), ": a window of ", pool_size_.height, " x ", pool_size_.width, " does not fit into ",
                  x.shape());
    const Tensor y = pool_(images, {pool_size_.height, pool_size_.width}, {strides_.height, strides_.width},
                           same_ ? "SAME" : "VALID");
    return channels_first_ ? transpose(y, {0, 3, 1, 2}) : y;
  }

 private:
  Pool pool_;
  Size2D pool_size_;
  Size2D strides_;
  bool same_;
  bool channels_first_ = false;
};

}  // namespace

MaxPooling2D::MaxPooling2D(Size2D pool_size, const Pooling2DOptions& options)
    : Layer(std::make_shared<PoolingBody>("MaxPooling2D", "max_pooling2d", max_pool2d, pool_size, options)) {}

AveragePooling2D::AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options)
    : Layer(std::make_shared<PoolingBody>("AveragePooling2D", "average_pooling2d", avg_pool2d, pool_size, options)) {}

}  // namespace capstan::layers
