// VGG16: convolutions of 3 x 3, and pooling.
#include "src/applications/building.h"

namespace capstan::applications {

namespace {

struct Block {
  std::int64_t filters;
  int convolutions;
};
constexpr Block kBlocks[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};

}  // namespace

Model VGG16(const ApplicationOptions& options) {
  using namespace detail;
  const NetworkInfo network{"VGG16", "vgg16", 224, 32};
  const Tensor input = input_of(network, options);
  Tensor x = input;
  int number = 0;
  for (const Block& block : kBlocks) {
    const std::string name = "block" + std::to_string(++number);
    for (int i = 1; i <= block.convolutions; ++i) {
      x = layers::Conv2D(block.filters, 3,
                         {.padding = "same", .activation = "relu", .name = name + "_conv" + std::to_string(i)})(x);
    }
    x = layers::MaxPooling2D(2, {.strides = 2, .name = name + "_pool"})(x);
  }
  if (!options.include_top) return finished(input, with_top(x, options), network, options);
  x = layers::Flatten({.name = "flatten"})(x);
  x = layers::Dense(4096, {.activation = "relu", .name = "fc1"})(x);
  x = layers::Dense(4096, {.activation = "relu", .name = "fc2"})(x);
  return finished(input, predictions(x, options), network, options);
}

}  // namespace capstan::applications
