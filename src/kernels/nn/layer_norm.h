// Layer normalisation over raw memory: every row of x [rows, n] with its own mean and biased variance.
//
// Sums along a row have 64 partial sums whatever a vector's length, sums over rows one per task, joined in float64;
// both depend on the shape only. So results have the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"

namespace capstan {

// The kernels of one instruction set.
template <class T>
struct LayerNormKernels {
  // y = (x - mean) / sqrt(variance + epsilon) * scale + offset
  void (*forward)(std::int64_t rows, std::int64_t n, T epsilon, const T* x, const T* scale, const T* offset, T* y);
  // Its gradients for x, scale and offset, given the gradient of y.
  void (*gradient)(std::int64_t rows, std::int64_t n, T epsilon, const T* x, const T* scale, const T* dy, T* dx,
                   T* dscale, T* doffset);
};

// T is float or double.
template <class T>
LayerNormKernels<T> layer_norm_kernels(int instruction_set);
template <>
LayerNormKernels<float> layer_norm_kernels<float>(int instruction_set);
template <>
LayerNormKernels<double> layer_norm_kernels<double>(int instruction_set);

template <class T>
void layer_norm_forward(std::int64_t rows, std::int64_t n, T epsilon, const T* x, const T* scale, const T* offset,
                        T* y) {
  layer_norm_kernels<T>(instruction_set()).forward(rows, n, epsilon, x, scale, offset, y);
}
template <class T>
void layer_norm_gradient(std::int64_t rows, std::int64_t n, T epsilon, const T* x, const T* scale, const T* dy, T* dx,
                         T* dscale, T* doffset) {
  layer_norm_kernels<T>(instruction_set()).gradient(rows, n, epsilon, x, scale, dy, dx, dscale, doffset);
}

}  // namespace capstan
