// ResNet50: convolutions, normalisation, activation, and a sum with what came in.
#include "src/applications/building.h"
#include "src/applications/residual.h"

namespace capstan::applications {

namespace {

using namespace detail;

Tensor block(const Tensor& x, std::int64_t filters, std::int64_t stride, bool has_convolution,
             const std::string& name) {
  Tensor shortcut = x;
  if (has_convolution) {
    shortcut = layers::Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(x);
    shortcut = normalized(shortcut, name + "_0_bn");
  }
  Tensor h = layers::Conv2D(filters, 1, {.strides = stride, .name = name + "_1_conv"})(x);
  h = relu(normalized(h, name + "_1_bn"), name + "_1_relu");
  h = layers::Conv2D(filters, 3, {.padding = "same", .name = name + "_2_conv"})(h);
  h = relu(normalized(h, name + "_2_bn"), name + "_2_relu");
  h = layers::Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(h);
  h = normalized(h, name + "_3_bn");
  return relu(layers::Add({.name = name + "_add"})({shortcut, h}), name + "_out");
}

}  // namespace

Model ResNet50(const ApplicationOptions& options) {
  const NetworkInfo network{"ResNet50", "resnet50", 224, 32};
  const Tensor input = input_of(network, options);
  Tensor x = first_convolution(input);
  x = relu(normalized(x, "conv1_bn"), "conv1_relu");
  x = first_pooling(x);
  for (const Stage& stage : kStages) {
    for (int i = 1; i <= stage.blocks; ++i) {
      const std::int64_t stride = i == 1 && stage.filters > 64 ? 2 : 1;
      x = block(x, stage.filters, stride, i == 1, std::string(stage.name) + "_block" + std::to_string(i));
    }
  }
  return finished(input, with_top(x, options, {"avg_pool", "max_pool"}), network, options);
}

}  // namespace capstan::applications
