// Maximum and average pooling over windows.
#include "capstan/layers.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr char kPoolingNames[][3][17] = {{"AveragePooling1D", "AveragePooling2D", "AveragePooling3D"},
                                         {"MaxPooling1D", "MaxPooling2D", "MaxPooling3D"}};

template <std::size_t N>
struct PoolConfig : PoolingOptions<N> {
  SizeOf<N> pool_size = 2;
  static std::span<const OptionField> fields() {
    using O = PoolConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::pool_size, O>("pool_size").at_least(1), detail::padding_option<O>(),
                               option<&O::strides, O>("strides").at_least(1), detail::data_format_option<O>()});
    return all;
  }
};

template <std::size_t N>
PoolConfig<N> with_strides(PoolConfig<N> config) {
  if (!config.strides) config.strides = config.pool_size;
  return config;
}

template <std::size_t N, bool IsMax>
class PoolBody final : public ConfiguredLayer<PoolBody<N, IsMax>, PoolConfig<N>> {
 public:
  static constexpr const char* kName = kPoolingNames[IsMax][N - 1];
  static constexpr const char* kText = IsMax ? "The largest element of each window." : "The mean of each window.";
  explicit PoolBody(const PoolConfig<N>& given)
      : ConfiguredLayer<PoolBody<N, IsMax>, PoolConfig<N>>(with_strides(given)),
        is_first_(this->options.data_format == "channels_first"),
        padding_(this->options.padding == "same" ? "SAME" : "VALID") {}

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(this->name(), x.shape(), N);
    if (padding_.kind == Padding::Kind::kValid) {
      detail::check_window(this->name(), x.shape(), is_first_, this->options.pool_size.lengths, {});
    }
    const Tensor y = pooled(is_first_ ? detail::to_channels_last(x) : x);
    return is_first_ ? detail::to_channels_first(y) : y;
  }

 private:
  Tensor pooled(const Tensor& x) const {
    const auto& size = this->options.pool_size.lengths;
    const auto& strides = this->options.strides->lengths;
    if constexpr (N == 1) {
      return (IsMax ? max_pool1d : avg_pool1d)(x, size[0], strides[0], padding_);
    } else if constexpr (N == 2) {
      return (IsMax ? max_pool2d : avg_pool2d)(x, size, strides, padding_);
    } else {
      return (IsMax ? max_pool3d : avg_pool3d)(x, size, strides, padding_);
    }
  }

  bool is_first_;
  Padding padding_;
};

template <std::size_t N, bool IsMax>
std::shared_ptr<LayerBase> make(SizeOf<N> pool_size, const PoolingOptions<N>& options) {
  return make_configurable<PoolBody<N, IsMax>>(PoolConfig<N>{options, pool_size});
}

}  // namespace

MaxPooling1D::MaxPooling1D(Size1D pool_size, const Pooling1DOptions& options)
    : Layer(make<1, true>(pool_size, options)) {}
MaxPooling2D::MaxPooling2D(Size2D pool_size, const Pooling2DOptions& options)
    : Layer(make<2, true>(pool_size, options)) {}
MaxPooling3D::MaxPooling3D(Size3D pool_size, const Pooling3DOptions& options)
    : Layer(make<3, true>(pool_size, options)) {}
AveragePooling1D::AveragePooling1D(Size1D pool_size, const Pooling1DOptions& options)
    : Layer(make<1, false>(pool_size, options)) {}
AveragePooling2D::AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options)
    : Layer(make<2, false>(pool_size, options)) {}
AveragePooling3D::AveragePooling3D(Size3D pool_size, const Pooling3DOptions& options)
    : Layer(make<3, false>(pool_size, options)) {}

}  // namespace capstan::layers

namespace capstan {
const ClassInfo& detail::max_pooling1d_class() { return layers::PoolBody<1, true>::info(); }
const ClassInfo& detail::max_pooling2d_class() { return layers::PoolBody<2, true>::info(); }
const ClassInfo& detail::max_pooling3d_class() { return layers::PoolBody<3, true>::info(); }
const ClassInfo& detail::average_pooling1d_class() { return layers::PoolBody<1, false>::info(); }
const ClassInfo& detail::average_pooling2d_class() { return layers::PoolBody<2, false>::info(); }
const ClassInfo& detail::average_pooling3d_class() { return layers::PoolBody<3, false>::info(); }
}  // namespace capstan
