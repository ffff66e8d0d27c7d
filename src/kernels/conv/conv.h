// Convolution (correlation, as neural networks say) of images with up to three axes, over raw memory.
//
// Images are [batch, depth, height, width, channels], filters [depth, height, width, in / groups, out],
// dense; output channels [g * out / groups, (g + 1) * out / groups) see the g-th run of input channels
// only. Lower ranks have lengths of 1. The caller has checked all sizes and resolved "same" and "valid"
// to offsets. Any size may be zero. Results have the same bits for any number of threads.
//
// Three algorithms share the work: the direct kernels of conv2d.h for plain images, those of depthwise.h
// for one channel per group, and products of gathered patches (conv_general.cc) for the rest.
#pragma once

#include <cstdint>

#include "src/core/execution.h"

namespace capstan {

struct ConvShape {
  std::int64_t batch = 0;
  std::int64_t in[3] = {1, 1, 1};
  std::int64_t in_channels = 0;
  std::int64_t kernel[3] = {1, 1, 1};
  std::int64_t out[3] = {1, 1, 1};
  std::int64_t out_channels = 0;
  std::int64_t stride[3] = {1, 1, 1};
  std::int64_t dilation[3] = {1, 1, 1};
  // Output 0 reads the image from -pad on. What lies outside the image counts as zero.
  std::int64_t pad[3] = {0, 0, 0};
  std::int64_t groups = 1;

  std::int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// T is float or double.
template <class T>
void conv_forward(const ConvShape& shape, const T* input, const T* filter, T* output,
                  const Execution& execution = kAlone);
// The gradient with respect to the image.
template <class T>
void conv_backward_input(const ConvShape& shape, const T* output_gradient, const T* filter, T* input_gradient,
                         const Execution& execution = kAlone);
// The gradient with respect to the filter.
template <class T>
void conv_backward_filter(const ConvShape& shape, const T* input, const T* output_gradient, T* filter_gradient,
                          const Execution& execution = kAlone);

// For any shape, by products of gathered patches.
template <class T>
void conv_general_forward(const ConvShape& shape, const T* input, const T* filter, T* output);
template <class T>
void conv_general_backward_input(const ConvShape& shape, const T* output_gradient, const T* filter, T* input_gradient);
template <class T>
void conv_general_backward_filter(const ConvShape& shape, const T* input, const T* output_gradient, T* filter_gradient);

}  // namespace capstan
