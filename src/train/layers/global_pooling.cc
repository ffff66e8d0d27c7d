// Pooling over all of an image, and over a given number of regions.
#include <array>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr char kGlobalNames[][3][24] = {{"GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D"},
                                        {"GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"}};
constexpr char kAdaptiveNames[][3][25] = {
    {"AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D"},
    {"AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D"}};

struct GlobalConfig : GlobalPoolingOptions {
  static std::span<const OptionField> fields() {
    using O = GlobalConfig;
    static constexpr auto all =
        with_layer_options<O>({detail::data_format_option<O>(), option<&O::keepdims, O>("keepdims")});
    return all;
  }
};

// The mean of the steps that count: of none of them 0 / 0, as Keras has it.
Tensor masked_mean(const Tensor& x, const Tensor& mask, int steps, bool keepdims) {
  const Tensor counts = expand_dims(cast(mask, x.dtype()), steps == 1 ? -1 : 1);
  return reduce_sum(x * counts, {steps}, {.keepdims = keepdims}) / reduce_sum(counts, {steps}, {.keepdims = keepdims});
}

template <std::size_t N, bool IsMax>
class GlobalBody final : public ConfiguredLayer<GlobalBody<N, IsMax>, GlobalConfig> {
 public:
  static constexpr const char* kName = kGlobalNames[IsMax][N - 1];
  static constexpr const char* kText = IsMax ? "The largest element of each channel." : "The mean of each channel.";
  explicit GlobalBody(const GlobalConfig& given)
      : ConfiguredLayer<GlobalBody<N, IsMax>, GlobalConfig>(given),
        first_axis_(this->options.data_format == "channels_first" ? 2 : 1) {
    if (!IsMax) this->converts_integers();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& given) override {
    detail::check_spatial(this->name(), x.shape(), N);
    const bool keepdims = this->options.keepdims;
    if constexpr (N == 1 && !IsMax) {
      const Tensor& mask = given.mask.tensor_or_empty();
      if (mask.has_value()) {
        CAPSTAN_CHECK(mask.rank() == 2 && mask.dim(1) == x.dim(first_axis_), ShapeError, this->name(),
                      ": the mask must have the shape [batch, ", x.dim(first_axis_), "], not ", mask.shape());
        return masked_mean(x, mask, first_axis_, keepdims);
      }
    }
    std::array<int, N> axes;
    for (std::size_t i = 0; i < N; ++i) axes[i] = first_axis_ + static_cast<int>(i);
    return (IsMax ? reduce_max_of : reduce_mean_of)(x, axes, keepdims);
  }

 private:
  static Tensor reduce_max_of(const Tensor& x, const std::array<int, N>& axes, bool keepdims) {
    return reduce_max(x, axes, {.keepdims = keepdims});
  }
  static Tensor reduce_mean_of(const Tensor& x, const std::array<int, N>& axes, bool keepdims) {
    return reduce_mean(x, axes, {.keepdims = keepdims});
  }

  int first_axis_;
};

template <std::size_t N>
struct AdaptiveConfig : AdaptivePoolingOptions {
  SizeOf<N> output_size = 1;
  static std::span<const OptionField> fields() {
    using O = AdaptiveConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::output_size, O>("output_size", true).at_least(1), detail::data_format_option<O>()});
    return all;
  }
};

template <std::size_t N, bool IsMax>
class AdaptiveBody final : public ConfiguredLayer<AdaptiveBody<N, IsMax>, AdaptiveConfig<N>> {
 public:
  using ConfiguredLayer<AdaptiveBody<N, IsMax>, AdaptiveConfig<N>>::ConfiguredLayer;
  static constexpr const char* kName = kAdaptiveNames[IsMax][N - 1];
  static constexpr const char* kText = IsMax ? "The largest element of each region." : "The mean of each region.";

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(this->name(), x.shape(), N);
    const bool is_first = this->options.data_format == "channels_first";
    const std::span<const std::int64_t> size = this->options.output_size.lengths;
    const Tensor image = is_first ? detail::to_channels_last(x) : x;
    const Tensor y = IsMax ? adaptive_max_pool(image, size) : adaptive_average_pool(image, size);
    return is_first ? detail::to_channels_first(y) : y;
  }
};

