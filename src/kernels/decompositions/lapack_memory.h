// What the kernels on LAPACK share: matrices by rows and by columns, work arrays, sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "src/kernels/decompositions/lapack.h"
#include "src/kernels/scratch.h"

namespace capstan {

template <class T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <class T>
bool is_finite(T x) {
  if constexpr (kIsComplex<T>) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  } else {
    return std::isfinite(x);
  }
}

template <class T>
bool all_finite(const T* x, std::int64_t n) {
  return std::all_of(x, x + n, [](T value) { return is_finite(value); });
}

// out[columns, rows] = in[rows, columns] turned; in blocks, so that both stay in the cache. A matrix by
// rows becomes the same one by columns, and the other way round.
template <class T>
void turn(std::int64_t rows, std::int64_t columns, const T* in, T* out) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t i = 0; i < rows; i += kBlock) {
    for (std::int64_t j = 0; j < columns; j += kBlock) {
      for (std::int64_t y = i; y < std::min(rows, i + kBlock); ++y) {
        for (std::int64_t x = j; x < std::min(columns, j + kBlock); ++x) out[x * rows + y] = in[y * columns + x];
      }
    }
  }
}

template <class T>
void set_identity(std::int64_t rows, std::int64_t columns, T* out) {
  std::fill(out, out + rows * columns, T(0));
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) out[i * columns + i] = T(1);
}

// A work array of a kernel, one of possibly several. OpenBLAS 0.3.21 reads an element beyond the end of some
// (cgemv_n and zgemv_n), so there is room after it.
template <class T>
class Work {
 public:
  explicit Work(std::int64_t count)
      : scratch_(ScratchSlot::kTask, static_cast<std::size_t>(std::max<std::int64_t>(1, count)) * sizeof(T) + 64) {}
  T* get() const { return scratch_.template as<T>(); }
  operator T*() const { return get(); }

 private:
  Scratch scratch_;
};

// The length that a routine asked for in a number of its own type: rounded up, because a float cannot
// hold every integer.
template <class T>
int work_length(T asked) {
  const double length = std::real(asked) * (1 + 2 * static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon()));
  return static_cast<int>(std::clamp(std::ceil(length), 1.0, static_cast<double>(std::numeric_limits<int>::max())));
}

}  // namespace capstan
