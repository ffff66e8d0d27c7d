// Two-dimensional maximum and average pooling over raw memory, images [batch, height, width,
// channels].
//
// A window is cut off where it leaves the image: padding is never a maximum and is not counted in
// an average. The maximum ignores NaN unless the whole window is NaN. Its gradient goes to the
// first maximum of the window, row by row; a NaN that comes first counts as such, as in TensorFlow.
// All arguments are checked by the caller; any size may be zero. Sums have one order, so results do
// not depend on the number of threads.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"
#include "src/core/execution.h"

namespace capstan {

struct Pool2DShape {
  std::int64_t batch = 0;
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t channels = 0;
  std::int64_t window_height = 1;
  std::int64_t window_width = 1;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;
};

// The kernels of one instruction set.
template <class T>
struct Pool2DKernels {
  void (*max)(const Pool2DShape& shape, const T* x, T* y, const Execution& execution);
  // dx: each output's gradient at the place of its maximum in x, zero elsewhere.
  void (*max_gradient)(const Pool2DShape& shape, const T* x, const T* dy, T* dx, const Execution& execution);
  // y: the elements of `from`, an image like x, at the places of the maxima of x. This is the
  // gradient of max_gradient with respect to dy.
  void (*max_gather)(const Pool2DShape& shape, const T* x, const T* from, T* y, const Execution& execution);
  // Where the maxima are: flat indices within one image, (row * in_width + column) * channels +
  // channel; of a window without elements -1.
  void (*max_places)(const Pool2DShape& shape, const T* x, std::int64_t* places, const Execution& execution);
  void (*average)(const Pool2DShape& shape, const T* x, T* y, const Execution& execution);
  void (*average_gradient)(const Pool2DShape& shape, const T* dy, T* dx, const Execution& execution);
};

// T is float or double.
template <class T>
Pool2DKernels<T> pool2d_kernels(int instruction_set);
template <>
Pool2DKernels<float> pool2d_kernels<float>(int instruction_set);
template <>
Pool2DKernels<double> pool2d_kernels<double>(int instruction_set);

template <class T>
void max_pool2d(const Pool2DShape& shape, const T* x, T* y, const Execution& execution = kAlone) {
  pool2d_kernels<T>(instruction_set()).max(shape, x, y, execution);
}
template <class T>
void max_pool2d_gradient(const Pool2DShape& shape, const T* x, const T* dy, T* dx,
                         const Execution& execution = kAlone) {
  pool2d_kernels<T>(instruction_set()).max_gradient(shape, x, dy, dx, execution);
}
template <class T>
void max_pool2d_gather(const Pool2DShape& shape, const T* x, const T* from, T* y, const Execution& execution = kAlone) {
  pool2d_kernels<T>(instruction_set()).max_gather(shape, x, from, y, execution);
}
template <class T>
void max_pool2d_places(const Pool2DShape& shape, const T* x, std::int64_t* places,
                       const Execution& execution = kAlone) {
  pool2d_kernels<T>(instruction_set()).max_places(shape, x, places, execution);
}
template <class T>
void average_pool2d(const Pool2DShape& shape, const T* x, T* y, const Execution& execution = kAlone) {
  pool2d_kernels<T>(instruction_set()).average(shape, x, y, execution);
}
template <class T>
void average_pool2d_gradient(const Pool2DShape& shape, const T* dy, T* dx, const Execution& execution = kAlone) {
  pool2d_kernels<T>(instruction_set()).average_gradient(shape, dy, dx, execution);
}

}  // namespace capstan
