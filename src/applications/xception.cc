// Xception: separable convolutions, and sums with what came in.
#include "src/applications/building.h"

namespace capstan::applications {

namespace {

using namespace detail;

Tensor normalized(const Tensor& x, const std::string& name) { return layers::BatchNormalization({.name = name})(x); }

Tensor separable(const Tensor& x, std::int64_t filters, const std::string& name) {
  const Tensor h = layers::SeparableConv2D(filters, 3, {.padding = "same", .use_bias = false, .name = name})(x);
  return normalized(h, name + "_bn");
}

// A block that halves height and width. The first of them begins without an activation.
Tensor halved(const Tensor& x, std::int64_t first_filters, std::int64_t filters, const std::string& name,
              bool begins_activated) {
  const Tensor shortcut =
      normalized(layers::Conv2D(filters, 1, {.strides = 2, .padding = "same", .use_bias = false})(x), {});
  Tensor h = begins_activated ? relu(x, name + "_sepconv1_act") : x;
  h = separable(h, first_filters, name + "_sepconv1");
  h = separable(relu(h, name + "_sepconv2_act"), filters, name + "_sepconv2");
  h = layers::MaxPooling2D(3, {.strides = 2, .padding = "same", .name = name + "_pool"})(h);
  return layers::Add()({h, shortcut});
}

Tensor middle(const Tensor& x, const std::string& name) {
  Tensor h = x;
  for (const char* number : {"1", "2", "3"}) {
    const std::string its_name = name + "_sepconv" + number;
    h = separable(relu(h, its_name + "_act"), 728, its_name);
  }
  return layers::Add()({h, x});
}

}  // namespace

Model Xception(const ApplicationOptions& options) {
  const NetworkInfo network{"Xception", "xception", 299, 71};
  const Tensor input = input_of(network, options);
  Tensor x = layers::Conv2D(32, 3, {.strides = 2, .use_bias = false, .name = "block1_conv1"})(input);
  x = relu(normalized(x, "block1_conv1_bn"), "block1_conv1_act");
  x = layers::Conv2D(64, 3, {.use_bias = false, .name = "block1_conv2"})(x);
  x = relu(normalized(x, "block1_conv2_bn"), "block1_conv2_act");
  x = halved(x, 128, 128, "block2", false);
  x = halved(x, 256, 256, "block3", true);
  x = halved(x, 728, 728, "block4", true);
  for (int i = 5; i <= 12; ++i) x = middle(x, "block" + std::to_string(i));
  x = halved(x, 728, 1024, "block13", true);
  x = relu(separable(x, 1536, "block14_sepconv1"), "block14_sepconv1_act");
  x = relu(separable(x, 2048, "block14_sepconv2"), "block14_sepconv2_act");
  return finished(input, with_top(x, options, {options.include_top ? "avg_pool" : "", ""}), network, options);
}

}  // namespace capstan::applications
