// Pooling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layers/sizes.h"

namespace capstan {
namespace layers {

/// Options of MaxPooling2D and AveragePooling2D.
struct Pooling2DOptions {
  std::optional<Size2D> strides = {};  ///< the pool's size unless given
  std::string padding = "valid";       ///< or "same"
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// The largest element of each window of an image. Errors: as Conv2D.
class CAPSTAN_EXPORT MaxPooling2D final : public Layer {
 public:
  explicit MaxPooling2D(Size2D pool_size = 2, const Pooling2DOptions& options = {});
};

/// The mean of each window of an image; cells that padding added do not count. Errors: as Conv2D.
class CAPSTAN_EXPORT AveragePooling2D final : public Layer {
 public:
  explicit AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options = {});
};

static_assert(detail::kAddNothing<MaxPooling2D, AveragePooling2D>);

}  // namespace layers
}  // namespace capstan
