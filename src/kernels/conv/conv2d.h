// Two-dimensional convolution (correlation, as neural networks say) over raw memory, without dilations and
// groups; conv.h has the general case.
//
// Images are [batch, height, width, channels], filters [kernel_height, kernel_width, in_channels,
// out_channels], dense. The caller has checked all sizes and resolved "same" and "valid" to
// offsets. Any size may be zero. Results have the same bits for any number of threads. See
// conv2d.cc for how it works.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"
#include "src/core/execution.h"
#include "src/kernels/linalg/gemm.h"

namespace capstan {

struct Conv2DShape {
  std::int64_t batch = 0;
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t in_channels = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_width = 0;
  std::int64_t out_channels = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  // Output (0, 0) reads the image from row -pad_top and column -pad_left on. What lies outside the
  // image counts as zero, so the padding at the bottom and right follows from the output's size.
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;
};

// The kernels of one instruction set.
template <class T>
struct Conv2DKernels {
  void (*forward)(const Conv2DShape& shape, const T* input, const T* filter, T* output, const Execution& execution);
  void (*backward_input)(const Conv2DShape& shape, const T* output_gradient, const T* filter, T* input_gradient,
                         const Execution& execution);
  void (*backward_filter)(const Conv2DShape& shape, const T* input, const T* output_gradient, T* filter_gradient);
};

// T is float or double.
template <class T>
Conv2DKernels<T> conv2d_kernels(int instruction_set);
template <>
Conv2DKernels<float> conv2d_kernels<float>(int instruction_set);
template <>
Conv2DKernels<double> conv2d_kernels<double>(int instruction_set);

// The filter gradient has its own file; conv2d_kernels hands it out with the others.
template <class T>
using Conv2DFilterKernel = decltype(Conv2DKernels<T>::backward_filter);
Conv2DFilterKernel<float> conv2d_filter_kernel_float(int instruction_set);
Conv2DFilterKernel<double> conv2d_filter_kernel_double(int instruction_set);

// A filter of one pixel, without strides and padding, is a matrix product of all pixels, which needs no copy of the
// image. Its sums are the same chains in the same order.
inline bool is_pointwise(const Conv2DShape& shape) {
  return shape.kernel_height == 1 && shape.kernel_width == 1 && shape.stride_height == 1 && shape.stride_width == 1 &&
         shape.pad_top == 0 && shape.pad_left == 0 && shape.in_height == shape.out_height &&
         shape.in_width == shape.out_width;
}
inline std::int64_t pixels(const Conv2DShape& shape) { return shape.batch * shape.out_height * shape.out_width; }
template <class T>
void pointwise_backward_filter(const Conv2DShape& shape, const T* input, const T* output_gradient, T* filter_gradient);

template <class T>
void conv2d_forward(const Conv2DShape& shape, const T* input, const T* filter, T* output,
                    const Execution& execution = kAlone) {
  if (is_pointwise(shape)) {
    const std::int64_t in = shape.in_channels, out = shape.out_channels;
    return gemm({.m = pixels(shape), .n = out, .k = in, .lda = in, .ldb = out, .ldc = out}, input, filter, output,
                execution);
  }
  conv2d_kernels<T>(instruction_set()).forward(shape, input, filter, output, execution);
}

// The gradient with respect to the image.
template <class T>
void conv2d_backward_input(const Conv2DShape& shape, const T* output_gradient, const T* filter, T* input_gradient,
                           const Execution& execution = kAlone) {
  if (is_pointwise(shape)) {
    const std::int64_t in = shape.in_channels, out = shape.out_channels;
    return gemm({.m = pixels(shape), .n = in, .k = out, .lda = out, .ldb = out, .ldc = in, .transpose_b = true},
                output_gradient, filter, input_gradient, execution);
  }
  conv2d_kernels<T>(instruction_set()).backward_input(shape, output_gradient, filter, input_gradient, execution);
}

// The gradient with respect to the filter.
template <class T>
void conv2d_backward_filter(const Conv2DShape& shape, const T* input, const T* output_gradient, T* filter_gradient) {
  if (is_pointwise(shape)) return pointwise_backward_filter(shape, input, output_gradient, filter_gradient);
  conv2d_kernels<T>(instruction_set()).backward_filter(shape, input, output_gradient, filter_gradient);
}

}  // namespace capstan