template <std::size_t N, bool IsMax>
std::shared_ptr<LayerBase> make_global(const GlobalPoolingOptions& options) {
  return make_configurable<GlobalBody<N, IsMax>>(GlobalConfig{options});
}
template <std::size_t N, bool IsMax>
std::shared_ptr<LayerBase> make_adaptive(SizeOf<N> output_size, const AdaptivePoolingOptions& options) {
  return make_configurable<AdaptiveBody<N, IsMax>>(AdaptiveConfig<N>{options, output_size});
}

}  // namespace

GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalPoolingOptions& options) : Layer(make_global<1, true>(options)) {}
GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPoolingOptions& options) : Layer(make_global<2, true>(options)) {}
GlobalMaxPooling3D::GlobalMaxPooling3D(const GlobalPoolingOptions& options) : Layer(make_global<3, true>(options)) {}
GlobalAveragePooling1D::GlobalAveragePooling1D(const GlobalPoolingOptions& options)
    : Layer(make_global<1, false>(options)) {}
GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPoolingOptions& options)
    : Layer(make_global<2, false>(options)) {}
GlobalAveragePooling3D::GlobalAveragePooling3D(const GlobalPoolingOptions& options)
    : Layer(make_global<3, false>(options)) {}
AdaptiveMaxPooling1D::AdaptiveMaxPooling1D(Size1D output_size, const AdaptivePoolingOptions& options)
    : Layer(make_adaptive<1, true>(output_size, options)) {}
AdaptiveMaxPooling2D::AdaptiveMaxPooling2D(Size2D output_size, const AdaptivePoolingOptions& options)
    : Layer(make_adaptive<2, true>(output_size, options)) {}
AdaptiveMaxPooling3D::AdaptiveMaxPooling3D(Size3D output_size, const AdaptivePoolingOptions& options)
    : Layer(make_adaptive<3, true>(output_size, options)) {}
AdaptiveAveragePooling1D::AdaptiveAveragePooling1D(Size1D output_size, const AdaptivePoolingOptions& options)
    : Layer(make_adaptive<1, false>(output_size, options)) {}
AdaptiveAveragePooling2D::AdaptiveAveragePooling2D(Size2D output_size, const AdaptivePoolingOptions& options)
    : Layer(make_adaptive<2, false>(output_size, options)) {}
AdaptiveAveragePooling3D::AdaptiveAveragePooling3D(Size3D output_size, const AdaptivePoolingOptions& options)
    : Layer(make_adaptive<3, false>(output_size, options)) {}

}  // namespace capstan::layers

namespace capstan {
const ClassInfo& detail::global_max_pooling1d_class() { return layers::GlobalBody<1, true>::info(); }
const ClassInfo& detail::global_max_pooling2d_class() { return layers::GlobalBody<2, true>::info(); }
const ClassInfo& detail::global_max_pooling3d_class() { return layers::GlobalBody<3, true>::info(); }
const ClassInfo& detail::global_average_pooling1d_class() { return layers::GlobalBody<1, false>::info(); }
const ClassInfo& detail::global_average_pooling2d_class() { return layers::GlobalBody<2, false>::info(); }
const ClassInfo& detail::global_average_pooling3d_class() { return layers::GlobalBody<3, false>::info(); }
const ClassInfo& detail::adaptive_max_pooling1d_class() { return layers::AdaptiveBody<1, true>::info(); }
const ClassInfo& detail::adaptive_max_pooling2d_class() { return layers::AdaptiveBody<2, true>::info(); }
const ClassInfo& detail::adaptive_max_pooling3d_class() { return layers::AdaptiveBody<3, true>::info(); }
const ClassInfo& detail::adaptive_average_pooling1d_class() { return layers::AdaptiveBody<1, false>::info(); }
const ClassInfo& detail::adaptive_average_pooling2d_class() { return layers::AdaptiveBody<2, false>::info(); }
const ClassInfo& detail::adaptive_average_pooling3d_class() { return layers::AdaptiveBody<3, false>::info(); }
}  // namespace capstan
