// The convolution layer.
#include <algorithm>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"

namespace capstan::layers {

namespace {

constexpr const char* kName = "conv2d";

class Conv2DBody final : public LayerBody {
 public:
  Conv2DBody(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options);

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  std::int64_t filters_;
  Size2D kernel_size_;
  Conv2DOptions options_;
  Variable kernel_, bias_;
};

Conv2DBody::Conv2DBody(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options)
    : LayerBody("Conv2D", detail::common_options(options)),
      filters_(filters),
      kernel_size_(kernel_size),
      options_(options) {
  detail::check_positive(kName, "filters", filters);
  detail::check_positive(kName, "kernel_size", std::min(kernel_size.height, kernel_size.width));
  detail::check_positive(kName, "strides", std::min(options.strides.height, options.strides.width));
  const Size2D& dilations = options.dilation_rate;
  detail::check_positive(kName, "dilation_rate", std::min(dilations.height, dilations.width));
  CAPSTAN_CHECK(
      std::max(options.strides.height, options.strides.width) == 1 || std::max(dilations.height, dilations.width) == 1,
      ValueError, kName, ": strides above 1 and dilations above 1 exclude each other");
  detail::check_positive(kName, "groups", options.groups);
  CAPSTAN_CHECK(filters % options.groups == 0, ValueError, kName, ": ", filters, " filters do not divide into ",
                options.groups, " groups");
  detail::check_padding(kName, options.padding);
  detail::is_channels_first(kName, options.data_format);
  detail::LayerState::of(*this).activity_regularizer = options.activity_regularizer;
}

void Conv2DBody::build(const Shape& input_shape) {
  detail::check_image(name(), input_shape);
  const bool first = detail::is_channels_first(kName, options_.data_format);
  const std::int64_t channels = input_shape[first ? 1 : -1];
  const std::int64_t height = input_shape[first ? 2 : 1];
  const std::int64_t width = input_shape[first ? 3 : 2];
  if (options_.padding == "valid") {
    const auto fits = [](std::int64_t length, std::int64_t kernel, std::int64_t dilation) {
      return length < 0 || (kernel <= length && (kernel - 1) <= (length - 1) / dilation);
    };
    CAPSTAN_CHECK(fits(height, kernel_size_.height, options_.dilation_rate.height) &&
                      fits(width, kernel_size_.width, options_.dilation_rate.width),
                  ShapeError, name(), ": a kernel of ", kernel_size_.height, " x ", kernel_size_.width,
                  " does not fit into ", input_shape, help("padding = \"same\" allows it"));
  }
  CAPSTAN_CHECK(channels % options_.groups == 0, ShapeError, name(), ": ", channels, " channels do not divide into ",
                options_.groups, " groups");
  kernel_ = add_weight({.name = "kernel",
                        .shape = {kernel_size_.height, kernel_size_.width, channels / options_.groups, filters_},
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  if (options_.use_bias) {
    bias_ = add_weight({.name = "bias",
                        .shape = {filters_},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  }
}

Tensor Conv2DBody::call(const Tensor& x, const CallOptions&) {
  detail::check_image(name(), x.shape());
  const bool first = options_.data_format == "channels_first";
  const Tensor kernel = value_of(kernel_);
  const std::int64_t channels = x.dim(first ? 1 : -1);
  const std::int64_t due = kernel.dim(2) * options_.groups;
  CAPSTAN_CHECK(channels == due, ShapeError, name(), ": the input must have ", due, " channels, not ", channels,
                arguments({{"x", x}}));
  const Size2D strides = options_.strides;
  Tensor y = conv2d(first ? transpose(x, {0, 2, 3, 1}) : x, kernel, {strides.height, strides.width},
                    options_.padding == "same" ? "SAME" : "VALID",
                    {options_.dilation_rate.height, options_.dilation_rate.width});
  if (options_.use_bias) y = bias_add(std::move(y), value_of(bias_));
  if (options_.activation.has_value()) y = options_.activation(std::move(y));
  return first ? transpose(y, {0, 3, 1, 2}) : y;
}

}  // namespace

Conv2D::Conv2D(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options)
    : Layer(std::make_shared<Conv2DBody>(filters, kernel_size, options)) {}

}  // namespace capstan::layers
