// Zero padding, cropping and up-sampling.
#include <algorithm>
#include <array>
#include <vector>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr char kPaddingNames[][14] = {"ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"};
constexpr char kCroppingNames[][11] = {"Cropping1D", "Cropping2D", "Cropping3D"};
constexpr char kUpSamplingNames[][13] = {"UpSampling1D", "UpSampling2D", "UpSampling3D"};
constexpr std::string_view kInterpolations[] = {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"};

int first_axis(const std::string& data_format) { return data_format == "channels_first" ? 2 : 1; }

Tensor padded(const Tensor& x, std::span<const PadWidth> widths, int first) {
  std::vector<PadWidth> all(static_cast<std::size_t>(x.rank()));
  std::copy(widths.begin(), widths.end(), all.begin() + first);
  return pad(x, all);
}

Tensor cropped(const std::string& layer, const Tensor& x, std::span<const PadWidth> widths, int first) {
  Shape begin, size;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int i = axis - first;
    const bool is_cut = i >= 0 && i < static_cast<int>(widths.size());
    const PadWidth width = is_cut ? widths[static_cast<std::size_t>(i)] : PadWidth{};
    const std::int64_t left = x.dim(axis) - width.before - width.after;
    CAPSTAN_CHECK(!is_cut || left >= 1, ShapeError, layer, ": nothing is left of axis ", axis, ", whose length is ",
                  x.dim(axis), ": cropping takes ", width.before, " and ", width.after, ": ", x.shape());
    begin.push_back(width.before);
    size.push_back(is_cut ? left : -1);
  }
  return slice(x, begin, size);
}

Tensor repeated(Tensor x, detail::Lengths sizes, int first) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) x = repeat(x, sizes[i], first + static_cast<int>(i));
  }
  return x;
}

// Keras gives one-dimensional layers of two of these kinds no data_format, which is the last in the tables.
template <std::size_t N>
std::span<const OptionField> fields_of(const std::array<OptionField, 5>& all) {
  return std::span(all).first(N > 1 ? 5 : 4);
}

template <std::size_t N>
struct PaddingConfig : SpatialOptions {
  BordersOf<N> padding = 1;
  static std::span<const OptionField> fields() {
    using O = PaddingConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::padding, O>("padding").at_least(0), detail::data_format_option<O>()});
    return all;
  }
};

template <std::size_t N>
class PaddingBody final : public ConfiguredLayer<PaddingBody<N>, PaddingConfig<N>> {
 public:
  using ConfiguredLayer<PaddingBody<N>, PaddingConfig<N>>::ConfiguredLayer;
  static constexpr const char* kName = kPaddingNames[N - 1];
  static constexpr char kText[] = "Zeros at the ends.";

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(this->name(), x.shape(), N);
    return padded(x, this->options.padding.widths, first_axis(this->options.data_format));
  }
};

template <std::size_t N>
struct CroppingConfig : SpatialOptions {
  BordersOf<N> cropping = N == 2 ? 0 : 1;
  static std::span<const OptionField> fields() {
    using O = CroppingConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::cropping, O>("cropping").at_least(0), detail::data_format_option<O>()});
    return fields_of<N>(all);
  }
};

template <std::size_t N>
class CroppingBody final : public ConfiguredLayer<CroppingBody<N>, CroppingConfig<N>> {
 public:
  using ConfiguredLayer<CroppingBody<N>, CroppingConfig<N>>::ConfiguredLayer;
  static constexpr const char* kName = kCroppingNames[N - 1];
  static constexpr char kText[] = "Cuts off the ends.";

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(this->name(), x.shape(), N);
    return cropped(this->name(), x, this->options.cropping.widths, first_axis(this->options.data_format));
  }
};

template <std::size_t N>
struct UpSamplingConfig : SpatialOptions {
  SizeOf<N> size = 2;
  static std::span<const OptionField> fields() {
    using O = UpSamplingConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::size, O>("size").at_least(1), detail::data_format_option<O>()});
    return fields_of<N>(all);
  }
};

template <std::size_t N>
class UpSamplingBody final : public ConfiguredLayer<UpSamplingBody<N>, UpSamplingConfig<N>> {
 public:
  using ConfiguredLayer<UpSamplingBody<N>, UpSamplingConfig<N>>::ConfiguredLayer;
  static constexpr const char* kName = kUpSamplingNames[N - 1];
  static constexpr char kText[] = "Every element several times.";

