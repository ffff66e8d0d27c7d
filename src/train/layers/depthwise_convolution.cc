// Depthwise and separable convolutions of signals and images. A signal is an image of one row.
#include <array>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/kernel_layer.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr char kDepthwiseNames[][16] = {"DepthwiseConv1D", "DepthwiseConv2D"};
constexpr char kSeparableNames[][16] = {"SeparableConv1D", "SeparableConv2D"};

// The options are one after the other, as Keras has them.
template <class O, std::size_t A, std::size_t B>
constexpr auto with_depthwise_options(const OptionField (&first)[A], const OptionField (&last)[B]) {
  const OptionField shared[] = {option<&O::strides, O>("strides").at_least(1),
                                detail::padding_option<O>(),
                                option<&O::depth_multiplier, O>("depth_multiplier").at_least(1),
                                detail::data_format_option<O>(),
                                option<&O::dilation_rate, O>("dilation_rate").at_least(1),
                                option<&O::activation, O>("activation").changeable(),
                                option<&O::use_bias, O>("use_bias"),
                                option<&O::bias_initializer, O>("bias_initializer"),
                                option<&O::bias_regularizer, O>("bias_regularizer"),
                                option<&O::bias_constraint, O>("bias_constraint"),
                                option<&O::activity_regularizer, O>("activity_regularizer"),
                                option<&O::depthwise_initializer, O>("depthwise_initializer"),
                                option<&O::depthwise_regularizer, O>("depthwise_regularizer"),
                                option<&O::depthwise_constraint, O>("depthwise_constraint")};
  constexpr std::size_t kShared = sizeof(shared) / sizeof(shared[0]);
  OptionField all[A + kShared + B] = {};
  for (std::size_t i = 0; i < A; ++i) all[i] = first[i];
  for (std::size_t i = 0; i < kShared; ++i) all[A + i] = shared[i];
  for (std::size_t i = 0; i < B; ++i) all[A + kShared + i] = last[i];
  return with_layer_options<O>(all);
}

template <std::size_t N>
struct DepthwiseConfig : DepthwiseConvOptions<N> {
  SizeOf<N> kernel_size = 1;
  static std::span<const OptionField> fields() {
    using O = DepthwiseConfig;
    static constexpr auto all = [] {
      const OptionField first[] = {option<&O::kernel_size, O>("kernel_size", true).at_least(1)};
      const auto shared = with_depthwise_options<O>(first, first);
      // All but the last one, which is the first again.
      std::array<OptionField, shared.size() - 1> fields = {};
      for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = shared[i];
      return fields;
    }();
    return all;
  }
};

template <std::size_t N>
struct SeparableConfig : SeparableConvOptions<N> {
  std::int64_t filters = 0;
  SizeOf<N> kernel_size = 1;
  static std::span<const OptionField> fields() {
    using O = SeparableConfig;
    static constexpr auto all =
        with_depthwise_options<O>({option<&O::filters, O>("filters", true).at_least(1),
                                   option<&O::kernel_size, O>("kernel_size", true).at_least(1)},
                                  {option<&O::pointwise_initializer, O>("pointwise_initializer"),
                                   option<&O::pointwise_regularizer, O>("pointwise_regularizer"),
                                   option<&O::pointwise_constraint, O>("pointwise_constraint")});
    return all;
  }
};

template <class Derived, class Config, std::size_t N>
class DepthwiseBase : public detail::KernelLayer<Derived, Config> {
 protected:
  explicit DepthwiseBase(const Config& given)
      : detail::KernelLayer<Derived, Config>(given),
        is_first_(this->options.data_format == "channels_first"),
        padding_(this->options.padding == "same" ? "SAME" : "VALID") {
    detail::check_strides(Derived::kName, given.strides.lengths, given.dilation_rate.lengths);
  }

  // Gives the number of channels.
  std::int64_t build_depthwise(const Shape& shape, const char* weight) {
    const Config& o = this->options;
    detail::check_spatial(this->name(), shape, N);
    check_fits(shape);
    const std::int64_t channels = shape[is_first_ ? 1 : -1];
    depthwise_ = this->add_weight({.name = weight,
                                   .shape = detail::kernel_shape(o.kernel_size.lengths, channels, o.depth_multiplier),
                                   .initializer = o.depthwise_initializer,
                                   .regularizer = o.depthwise_regularizer,
                                   .constraint = o.depthwise_constraint});
    return channels * o.depth_multiplier;
  }

