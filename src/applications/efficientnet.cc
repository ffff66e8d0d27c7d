// EfficientNetB0: blocks that widen, convolve each channel by itself, weigh the channels by their means, and narrow.
#include <algorithm>
#include <cmath>

#include "src/applications/building.h"

namespace capstan::applications {

namespace {

using namespace detail;

struct Stage {
  std::int64_t kernel_size;
  int blocks;
  std::int64_t filters, expansion, stride;
};
constexpr Stage kStages[] = {{3, 1, 16, 1, 1},  {3, 2, 24, 6, 2},  {5, 2, 40, 6, 2}, {3, 3, 80, 6, 2},
                             {5, 3, 112, 6, 1}, {5, 4, 192, 6, 2}, {3, 1, 320, 6, 1}};
constexpr int kBlocks = 16;
constexpr double kDropConnectRate = 0.2, kDropoutRate = 0.2;
constexpr double kDeviations[] = {0.229, 0.224, 0.225};  // of ImageNet's channels

Initializer for_convolutions() { return initializers::VarianceScaling({.scale = 2, .mode = "fan_out"}); }

Initializer for_classes() {
  return initializers::VarianceScaling({.scale = 1.0 / 3, .mode = "fan_out", .distribution = "uniform"});
}

Tensor activated(const Tensor& x, const std::string& normalization, const std::string& activation) {
  return layers::Activation("swish", {.name = activation})(layers::BatchNormalization({.name = normalization})(x));
}

Tensor pointwise(const Tensor& x, std::int64_t filters, const std::string& name) {
  return layers::Conv2D(
      filters, 1, {.padding = "same", .use_bias = false, .kernel_initializer = for_convolutions(), .name = name})(x);
}

// Channels times what their means say.
Tensor weighed(const Tensor& x, std::int64_t squeezed, const std::string& name) {
  const std::int64_t channels = x.dim(-1);
  const auto convolution = [](std::int64_t filters, const char* activation, const std::string& its_name) {
    return layers::Conv2D(
        filters, 1,
        {.padding = "same", .activation = activation, .kernel_initializer = for_convolutions(), .name = its_name});
  };
  Tensor h = layers::GlobalAveragePooling2D({.name = name + "se_squeeze"})(x);
  h = layers::Reshape({1, 1, channels}, {.name = name + "se_reshape"})(h);
  h = convolution(squeezed, "swish", name + "se_reduce")(h);
  h = convolution(channels, "sigmoid", name + "se_expand")(h);
  return layers::Multiply({.name = name + "se_excite"})({x, h});
}

Tensor block(const Tensor& x, const Stage& stage, std::int64_t stride, double drop_rate, const std::string& name) {
  const std::int64_t channels = x.dim(-1);
  Tensor h = x;
  if (stage.expansion != 1) {
    h = pointwise(h, channels * stage.expansion, name + "expand_conv");
    h = activated(h, name + "expand_bn", name + "expand_activation");
  }
  if (stride == 2) h = padded_for(h, stage.kernel_size, name + "dwconv_pad");
  h = layers::DepthwiseConv2D(stage.kernel_size, {.strides = stride,
                                                  .padding = stride == 2 ? "valid" : "same",
                                                  .use_bias = false,
                                                  .depthwise_initializer = for_convolutions(),
                                                  .name = name + "dwconv"})(h);
  h = activated(h, name + "bn", name + "activation");
  h = weighed(h, std::max<std::int64_t>(1, channels / 4), name);
  h = pointwise(h, stage.filters, name + "project_conv");
  h = layers::BatchNormalization({.name = name + "project_bn"})(h);
  if (stride != 1 || channels != stage.filters) return h;
  if (drop_rate > 0) {
    h = layers::Dropout(drop_rate, {.noise_shape = Shape{-1, 1, 1, 1}, .name = name + "drop"})(h);
  }
  return layers::Add({.name = name + "add"})({h, x});
}

}  // namespace

Model EfficientNetB0(const ApplicationOptions& options, bool imagenet_scaling) {
  const NetworkInfo network{"EfficientNetB0", "efficientnetb0", 224, 32};
  const Tensor input = input_of(network, options);
  Tensor x = layers::Rescaling(1.0 / 255)(input);
  x = layers::Normalization({.axis = -1})(x);
  if (imagenet_scaling) {
    // Keras's weights are of a network that divides by the variance, not by the deviation.
    std::vector<double> scales;
    for (const double deviation : kDeviations) scales.push_back(1 / std::sqrt(deviation));
    x = layers::Rescaling(scales)(x);
  }
  x = padded_for(x, 3, "stem_conv_pad");
  x = layers::Conv2D(
      32, 3, {.strides = 2, .use_bias = false, .kernel_initializer = for_convolutions(), .name = "stem_conv"})(x);
  x = activated(x, "stem_bn", "stem_activation");
  int number = 0, stage_number = 0;
  for (const Stage& stage : kStages) {
    ++stage_number;
    for (int i = 0; i < stage.blocks; ++i) {
      const std::string name = "block" + std::to_string(stage_number) + static_cast<char>('a' + i) + "_";
      x = block(x, stage, i == 0 ? stage.stride : 1, kDropConnectRate * number++ / kBlocks, name);
    }
  }
  x = activated(pointwise(x, 1280, "top_conv"), "top_bn", "top_activation");
  if (!options.include_top) return finished(input, with_top(x, options, {"avg_pool", "max_pool"}), network, options);
  x = layers::GlobalAveragePooling2D({.name = "avg_pool"})(x);
  x = layers::Dropout(kDropoutRate, {.name = "top_dropout"})(x);
  return finished(input, predictions(x, options, for_classes()), network, options);
}

}  // namespace capstan::applications
