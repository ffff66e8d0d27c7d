// The windows of convolutions and pools: how far they reach, and how an image is extended for them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/onnx/import.h"

namespace capstan::onnx {

/// One axis of the places of an image.
struct WindowAxis {
  std::int64_t length = 0;  // of the image
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  // what is added to the image
  std::int64_t beyond = 0;             // what ceil_mode adds more, which nobody counts
  std::int64_t results = 0;

  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

/// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. `image` is [batch, ..., channels]; `kernel`
/// is for nodes that do not say it. Throws ShapeError, ValueError.
std::vector<WindowAxis> windows_of(const NodeCall& call, const Shape& image, std::vector<std::int64_t> kernel = {});

}  // namespace capstan::onnx