  // With the channels last.
  Tensor depthwise(const Tensor& x) const {
    const Config& o = this->options;
    detail::check_spatial(this->name(), x.shape(), N);
    const Tensor kernel = this->value_of(depthwise_);
    const std::int64_t channels = x.dim(is_first_ ? 1 : -1);
    CAPSTAN_CHECK(channels == kernel.dim(N), ShapeError, this->name(), ": the input must have ", kernel.dim(N),
                  " channels, not ", channels, arguments({{"x", x}}));
    check_fits(x.shape());
    const Tensor image = is_first_ ? detail::to_channels_last(x) : x;
    if constexpr (N == 1) {
      return squeeze(depthwise_conv2d(expand_dims(image, 1), expand_dims(kernel, 0), {1, o.strides.lengths[0]},
                                      padding_, {1, o.dilation_rate.lengths[0]}),
                     {1});
    } else {
      return depthwise_conv2d(image, kernel, o.strides.lengths, padding_, o.dilation_rate.lengths);
    }
  }

  Tensor finish_in_format(Tensor y) const {
    y = this->finish(std::move(y));
    return is_first_ ? detail::to_channels_first(y) : y;
  }

 private:
  void check_fits(const Shape& shape) const {
    const Config& o = this->options;
    if (padding_.kind != Padding::Kind::kValid) return;
    detail::check_window(this->name(), shape, is_first_, o.kernel_size.lengths, o.dilation_rate.lengths);
  }

  bool is_first_;
  Padding padding_;
  Variable depthwise_;
};

template <std::size_t N>
class DepthwiseBody final : public DepthwiseBase<DepthwiseBody<N>, DepthwiseConfig<N>, N> {
 public:
  static constexpr const char* kName = kDepthwiseNames[N - 1];
  static constexpr char kText[] = "A convolution of each channel by itself, a bias and an activation.";
  explicit DepthwiseBody(const DepthwiseConfig<N>& given)
      : DepthwiseBase<DepthwiseBody<N>, DepthwiseConfig<N>, N>(given) {}

 protected:
  void build(const Shape& input_shape) override { this->add_bias(this->build_depthwise(input_shape, "kernel")); }
  Tensor call(const Tensor& x, const CallOptions&) override { return this->finish_in_format(this->depthwise(x)); }
};

template <std::size_t N>
class SeparableBody final : public DepthwiseBase<SeparableBody<N>, SeparableConfig<N>, N> {
 public:
  static constexpr const char* kName = kSeparableNames[N - 1];
  static constexpr char kText[] = "A depthwise convolution, a mixture of the channels, a bias and an activation.";
  explicit SeparableBody(const SeparableConfig<N>& given)
      : DepthwiseBase<SeparableBody<N>, SeparableConfig<N>, N>(given) {}

 protected:
  void build(const Shape& input_shape) override {
    const SeparableConfig<N>& o = this->options;
    const std::int64_t channels = this->build_depthwise(input_shape, "depthwise_kernel");
    pointwise_ = this->add_weight({.name = "pointwise_kernel",
                                   .shape = detail::kernel_shape(SizeOf<N>(1).lengths, channels, o.filters),
                                   .initializer = o.pointwise_initializer,
                                   .regularizer = o.pointwise_regularizer,
                                   .constraint = o.pointwise_constraint});
    this->add_bias(o.filters);
  }

  Tensor call(const Tensor& x, const CallOptions&) override {
    const Tensor y = this->depthwise(x);
    const Tensor kernel = this->value_of(pointwise_);
    if constexpr (N == 1) {
      return this->finish_in_format(conv1d(y, kernel));
    } else {
      return this->finish_in_format(conv2d(y, kernel));
    }
  }

 private:
  Variable pointwise_;
};

}  // namespace

DepthwiseConv1D::DepthwiseConv1D(Size1D kernel_size, const DepthwiseConv1DOptions& options)
    : Layer(make_configurable<DepthwiseBody<1>>(DepthwiseConfig<1>{options, kernel_size})) {}
DepthwiseConv2D::DepthwiseConv2D(Size2D kernel_size, const DepthwiseConv2DOptions& options)
    : Layer(make_configurable<DepthwiseBody<2>>(DepthwiseConfig<2>{options, kernel_size})) {}
SeparableConv1D::SeparableConv1D(std::int64_t filters, Size1D kernel_size, const SeparableConv1DOptions& options)
    : Layer(make_configurable<SeparableBody<1>>(SeparableConfig<1>{options, filters, kernel_size})) {}
SeparableConv2D::SeparableConv2D(std::int64_t filters, Size2D kernel_size, const SeparableConv2DOptions& options)
    : Layer(make_configurable<SeparableBody<2>>(SeparableConfig<2>{options, filters, kernel_size})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::depthwise_conv1d_class() { return layers::DepthwiseBody<1>::info(); }
const capstan::ClassInfo& capstan::detail::depthwise_conv2d_class() { return layers::DepthwiseBody<2>::info(); }
const capstan::ClassInfo& capstan::detail::separable_conv1d_class() { return layers::SeparableBody<1>::info(); }
const capstan::ClassInfo& capstan::detail::separable_conv2d_class() { return layers::SeparableBody<2>::info(); }
