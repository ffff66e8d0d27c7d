// Batch normalisation over raw memory: statistics per channel of x [rows, channels].
//
// Rows are summed in chunks of a size that depends on the number of channels only. Within a chunk a
// sum has four partial sums, which take the rows in turn; chunks are joined in their order, in
// float64. Vectors run over channels, and products are rounded before they are added. So results
// have the same bits for any number of threads and any instruction set.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"
#include "src/kernels/row_sums.h"

namespace capstan {

// Sums over rows, one for each channel.
template <class T>
struct BatchNormSums {
  T* scale;   // the gradient by it
  T* offset;  // the same
  T* factor;  // scale / deviation
  T* slope;   // the mean of dy times normalized x, over the deviation
  T* shift;   // the mean of dy
};

// The kernels of one instruction set. Pointers to scale and offset may be null: one and zero.
template <class T>
struct BatchNormKernels {
  // Of one chunk: the mean of every channel, and the sum of the squares about it.
  void (*moments_of_chunk)(std::int64_t rows, std::int64_t channels, const T* x, T* mean, T* squares);

  // y = (x - mean) * inverse_deviation * scale + offset
  void (*apply)(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
                const T* scale, const T* offset, T* y);

  // Of one chunk: the sums of dy, and of dy times normalized x.
  void (*gradient_of_chunk)(std::int64_t rows, std::int64_t channels, const T* x, const T* mean,
                            const T* inverse_deviation, const T* dy, T* sums, T* scaled_sums);

  // dx = ((dy - shift) - (x - mean) * slope) * factor
  void (*gradient_of_x)(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* dy,
                        const BatchNormSums<T>& sums, T* dx);
};

// T is float or double.
template <class T>
BatchNormKernels<T> batch_norm_kernels(int instruction_set);
template <>
BatchNormKernels<float> batch_norm_kernels<float>(int instruction_set);
template <>
BatchNormKernels<double> batch_norm_kernels<double>(int instruction_set);

// Mean and biased variance of every channel, NaN if there are no rows. Each chunk's squares are taken about the chunk's
// own mean, so a large mean costs no digits.
template <class T>
class BatchNormMoments : public RowSums {
 public:
  BatchNormMoments(std::int64_t rows, std::int64_t channels, const T* x, T* mean, T* variance,
                   int instruction_set = capstan::instruction_set());
  void add_chunk(std::int64_t chunk) const override;
  void finish() const override;

 private:
  const BatchNormKernels<T> kernels_;
  const T* x_;
  T* mean_;
  T* variance_;
};

// The gradients of `apply` by scale and offset when mean and inverse_deviation are those of x, and what its gradient
// by x is made of.
template <class T>
class BatchNormGradientSums : public RowSums {
 public:
  BatchNormGradientSums(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
                        const T* scale, const T* dy, const BatchNormSums<T>& sums,
                        int instruction_set = capstan::instruction_set());
  void add_chunk(std::int64_t chunk) const override;
  void finish() const override;

 private:
  const BatchNormKernels<T> kernels_;
  const T* x_;
  const T* mean_;
  const T* inverse_deviation_;
  const T* scale_;
  const T* dy_;
  BatchNormSums<T> sums_;
};

// inverse_deviation = 1 / sqrt(variance + epsilon)
template <class T>
void batch_norm_inverse_deviation(std::int64_t channels, const T* variance, T epsilon, T* inverse_deviation);

template <class T>
void batch_norm_apply(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* inverse_deviation,
                      const T* scale, const T* offset, T* y) {
  batch_norm_kernels<T>(instruction_set()).apply(rows, channels, x, mean, inverse_deviation, scale, offset, y);
}

template <class T>
void batch_norm_gradient_of_x(std::int64_t rows, std::int64_t channels, const T* x, const T* mean, const T* dy,
                              const BatchNormSums<T>& sums, T* dx) {
  batch_norm_kernels<T>(instruction_set()).gradient_of_x(rows, channels, x, mean, dy, sums, dx);
}

}  // namespace capstan
