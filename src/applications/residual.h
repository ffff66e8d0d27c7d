// What ResNet50 and ResNet50V2 share: stages, normalisation, and the layers before the first block.
#pragma once

#include <cstdint>
#include <string>

#include "src/applications/building.h"

namespace capstan::applications::detail {

struct Stage {
  const char* name;
  std::int64_t filters;
  int blocks;
};
inline constexpr Stage kStages[] = {{"conv2", 64, 3}, {"conv3", 128, 4}, {"conv4", 256, 6}, {"conv5", 512, 3}};

// Also that of DenseNet.
inline Tensor normalized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.epsilon = 1.001e-5, .name = name})(x);
}

inline Tensor first_convolution(const Tensor& x) {
  const Tensor wide = layers::ZeroPadding2D(3, {.name = "conv1_pad"})(x);
  return layers::Conv2D(64, 7, {.strides = 2, .name = "conv1_conv"})(wide);
}

inline Tensor first_pooling(const Tensor& x) {
  const Tensor wide = layers::ZeroPadding2D(1, {.name = "pool1_pad"})(x);
  return layers::MaxPooling2D(3, {.strides = 2, .name = "pool1_pool"})(wide);
}

}  // namespace capstan::applications::detail
