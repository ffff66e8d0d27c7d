#include "src/kernels/decompositions/matrix_functions.h"

#include <algorithm>
#include <limits>
#include <cmath>
#include <complex>

#include "src/kernels/decompositions/factorisations.h"
#include "src/kernels/decompositions/lapack_memory.h"

namespace capstan {

namespace {

// c = a b for matrices by rows, which by columns is c^T = b^T a^T.
template <class T>
void multiply(const Lapack& lapack, std::int64_t n, const T* a, const T* b, T* c) {
  const int order = static_cast<int>(n);
  const T one(1);
  const T zero(0);
  const LapackTurn turn_taken;
  lapack.of<T>().gemm("N", "N", &order, &order, &order, &one, b, &order, a, &order, &zero, c, &order, 1, 1);
}

// The largest sum of magnitudes of a column.
template <class T>
double norm_1(std::int64_t n, const T* a) {
  double largest = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(std::abs(a[i * n + j]));
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

template <class T>
void matrix_exponential(const Lapack& lapack, std::int64_t n, const T* a, T* out) {
  using R = RealOf<T>;
  const std::int64_t size = n * n;
  if (n == 0) return;
  const double norm = norm_1(n, a);
  if (!std::isfinite(norm)) {
    std::fill(out, out + size, T(std::numeric_limits<R>::quiet_NaN()));
    return;
  }
  // Up to this norm the approximant is exact to the last bit of a double.
  constexpr double kLargestNorm = 5.371920351148152;
  int squarings = 0;
  if (norm > kLargestNorm) squarings = std::max(0, static_cast<int>(std::ceil(std::log2(norm / kLargestNorm))));
  const Work<T> x(size);
  const R scale = static_cast<R>(std::ldexp(1.0, -squarings));
  std::transform(a, a + size, x.get(), [&](T value) { return value * scale; });

  constexpr double kCoefficients[] = {64764752532480000.0,
                                      32382376266240000.0,
                                      7771770303897600.0,
                                      1187353796428800.0,
                                      129060195264000.0,
                                      10559470521600.0,
                                      670442572800.0,
                                      33522128640.0,
                                      1323241920.0,
                                      40840800.0,
                                      960960.0,
                                      16380.0,
                                      182.0,
                                      1.0};
  // Divided by the first, which the quotient does not see, so that a float holds them.
  R c[14];
  for (int i = 0; i < 14; ++i) c[i] = static_cast<R>(kCoefficients[i] / kCoefficients[0]);
  const Work<T> x2(size);
  const Work<T> x4(size);
  const Work<T> x6(size);
  multiply(lapack, n, x.get(), x.get(), x2.get());
  multiply(lapack, n, x2.get(), x2.get(), x4.get());
  multiply(lapack, n, x4.get(), x2.get(), x6.get());
  // odd = x (x6 (c13 x6 + c11 x4 + c9 x2) + c7 x6 + c5 x4 + c3 x2 + c1), even likewise; exp(x) is about
  // (even - odd)^-1 (even + odd).
  const auto polynomial = [&](int first, T* sum, T* product) {
    for (std::int64_t i = 0; i < size; ++i)
      sum[i] = c[first + 12] * x6[i] + c[first + 10] * x4[i] + c[first + 8] * x2[i];
    multiply(lapack, n, x6.get(), sum, product);
    for (std::int64_t i = 0; i < size; ++i)
      product[i] += c[first + 6] * x6[i] + c[first + 4] * x4[i] + c[first + 2] * x2[i];
    for (std::int64_t i = 0; i < n; ++i) product[i * n + i] += c[first];
  };
  const Work<T> sum(size);
  const Work<T> odd(size);
  const Work<T> even(size);
  polynomial(1, sum.get(), even.get());
  multiply(lapack, n, x.get(), even.get(), odd.get());
  polynomial(0, sum.get(), even.get());
  for (std::int64_t i = 0; i < size; ++i) {
    const T difference = even[i] - odd[i];
    sum[i] = even[i] + odd[i];
    even[i] = difference;
  }
  // The denominator is far from singular for norms up to the largest.
  solve(lapack, n, n, false, even.get(), sum.get(), out);
  for (int i = 0; i < squarings; ++i) {
    std::copy_n(out, size, odd.get());
    multiply(lapack, n, odd.get(), odd.get(), out);
  }
}

#define CAPSTAN_INSTANTIATE(T) template void matrix_exponential(const Lapack&, std::int64_t, const T*, T*);
CAPSTAN_INSTANTIATE(float)
CAPSTAN_INSTANTIATE(double)
CAPSTAN_INSTANTIATE(std::complex<float>)
CAPSTAN_INSTANTIATE(std::complex<double>)
#undef CAPSTAN_INSTANTIATE

}  // namespace capstan