  // Of one axis Keras takes a number alone.
  AttributeValue get_config() const override {
    AttributeValue config = LayerBase::get_config();
    if constexpr (N == 1) config.set("size", this->options.size.lengths[0]);
    return config;
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(this->name(), x.shape(), N);
    return repeated(x, this->options.size.lengths, first_axis(this->options.data_format));
  }
};

struct UpSampling2DConfig : UpSampling2DOptions {
  Size2D size = 2;
  static std::span<const OptionField> fields() {
    using O = UpSampling2DConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::size, O>("size").at_least(1), detail::data_format_option<O>(),
                               option<&O::interpolation, O>("interpolation").one_of(kInterpolations).in_any_case()});
    return all;
  }
};

class UpSampling2DBody final : public ConfiguredLayer<UpSampling2DBody, UpSampling2DConfig> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  static constexpr const char* kName = kUpSamplingNames[1];
  static constexpr char kText[] = "Larger images, by repetition or interpolation.";

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(name(), x.shape(), 2);
    const detail::Lengths sizes = options.size.lengths;
    const int first = first_axis(options.data_format);
    if (options.interpolation == "nearest") return repeated(x, sizes, first);
    const Tensor image = first == 2 ? detail::to_channels_last(x) : x;
    const Tensor y =
        image::resize(image, {image.dim(1) * sizes[0], image.dim(2) * sizes[1]}, {.method = options.interpolation});
    // It may compute in another floating dtype.
    const Tensor result = is_floating(x.dtype()) && y.dtype() != x.dtype() ? cast(y, x.dtype()) : y;
    return first == 2 ? detail::to_channels_first(result) : result;
  }
};

}  // namespace

ZeroPadding1D::ZeroPadding1D(Borders1D padding, const SpatialOptions& options)
    : Layer(make_configurable<PaddingBody<1>>(PaddingConfig<1>{options, padding})) {}
ZeroPadding2D::ZeroPadding2D(Borders2D padding, const SpatialOptions& options)
    : Layer(make_configurable<PaddingBody<2>>(PaddingConfig<2>{options, padding})) {}
ZeroPadding3D::ZeroPadding3D(Borders3D padding, const SpatialOptions& options)
    : Layer(make_configurable<PaddingBody<3>>(PaddingConfig<3>{options, padding})) {}
Cropping1D::Cropping1D(Borders1D cropping, const SpatialOptions& options)
    : Layer(make_configurable<CroppingBody<1>>(CroppingConfig<1>{options, cropping})) {}
Cropping2D::Cropping2D(Borders2D cropping, const SpatialOptions& options)
    : Layer(make_configurable<CroppingBody<2>>(CroppingConfig<2>{options, cropping})) {}
Cropping3D::Cropping3D(Borders3D cropping, const SpatialOptions& options)
    : Layer(make_configurable<CroppingBody<3>>(CroppingConfig<3>{options, cropping})) {}
UpSampling1D::UpSampling1D(Size1D size, const SpatialOptions& options)
    : Layer(make_configurable<UpSamplingBody<1>>(UpSamplingConfig<1>{options, size})) {}
UpSampling2D::UpSampling2D(Size2D size, const UpSampling2DOptions& options)
    : Layer(make_configurable<UpSampling2DBody>(UpSampling2DConfig{options, size})) {}
UpSampling3D::UpSampling3D(Size3D size, const SpatialOptions& options)
    : Layer(make_configurable<UpSamplingBody<3>>(UpSamplingConfig<3>{options, size})) {}

}  // namespace capstan::layers

namespace capstan {
const ClassInfo& detail::zero_padding1d_class() { return layers::PaddingBody<1>::info(); }
const ClassInfo& detail::zero_padding2d_class() { return layers::PaddingBody<2>::info(); }
const ClassInfo& detail::zero_padding3d_class() { return layers::PaddingBody<3>::info(); }
const ClassInfo& detail::cropping1d_class() { return layers::CroppingBody<1>::info(); }
const ClassInfo& detail::cropping2d_class() { return layers::CroppingBody<2>::info(); }
const ClassInfo& detail::cropping3d_class() { return layers::CroppingBody<3>::info(); }
const ClassInfo& detail::up_sampling1d_class() { return layers::UpSamplingBody<1>::info(); }
const ClassInfo& detail::up_sampling2d_class() { return layers::UpSampling2DBody::info(); }
const ClassInfo& detail::up_sampling3d_class() { return layers::UpSamplingBody<3>::info(); }
}  // namespace capstan
