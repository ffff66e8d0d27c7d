// MobileNetV2: blocks that widen, convolve each channel by itself, and narrow again without an activation.
#include <cstdio>
#include <algorithm>
#include <cmath>

#include "src/applications/building.h"
#include "src/core/check.h"

namespace capstan::applications {

namespace {

using namespace detail;

struct Stage {
  std::int64_t filters;
  int blocks;
  std::int64_t stride;  // of the first block
};
constexpr Stage kStages[] = {{16, 1, 1}, {24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}};

// The nearest multiple of 8, but no less than nine tenths.
std::int64_t channels_of(double channels) {
  const auto nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

Tensor normalized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.momentum = 0.999, .epsilon = 1e-3, .name = name})(x);
}

Tensor relu6(const Tensor& x, const std::string& name) { return layers::ReLU({.max_value = 6.0, .name = name})(x); }

Tensor block(const Tensor& x, std::int64_t filters, std::int64_t stride, int number) {
  const std::string name = number == 0 ? "expanded_conv_" : "block_" + std::to_string(number) + "_";
  const std::int64_t channels = x.dim(-1);
  Tensor h = x;
  if (number > 0) {
    h = layers::Conv2D(6 * channels, 1, {.padding = "same", .use_bias = false, .name = name + "expand"})(h);
    h = relu6(normalized(h, name + "expand_BN"), name + "expand_relu");
  }
  if (stride == 2) h = padded_for(h, 3, name + "pad");
  h = layers::DepthwiseConv2D(
      3,
      {.strides = stride, .padding = stride == 1 ? "same" : "valid", .use_bias = false, .name = name + "depthwise"})(h);
  h = relu6(normalized(h, name + "depthwise_BN"), name + "depthwise_relu");
  h = layers::Conv2D(filters, 1, {.padding = "same", .use_bias = false, .name = name + "project"})(h);
  h = normalized(h, name + "project_BN");
  return channels == filters && stride == 1 ? layers::Add({.name = name + "add"})({x, h}) : h;
}

// "0.35": as Keras names the model.
std::string with_two_digits(double alpha) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", alpha);
  return text;
}

}  // namespace

Model MobileNetV2(const ApplicationOptions& options, double alpha) {
  CAPSTAN_CHECK(alpha > 0 && alpha <= 100, ValueError, "MobileNetV2: alpha must be above 0 and at most 100, not ",
                alpha);
  NetworkInfo network{"MobileNetV2", {}, 224, 32};
  const Tensor input = input_of(network, options);
  const std::int64_t rows = options.input_shape.is_given() ? options.input_shape.shape()[0] : network.default_size;
  network.default_name = "mobilenetv2_" + with_two_digits(alpha) + "_" + (rows < 0 ? "None" : std::to_string(rows));
  const auto scaled = [alpha](std::int64_t filters) { return alpha * static_cast<double>(filters); };
  Tensor x = layers::Conv2D(channels_of(scaled(32)), 3,
                            {.strides = 2, .padding = "same", .use_bias = false, .name = "Conv1"})(input);
  x = relu6(normalized(x, "bn_Conv1"), "Conv1_relu");
  int number = 0;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.blocks; ++i) {
      x = block(x, channels_of(std::floor(scaled(stage.filters))), i == 0 ? stage.stride : 1, number++);
    }
  }
  x = layers::Conv2D(alpha > 1 ? channels_of(scaled(1280)) : 1280, 1, {.use_bias = false, .name = "Conv_1"})(x);
  x = relu6(normalized(x, "Conv_1_bn"), "out_relu");
  return finished(input, with_top(x, options), network, options);
}

}  // namespace capstan::applications
