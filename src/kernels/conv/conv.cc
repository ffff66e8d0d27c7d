// Which algorithm a convolution takes.
#include "src/kernels/conv/conv.h"

#include "src/kernels/conv/conv2d.h"
#include "src/kernels/conv/depthwise.h"

namespace capstan {

namespace {

// An axis whose every output reads the one input of its own number; such images are a longer batch.
bool is_batch_axis(const ConvShape& s, int axis) {
  return s.kernel[axis] == 1 && s.stride[axis] == 1 && s.pad[axis] == 0 && s.in[axis] == s.out[axis];
}

// With the first axis among the batch if it is one, and without dilations that separate nothing.
ConvShape simplified(ConvShape s) {
  if (is_batch_axis(s, 0)) {
    s.batch *= s.in[0];
    s.in[0] = s.out[0] = 1;
  }
  for (int i = 0; i < 3; ++i) {
    if (s.kernel[i] == 1) s.dilation[i] = 1;
  }
  return s;
}

bool is_plane(const ConvShape& s) { return s.in[0] == 1 && s.out[0] == 1 && is_batch_axis(s, 0); }
bool is_plain(const ConvShape& s) { return is_plane(s) && s.groups == 1 && s.dilation[1] == 1 && s.dilation[2] == 1; }
bool is_depthwise(const ConvShape& s) { return is_plane(s) && s.groups == s.in_channels; }

Conv2DShape plain_shape(const ConvShape& s) {
  Conv2DShape shape;
  shape.batch = s.batch;
  shape.in_height = s.in[1];
  shape.in_width = s.in[2];
  shape.in_channels = s.in_channels;
  shape.kernel_height = s.kernel[1];
  shape.kernel_width = s.kernel[2];
  shape.out_channels = s.out_channels;
  shape.out_height = s.out[1];
  shape.out_width = s.out[2];
  shape.stride_height = s.stride[1];
  shape.stride_width = s.stride[2];
  shape.pad_top = s.pad[1];
  shape.pad_left = s.pad[2];
  return shape;
}

}  // namespace

template <class T>
void conv_forward(const ConvShape& shape, const T* input, const T* filter, T* output, const Execution& execution) {
  const ConvShape s = simplified(shape);
  if (is_plain(s)) return conv2d_forward<T>(plain_shape(s), input, filter, output, execution);
  if (is_depthwise(s)) return depthwise_forward<T>(s, input, filter, output);
  conv_general_forward<T>(s, input, filter, output);
}

template <class T>
void conv_backward_input(const ConvShape& shape, const T* output_gradient, const T* filter, T* input_gradient,
                         const Execution& execution) {
  const ConvShape s = simplified(shape);
  if (is_plain(s)) return conv2d_backward_input<T>(plain_shape(s), output_gradient, filter, input_gradient, execution);
  if (is_depthwise(s)) return depthwise_backward_input<T>(s, output_gradient, filter, input_gradient);
  conv_general_backward_input<T>(s, output_gradient, filter, input_gradient);
}

template <class T>
void conv_backward_filter(const ConvShape& shape, const T* input, const T* output_gradient, T* filter_gradient,
                          const Execution&) {
  const ConvShape s = simplified(shape);
  if (is_plain(s)) return conv2d_backward_filter<T>(plain_shape(s), input, output_gradient, filter_gradient);
  if (is_depthwise(s)) return depthwise_backward_filter<T>(s, input, output_gradient, filter_gradient);
  conv_general_backward_filter<T>(s, input, output_gradient, filter_gradient);
}

template void conv_forward<float>(const ConvShape&, const float*, const float*, float*, const Execution&);
template void conv_forward<double>(const ConvShape&, const double*, const double*, double*, const Execution&);
template void conv_backward_input<float>(const ConvShape&, const float*, const float*, float*, const Execution&);
template void conv_backward_input<double>(const ConvShape&, const double*, const double*, double*, const Execution&);
template void conv_backward_filter<float>(const ConvShape&, const float*, const float*, float*, const Execution&);
template void conv_backward_filter<double>(const ConvShape&, const double*, const double*, double*, const Execution&);

}  // namespace capstan
