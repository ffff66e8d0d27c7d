// Depthwise convolution over raw memory: every channel of the image has filters of its own.
//
// Shapes are as in conv.h with one plane (a depth of 1) and groups == in_channels, so that the filter is [height,
// width, channels, multiplier] and output channel c * multiplier + m is made of input channel c. Every result element
// is one sum in one order.
#pragma once

#include "src/core/cpu.h"
#include "src/kernels/conv/conv.h"

namespace capstan {

// The kernels of one instruction set.
template <class T>
struct DepthwiseKernels {
  void (*forward)(const ConvShape& shape, const T* input, const T* filter, T* output);
  void (*backward_input)(const ConvShape& shape, const T* output_gradient, const T* filter, T* input_gradient);
  void (*backward_filter)(const ConvShape& shape, const T* input, const T* output_gradient, T* filter_gradient);
};

// T is float or double.
template <class T>
DepthwiseKernels<T> depthwise_kernels(int instruction_set);
template <>
DepthwiseKernels<float> depthwise_kernels<float>(int instruction_set);
template <>
DepthwiseKernels<double> depthwise_kernels<double>(int instruction_set);

template <class T>
void depthwise_forward(const ConvShape& shape, const T* input, const T* filter, T* output) {
  depthwise_kernels<T>(instruction_set()).forward(shape, input, filter, output);
}
template <class T>
void depthwise_backward_input(const ConvShape& shape, const T* output_gradient, const T* filter, T* input_gradient) {
  depthwise_kernels<T>(instruction_set()).backward_input(shape, output_gradient, filter, input_gradient);
}
template <class T>
void depthwise_backward_filter(const ConvShape& shape, const T* input, const T* output_gradient, T* filter_gradient) {
  depthwise_kernels<T>(instruction_set()).backward_filter(shape, input, output_gradient, filter_gradient);
}

}  // namespace capstan
