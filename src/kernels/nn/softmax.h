// Softmax, its logarithm and the cross entropy of it, along rows of x [rows, classes].
//
// The largest element of a row is subtracted first, so nothing overflows. The exponential of
// float32 is within 2 units in the last place; results are within a few. A row with a NaN or with
// plus infinity becomes NaN. Rows are independent of each other; results do not depend on the
// number of threads.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"

namespace capstan {

// The kernels of one instruction set.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(std::int64_t rows, std::int64_t classes, const T* x, T* y);
  void (*log_softmax)(std::int64_t rows, std::int64_t classes, const T* x, T* y);
  // dx = y * (g - sum(y * g)), the gradient of softmax with the result y.
  void (*gradient)(std::int64_t rows, std::int64_t classes, const T* y, const T* g, T* dx);

  // loss[row] = -sum(labels * log_softmax(x)) and difference = softmax(x) - labels, the gradient of
  // loss with respect to x. Labels are [rows, classes]; their sum is not looked at.
  void (*cross_entropy)(std::int64_t rows, std::int64_t classes, const T* x, const T* labels, T* loss, T* difference);

  // The same for labels that are classes, [rows], each in [0, classes).
  void (*sparse_cross_entropy32)(std::int64_t rows, std::int64_t classes, const T* x, const std::int32_t* labels,
                                 T* loss, T* difference);
  void (*sparse_cross_entropy64)(std::int64_t rows, std::int64_t classes, const T* x, const std::int64_t* labels,
                                 T* loss, T* difference);
};

// T is float or double.
template <class T>
SoftmaxKernels<T> softmax_kernels(int instruction_set);
template <>
SoftmaxKernels<float> softmax_kernels<float>(int instruction_set);
template <>
SoftmaxKernels<double> softmax_kernels<double>(int instruction_set);

template <class T>
void softmax_rows(std::int64_t rows, std::int64_t classes, const T* x, T* y) {
  softmax_kernels<T>(instruction_set()).softmax(rows, classes, x, y);
}
template <class T>
void log_softmax_rows(std::int64_t rows, std::int64_t classes, const T* x, T* y) {
  softmax_kernels<T>(instruction_set()).log_softmax(rows, classes, x, y);
}
template <class T>
void softmax_gradient_rows(std::int64_t rows, std::int64_t classes, const T* y, const T* g, T* dx) {
  softmax_kernels<T>(instruction_set()).gradient(rows, classes, y, g, dx);
}
template <class T>
void softmax_cross_entropy_rows(std::int64_t rows, std::int64_t classes, const T* x, const T* labels, T* loss,
                                T* difference) {
  softmax_kernels<T>(instruction_set()).cross_entropy(rows, classes, x, labels, loss, difference);
}
template <class T>
void sparse_softmax_cross_entropy_rows(std::int64_t rows, std::int64_t classes, const T* x, const std::int32_t* labels,
                                       T* loss, T* difference) {
  softmax_kernels<T>(instruction_set()).sparse_cross_entropy32(rows, classes, x, labels, loss, difference);
}
template <class T>
void sparse_softmax_cross_entropy_rows(std::int64_t rows, std::int64_t classes, const T* x, const std::int64_t* labels,
                                       T* loss, T* difference) {
  softmax_kernels<T>(instruction_set()).sparse_cross_entropy64(rows, classes, x, labels, loss, difference);
}

}  // namespace capstan
