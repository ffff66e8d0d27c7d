// Convolutions over one to three axes of space.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/kernel_layer.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr char kConvNames[][8] = {"Conv1D", "Conv2D", "Conv3D"};

template <std::size_t N>
struct ConvConfig : ConvOptions<N> {
  std::int64_t filters = 0;
  SizeOf<N> kernel_size = 1;
  static std::span<const OptionField> fields() {
    using O = ConvConfig;
    using Names = std::span<const std::string_view>;
    static constexpr auto all = detail::with_kernel_options<O>(
        {option<&O::filters, O>("filters", true).at_least(1),
         option<&O::kernel_size, O>("kernel_size", true).at_least(1), option<&O::strides, O>("strides").at_least(1),
         detail::padding_option<O>(N == 1 ? Names(detail::kPaddings1D) : Names(detail::kWindowPaddings)),
         detail::data_format_option<O>(), option<&O::dilation_rate, O>("dilation_rate").at_least(1),
         option<&O::groups, O>("groups").at_least(1)});
    return all;
  }
};

template <std::size_t N>
class ConvBody final : public detail::KernelLayer<ConvBody<N>, ConvConfig<N>> {
  using Base = detail::KernelLayer<ConvBody<N>, ConvConfig<N>>;

 public:
  static constexpr const char* kName = kConvNames[N - 1];
  static constexpr char kText[] = "A convolution, a bias and an activation.";
  explicit ConvBody(const ConvConfig<N>& given)
      : Base(given),
        is_first_(this->options.data_format == "channels_first"),
        is_causal_(this->options.padding == "causal"),
        padding_(this->options.padding == "same" ? "SAME" : "VALID") {
    CAPSTAN_CHECK(given.filters % given.groups == 0, ValueError, kName, ": ", given.filters,
                  " filters do not divide into ", given.groups, " groups");
    detail::check_strides(kName, given.strides.lengths, given.dilation_rate.lengths);
  }

 protected:
  void build(const Shape& input_shape) override {
    const ConvConfig<N>& o = this->options;
    detail::check_spatial(this->name(), input_shape, N);
    if (o.padding == "valid") {
      detail::check_window(this->name(), input_shape, is_first_, o.kernel_size.lengths, o.dilation_rate.lengths);
    }
    const std::int64_t channels = input_shape[is_first_ ? 1 : -1];
    CAPSTAN_CHECK(channels % o.groups == 0, ShapeError, this->name(), ": ", channels, " channels do not divide into ",
                  o.groups, " groups");
    kernel_ = this->add_kernel(detail::kernel_shape(o.kernel_size.lengths, channels / o.groups, o.filters));
    this->add_bias(o.filters);
  }

  Tensor call(const Tensor& x, const CallOptions&) override {
    const ConvConfig<N>& o = this->options;
    detail::check_spatial(this->name(), x.shape(), N);
    const Tensor kernel = this->value_of(kernel_);
    const std::int64_t channels = x.dim(is_first_ ? 1 : -1);
    const std::int64_t due = kernel.dim(N) * o.groups;
    CAPSTAN_CHECK(channels == due, ShapeError, this->name(), ": the input must have ", due, " channels, not ", channels,
                  arguments({{"x", x}}));
    if (!is_causal_ && padding_.kind == Padding::Kind::kValid) {
      detail::check_window(this->name(), x.shape(), is_first_, o.kernel_size.lengths, o.dilation_rate.lengths);
    }
    Tensor y = this->finish(convolve(is_first_ ? detail::to_channels_last(x) : x, kernel));
    return is_first_ ? detail::to_channels_first(y) : y;
  }

 private:
  Tensor convolve(const Tensor& x, const Tensor& kernel) const {
    const ConvConfig<N>& o = this->options;
    if constexpr (N == 1) {
      const std::int64_t before = o.dilation_rate.lengths[0] * (o.kernel_size.lengths[0] - 1);
      return conv1d(is_causal_ ? pad(x, {{}, {before, 0}, {}}) : x, kernel, o.strides.lengths[0], padding_,
                    o.dilation_rate.lengths[0]);
    } else if constexpr (N == 2) {
      return conv2d(x, kernel, o.strides.lengths, padding_, o.dilation_rate.lengths);
    } else {
      return conv3d(x, kernel, o.strides.lengths, padding_, o.dilation_rate.lengths);
    }
  }

  bool is_first_, is_causal_;
  Padding padding_;
  Variable kernel_;
};

}  // namespace

Conv1D::Conv1D(std::int64_t filters, Size1D kernel_size, const Conv1DOptions& options)
    : Layer(make_configurable<ConvBody<1>>(ConvConfig<1>{options, filters, kernel_size})) {}
Conv2D::Conv2D(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options)
    : Layer(make_configurable<ConvBody<2>>(ConvConfig<2>{options, filters, kernel_size})) {}
Conv3D::Conv3D(std::int64_t filters, Size3D kernel_size, const Conv3DOptions& options)
    : Layer(make_configurable<ConvBody<3>>(ConvConfig<3>{options, filters, kernel_size})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::conv1d_class() { return layers::ConvBody<1>::info(); }
const capstan::ClassInfo& capstan::detail::conv2d_class() { return layers::ConvBody<2>::info(); }
const capstan::ClassInfo& capstan::detail::conv3d_class() { return layers::ConvBody<3>::info(); }
