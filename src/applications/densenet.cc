// DenseNet121: each layer of a block sees the results of all before it.
#include "src/applications/building.h"
#include "src/applications/residual.h"

namespace capstan::applications {

namespace {

using namespace detail;

constexpr int kLayers[] = {6, 12, 24, 16};  // of the blocks
constexpr std::int64_t kGrowth = 32;

Tensor layer(const Tensor& x, const std::string& name) {
  Tensor h = relu(normalized(x, name + "_0_bn"), name + "_0_relu");
  h = layers::Conv2D(4 * kGrowth, 1, {.use_bias = false, .name = name + "_1_conv"})(h);
  h = relu(normalized(h, name + "_1_bn"), name + "_1_relu");
  h = layers::Conv2D(kGrowth, 3, {.padding = "same", .use_bias = false, .name = name + "_2_conv"})(h);
  return layers::Concatenate({.name = name + "_concat"})({x, h});
}

Tensor transition(const Tensor& x, const std::string& name) {
  Tensor h = relu(normalized(x, name + "_bn"), name + "_relu");
  h = layers::Conv2D(x.dim(-1) / 2, 1, {.use_bias = false, .name = name + "_conv"})(h);
  return layers::AveragePooling2D(2, {.strides = 2, .name = name + "_pool"})(h);
}

}  // namespace

Model DenseNet121(const ApplicationOptions& options) {
  const NetworkInfo network{"DenseNet121", "densenet121", 224, 32};
  const Tensor input = input_of(network, options);
  Tensor x = layers::ZeroPadding2D(3)(input);
  x = layers::Conv2D(64, 7, {.strides = 2, .use_bias = false, .name = "conv1_conv"})(x);
  x = relu(normalized(x, "conv1_bn"), "conv1_relu");
  x = layers::ZeroPadding2D(1)(x);
  x = layers::MaxPooling2D(3, {.strides = 2, .name = "pool1"})(x);
  for (int b = 0; b < 4; ++b) {
    const std::string number = std::to_string(b + 2);
    for (int i = 1; i <= kLayers[b]; ++i) x = layer(x, "conv" + number + "_block" + std::to_string(i));
    if (b < 3) x = transition(x, "pool" + number);
  }
  x = relu(normalized(x, "bn"), "relu");
  return finished(input, with_top(x, options, {"avg_pool", "max_pool"}), network, options);
}

}  // namespace capstan::applications
