// ResNet50V2: in each block normalisation and activation come before the convolutions.
#include "src/applications/building.h"
#include "src/applications/residual.h"

namespace capstan::applications {

namespace {

using namespace detail;

Tensor block(const Tensor& x, std::int64_t filters, std::int64_t stride, bool has_convolution,
             const std::string& name) {
  const Tensor activated = relu(normalized(x, name + "_preact_bn"), name + "_preact_relu");
  Tensor shortcut = x;
  if (has_convolution) {
    shortcut = layers::Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(activated);
  } else if (stride > 1) {
    shortcut = layers::MaxPooling2D(1, {.strides = stride})(x);
  }
  Tensor h = layers::Conv2D(filters, 1, {.use_bias = false, .name = name + "_1_conv"})(activated);
  h = relu(normalized(h, name + "_1_bn"), name + "_1_relu");
  h = layers::ZeroPadding2D(1, {.name = name + "_2_pad"})(h);
  h = layers::Conv2D(filters, 3, {.strides = stride, .use_bias = false, .name = name + "_2_conv"})(h);
  h = relu(normalized(h, name + "_2_bn"), name + "_2_relu");
  h = layers::Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(h);
  return layers::Add({.name = name + "_out"})({shortcut, h});
}

}  // namespace

Model ResNet50V2(const ApplicationOptions& options) {
  const NetworkInfo network{"ResNet50V2", "resnet50v2", 224, 32};
  const Tensor input = input_of(network, options);
  Tensor x = first_pooling(first_convolution(input));
  for (const Stage& stage : kStages) {
    for (int i = 1; i <= stage.blocks; ++i) {
      const std::int64_t stride = i == stage.blocks && stage.filters < 512 ? 2 : 1;
      x = block(x, stage.filters, stride, i == 1, std::string(stage.name) + "_block" + std::to_string(i));
    }
  }
  x = relu(normalized(x, "post_bn"), "post_relu");
  return finished(input, with_top(x, options, {"avg_pool", "max_pool"}), network, options);
}

}  // namespace capstan::applications
