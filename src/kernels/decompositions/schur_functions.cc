#include <algorithm>
#include <limits>
#include <cmath>
#include <complex>

#include "src/kernels/decompositions/factorisations.h"
#include "src/kernels/decompositions/lapack_memory.h"
#include "src/kernels/decompositions/matrix_functions.h"

namespace capstan {

namespace {

// c = a b for matrices by rows, b turned and conjugated if `adjoint_b`.
template <class T>
void multiply(const Lapack& lapack, std::int64_t n, const T* a, const T* b, bool adjoint_b, T* c) {
  const int order = static_cast<int>(n);
  const T one(1);
  const T zero(0);
  const LapackTurn turn_taken;
  lapack.of<T>().gemm(adjoint_b ? "C" : "N", "N", &order, &order, &order, &one, b, &order, a, &order, &zero, c, &order,
                      1, 1);
}

// r r = t for an upper triangular t; false if there is none or none that is a function of t. r may be t.
template <class T>
bool root_of_triangle(std::int64_t n, const T* t, T* r) {
  for (std::int64_t j = 0; j < n; ++j) {
    r[j * n + j] = std::sqrt(t[j * n + j]);
    for (std::int64_t i = j - 1; i >= 0; --i) {
      T sum = t[i * n + j];
      for (std::int64_t k = i + 1; k < j; ++k) sum -= r[i * n + k] * r[k * n + j];
      const T both = r[i * n + i] + r[j * n + j];
      if (both == T(0) && sum != T(0)) return false;
      r[i * n + j] = both == T(0) ? T(0) : sum / both;
    }
    for (std::int64_t i = j + 1; i < n; ++i) r[i * n + j] = T(0);
  }
  return true;
}

template <class T>
double distance_from_identity(std::int64_t n, const T* t) {
  double largest = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i <= j; ++i) sum += static_cast<double>(std::abs(t[i * n + j] - (i == j ? T(1) : T(0))));
    largest = std::max(largest, sum);
  }
  return largest;
}

// The logarithm of an upper triangular t in place: that of a root near the identity, by a quadrature of the integral of
// x / (1 + s x) over s from 0 to 1, doubled as often as a root was taken. False for a singular t.
template <class T>
bool logarithm_of_triangle(const Lapack& lapack, std::int64_t n, T* t) {
  using R = RealOf<T>;
  const Work<T> eigenvalues(n);
  for (std::int64_t i = 0; i < n; ++i) {
    eigenvalues[i] = t[i * n + i];
    if (eigenvalues[i] == T(0)) return false;
  }
  // Below this distance eight points give every bit of a double.
  constexpr double kNear = 0.25;
  constexpr int kMostRoots = 100;
  int roots = 0;
  while (distance_from_identity(n, t) > kNear) {
    if (++roots > kMostRoots || !root_of_triangle(n, t, t)) return false;
  }
  for (std::int64_t i = 0; i < n; ++i) t[i * n + i] -= T(1);
  constexpr double kPoints[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
  constexpr double kWeights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
  const Work<T> sum(n * n);
  const Work<T> denominator(n * n);
  const Work<T> term(n * n);
  std::fill(sum.get(), sum.get() + n * n, T(0));
  for (int point = 0; point < 8; ++point) {
    const double sign = point < 4 ? 1 : -1;
    const R place = static_cast<R>((1 + sign * kPoints[point % 4]) / 2);
    const R weight = static_cast<R>(kWeights[point % 4] / 2);
    for (std::int64_t i = 0; i < n * n; ++i) {
      denominator[i] = place * t[i] + (i % n == i / n ? T(1) : T(0));
      term[i] = t[i];
    }
    triangular_solve(lapack, n, n, false, false, denominator.get(), term.get());
    for (std::int64_t i = 0; i < n * n; ++i) sum[i] += weight * term[i];
  }
  const R scale = static_cast<R>(std::ldexp(1.0, roots));
  for (std::int64_t i = 0; i < n * n; ++i) t[i] = scale * sum[i];
  for (std::int64_t i = 0; i < n; ++i) t[i * n + i] = std::log(eigenvalues[i]);
  return true;
}

// f of the upper triangular Schur factor in place, carried back to the matrix.
template <class T, class Function>
MatrixFunctionEnd by_schur(const Lapack& lapack, std::int64_t n, const T* a, T* out, const Function& f) {
  const Work<T> t(n * n);
  const Work<T> u(n * n);
  switch (schur(lapack, n, a, t.get(), u.get())) {
    case Spectral::kNotFinite:
      return MatrixFunctionEnd::kNotFinite;
    case Spectral::kNoConvergence:
      return MatrixFunctionEnd::kNoConvergence;
    default:
      break;
  }
  if (!f(t.get())) return MatrixFunctionEnd::kNotDefined;
  const Work<T> product(n * n);
  multiply(lapack, n, u.get(), t.get(), false, product.get());
  multiply(lapack, n, product.get(), u.get(), true, out);
  return MatrixFunctionEnd::kDone;
}

// The same for real or complex matrices.
template <class T, class Function>
MatrixFunctionEnd function_of(const Lapack& lapack, std::int64_t n, const T* a, T* out, const Function& f) {
  if (n == 0) return MatrixFunctionEnd::kDone;
  if constexpr (kIsComplex<T>) {
    return by_schur(lapack, n, a, out, f);
  } else {
    using C = std::complex<T>;
    const Work<C> wide(n * n);
    const Work<C> result(n * n);
    std::copy_n(a, n * n, wide.get());
    const MatrixFunctionEnd end = by_schur(lapack, n, wide.get(), result.get(), f);
    if (end != MatrixFunctionEnd::kDone) return end;
    T largest = 0;
    T imaginary = 0;
    for (std::int64_t i = 0; i < n * n; ++i) {
      largest = std::max(largest, std::abs(result[i]));
      imaginary = std::max(imaginary, std::abs(result[i].imag()));
      out[i] = result[i].real();
    }
    // Far above rounding, also of matrices near those with no real result.
    const T rounding = std::sqrt(std::numeric_limits<T>::epsilon());
    return imaginary > rounding * largest ? MatrixFunctionEnd::kNotReal : MatrixFunctionEnd::kDone;
  }
}

}  // namespace

template <class T>
MatrixFunctionEnd matrix_square_root(const Lapack& lapack, std::int64_t n, const T* a, T* out) {
  return function_of(lapack, n, a, out, [&]<class C>(C* t) { return root_of_triangle(n, t, t); });
}

template <class T>
MatrixFunctionEnd matrix_logarithm(const Lapack& lapack, std::int64_t n, const T* a, T* out) {
  return function_of(lapack, n, a, out, [&]<class C>(C* t) { return logarithm_of_triangle(lapack, n, t); });
}

#define CAPSTAN_INSTANTIATE(T)                                                              \
  template MatrixFunctionEnd matrix_square_root(const Lapack&, std::int64_t, const T*, T*); \
  template MatrixFunctionEnd matrix_logarithm(const Lapack&, std::int64_t, const T*, T*);
CAPSTAN_INSTANTIATE(float)
CAPSTAN_INSTANTIATE(double)
CAPSTAN_INSTANTIATE(std::complex<float>)
CAPSTAN_INSTANTIATE(std::complex<double>)
#undef CAPSTAN_INSTANTIATE

}  // namespace capstan
