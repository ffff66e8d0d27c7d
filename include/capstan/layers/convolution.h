// Convolutions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layers/sizes.h"

namespace capstan {
namespace layers {

/// Options of Conv2D.
struct Conv2DOptions {
  Size2D strides = 1;
  std::string padding = "valid";  ///< or "same"
  std::string data_format = "channels_last";
  Size2D dilation_rate = 1;  ///< how far apart the elements of the kernel lie; with strides of 1 only
  std::int64_t groups = 1;   ///< runs of channels that are convolved apart
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// Convolution of images [batch, height, width, channels].
/// Weights: kernel [height, width, channels / groups, filters], bias [filters]. Errors: ValueError for lengths below 1,
/// an unknown padding, filters that do not divide into groups, or strides and dilations above 1 together; ShapeError
/// for an input of another rank, channels that do not divide into groups, or a kernel larger than the image.
class CAPSTAN_EXPORT Conv2D final : public Layer {
 public:
  Conv2D(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options = {});
};

static_assert(detail::kAddNothing<Conv2D>);

}  // namespace layers
}  // namespace capstan
